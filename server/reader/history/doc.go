// Package history keeps the index of the log that answers what happened to a
// container, and what it held then, without replaying the log.
//
// The index is derived: everything in it follows from the log. A file of it is
// whole or does not exist, it is checked by CRC, tied to the log by the chain
// of the frames at its ends, and made again when it is missing or damaged.
//
// While the tailer applies batches, a memory of the open generation takes each
// change (ledger.Change). A full generation, and the one that is open when a
// checkpoint is made, becomes a file; neighbouring files of like size are
// merged, so that their number grows with the logarithm of the log:
//
//	change → open generation → closed generation → file → larger file
//
//	DIR/history/LOCK                              flock of the daemon that writes the files
//	DIR/history/next.tmp                          the next one, being written
//	DIR/history/<20 digits>-<20 digits>.hist      first and last commit that it covers
//
// All integers are little-endian; uvarint and varint are those of
// encoding/binary. A file is:
//
//	header   64 bytes
//	  0  8   magic "ALHIST\r\n"
//	  8  4   version, 2
//	 12 16   log id
//	 28  8   first commit
//	 36  4   chain of the frame before the first commit, 0 for commit 1
//	 40 20   zero
//	 60  4   CRC32C of the 60 bytes before
//	blocks   up to 4096 bytes each, or one entry that is larger
//	filter   bits of a Bloom filter over the keys
//	rows     one for each block, 32 bytes: first key 8, seq of its first entry 8,
//	         offset 8, length 4, CRC32C 4
//	footer   96 bytes
//	  0  8   offset of the filter
//	  8  8   offset of the rows; the filter ends there
//	 16  8   offset of the footer; the rows end there
//	 24  8   number of entries
//	 32 40   last commit: seq 8, chain 4, zero 4, time 8, state digest 8, zero 8
//	 72  4   CRC32C of the filter
//	 76  4   CRC32C of the rows
//	 80 12   zero
//	 92  4   CRC32C of the header and the 92 bytes before
//
// A block holds groups, by key: the key less the one before as uvarint (in the
// first group less the row's key, so 0), the length of its entries as uvarint,
// and the entries, oldest first. Each entry ends with its length as one byte,
// so that a group is read from either end. A container's changes have its id as
// key; what made, renamed or removed it is there a second time under
// id - 1 + 2^63, so that its form at a commit is found at once. The key 2^64-1
// has one entry for each batch: first commit as uvarint, time 8 bytes. An entry
// of a change is
//
//	seq uvarint | operation_index uvarint | kind, flags << 4 | op, held << 6 | stacks uvarint | instances uvarint
//
// and by its kind what ledger.Change says of it, see entry.go.
package history
