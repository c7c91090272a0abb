// Package history maintains an index of the log. With it, the read daemon can
// report what happened to a container, and what the container held at some time,
// without replaying the log.
//
// The main invariant: everything in the index can be rebuilt from the log. Each of
// its files is complete or does not exist. CRCs protect a file, and the chains of
// the frames at both ends of its range tie it to the log. A missing or damaged file
// is built again, as far as the log and its checkpoints reach back.
//
// While the tailer applies batches, the state notes their changes (ledger.Changes)
// in blocks of the open generation. A generation becomes a file when it is full,
// or when a checkpoint is due while it is open. The file is written in the
// background: its changes are sorted by container and turned into entries.
// Neighboring files of similar size are merged into files of up to 1 GiB. Below that
// size, the number of files grows only with the logarithm of the log's length.
// Readers turn the changes that are in no file yet into entries themselves:
//
//	change → open generation → closed generation → file → larger file
//
//	DIR/history/LOCK                              flock of the daemon that writes the files
//	DIR/history/next.tmp                          the next file, being written
//	DIR/history/<20 digits>-<20 digits>.hist      first and last commit that it covers
//
// All integers are little-endian; uvarint and varint are those of encoding/binary.
// A file is:
//
//	header   64 bytes
//	  0  8   magic "ALHIST\r\n"
//	  8  4   version, 4
//	 12 16   log id
//	 28  8   first commit
//	 36  4   chain of the frame before the first commit; 0 for commit 1, and in a file that begins with a checkpoint
//	 40 20   zero
//	 60  4   CRC32C of the 60 bytes before
//	blocks   up to 4096 bytes each
//	filter   bits of a Bloom filter over the keys
//	rows     one for each block, 32 bytes: first key 8, seq of its first entry 8,
//	         offset 8, length 4, CRC32C 4
//	footer   96 bytes
//	  0  8   offset of the filter
//	  8  8   offset of the rows; the filter ends there
//	 16  8   offset of the footer; the rows end there
//	 24  8   number of changes, each counted once
//	 32 40   last commit: seq 8, chain 4, zero 4, time 8, state digest 8, zero 8
//	 72  4   CRC32C of the filter
//	 76  4   CRC32C of the rows
//	 80 12   zero
//	 92  4   CRC32C of the header and the 92 bytes before
//
// A block contains groups, ordered by key. A group consists of the difference between
// its key and that of the previous group as uvarint (0 in the first group, whose key is
// in the row), the length of its entries as uvarint, and the entries, oldest first.
// Each entry ends with its length in one byte, so that a group can be read from either
// end. The key of a container's changes is its id. The changes that created, renamed or
// removed it are stored a second time under id - 1 + 2^63, so that its form at a
// commit is found at once. The key 2^64-1 has one entry for each batch: first commit
// as uvarint, time as 8 bytes. The entry of a change is
//
//	seq uvarint | operation_index uvarint | kind, flags << 4 | op, held << 6, fresh << 7 | stacks uvarint | instances uvarint
//
// followed by the fields of ledger.Change that its kind uses; see entry.go. If a
// container has many entries in a file, some of them are copies of earlier ones;
// see carry.go.
package history
