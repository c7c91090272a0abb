// Package memfs is a filesystem in memory that can crash, for testing logs.
//
// A Disk distinguishes between what programs see (the page cache) and what has
// reached the disk. Programs use it through a Process, which is a wal.FS:
//
//	Process.WriteAt ──► cache ──Sync──► disk        bytes and size of a file
//	Process.Rename  ──► names ──SyncDir──► disk     names of a directory
//
//	Process.Kill    the process ends: its locks are released, the cache stays
//	Disk.Crash      the machine crashes: some of what is not synced reaches the disk
//
// The main invariant: a crash preserves what was synced; anything else may be lost
// or garbled.
//
// # What a crash of the machine leaves
//
// Bytes. Each 512-byte sector that was written since the last sync of its file has
// one of these contents, independently of all others: the one on disk before; the
// one after any of the writes since; or a garbled one, which is random bytes, the
// beginning of the new bytes and the end of the old ones, or the new bytes with
// some of them damaged. A sector of a mapped page may also be a mixture, by words of
// 8 bytes, of its contents at two moments. Sectors that were not written are never
// harmed.
//
// Sizes. The size of a file is any size that it had since the last sync,
// independently of its bytes. Parts that were never written read as zeroes.
//
// Names. Each creation, removal and rename since the last SyncDir of the directory
// reaches the disk or not, in any combination. A rename may also leave both names.
// Syncing a file does not affect its name. POSIX promises no more than this, although
// every journaling filesystem guarantees more.
//
// # Errors
//
// A Plan makes chosen operations fail. A failed sync does the worst that Linux
// does. Which sectors have reached the disk is decided at once, and then the cache
// counts as clean. The process sees its bytes, the next sync succeeds without
// writing them, and a crash reveals what is really on disk. A failed SyncDir leaves
// the names unsynced, and may be repeated: names are in the journal, and a
// filesystem whose journal fails writes nothing more.
//
// All choices depend only on the seed and on the preceding operations. So equal seeds
// and equal operations lead to equal crashes. A test can also try every combination of
// what reaches the disk (see Choices).
//
// Only one goroutine at a time may use a Disk and its processes.
package memfs
