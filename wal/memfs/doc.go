// Package memfs is a filesystem in memory that can crash, for testing logs.
//
// A Disk keeps apart what programs see (the page cache) and what has reached
// the disk. Programs use it through a Process, which is a wal.FS:
//
//	Process.WriteAt ──► cache ──Sync──► disk        bytes and size of a file
//	Process.Rename  ──► names ──SyncDir──► disk     names of a directory
//
//	Process.Kill    the process ends: its locks go, the cache stays
//	Disk.Crash      the machine ends: of what is not synced, something lands
//
// # What a crash of the machine leaves
//
// Bytes. Each 512-byte sector that was written since the last sync of its file
// is, independently of all others: as the disk had it; as it was after any of
// the writes since; or garbled, which is random bytes, or a new beginning with
// an old rest, or the new bytes with some of them damaged. A sector of a
// mapped page may also be a mixture, by words of 8 bytes, of what it was at two
// moments. Sectors that were not written are never harmed.
//
// Sizes. The size of a file, independently of its bytes, is any that it had
// since the last sync. What was never written reads as zeroes.
//
// Names. Each creation, removal and rename since the last SyncDir of the
// directory lands or not, in any combination. A rename may also leave both
// names. That a file was synced says nothing about its name. This is less than
// any filesystem with a journal gives, and all that POSIX promises.
//
// # Errors
//
// A Plan makes single operations fail. A sync that fails is the worst that
// Linux does: of each sector it is decided at once whether it landed, and
// then the cache counts as clean. The process sees the bytes, the next sync succeeds
// and writes nothing of them, and a crash shows what is really on disk.
// A SyncDir that fails leaves the names unsynced, and may be repeated: names
// are in the journal, and a filesystem whose journal fails writes nothing more.
//
// All choices come from one source, so equal seeds give equal crashes, and a
// test can go through every possible crash (see Choices).
//
// The whole of a Disk belongs to one goroutine at a time.
package memfs
