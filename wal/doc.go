// Package wal stores batches of opaque records on disk and reads them back.
//
// One process writes (Writer), and any number of processes read (Reader). A batch is
// a Frame. One sync makes it durable. After a crash, the log contains all of it or
// none of it.
//
// The main invariant: nothing is acknowledged or shown before it is durable.
//
// # Directory
//
//	DIR/LOCK                   flock held by the writer; its text names the boot and the process
//	DIR/END                    the durable end, one page mapped by all; flocked by the writer, too
//	DIR/wal/<20 digits>.seg    a segment, named by its first global_seq
//	DIR/wal/next.tmp           the next segment, being filled with zeroes
//	DIR/wal/torn-<seq>-<n>.bad bytes of a torn tail, kept when it was zeroed
//	DIR/ckpt/<seq>.ckpt        checkpoints; opaque to wal
//	DIR/readers/<name>         last commit that a read daemon has applied; removed after the daemon has ended
//	DIR/COPY                   the log is a copy of another; see copy.go
//	DIR/begin/                 a copy that is being created
//
// Everything is little-endian. Files are 0600, directories 0700.
//
// # Segment header
//
// Written and synced before the file gets its name, never rewritten.
//
//	   0  8  magic "ASTLSEG\n"
//	   8  2  version, 1 (checked after magic and CRC)
//	  10  2  zero
//	  12  4  alignment of frames, 512
//	  16 16  log id, random, the same in all segments and in END
//	  32  8  size of the file in bytes
//	  40  8  global_seq of its first record
//	  48  4  prev: header CRC of the seal of the previous segment; 0 in the first
//	  52  4  ordinal of the segment: 0, 1, 2 …
//	  56  8  creation time, ns: in the first segment the clock time, in others the
//	         time of the previous frame (in older versions: the clock time)
//	  64     zeroes, checked
//	4092  4  CRC32C of bytes 0..4091
//
// # Frame
//
// A frame starts at a multiple of 512. The initial value of its CRCs is the
// segment's salt: the CRC32C of the log id and the first global_seq. So bytes of
// another file never validate. The field prev links all frames of the log in a chain.
//
//	 0  4  CRC32C of bytes 4..63
//	 4  1  kind: 1 data, 2 seal; 0 is no frame
//	 5  1  flags: 1 a new segment begins here; unknown ones are rejected
//	 6  2  length of this header, 64
//	 8  8  global_seq of the first record (of a seal: the next one)
//	16  4  number of records (of a seal: 0)
//	20  4  length of the body
//	24  4  CRC32C of the body
//	28  4  prev: header CRC of the previous frame
//	32  8  commit time, ns, never less than in the previous frame
//	40  8  state digest after the batch
//	48  8  with flag 1: size of the segment that begins here; else zero
//	56  8  zeroes, checked
//	64     body: for each record its length in 4 bytes, and the record
//	       zeroes up to the next multiple of 512, checked
//
// A seal ends a segment. It repeats the time and digest of the previous frame. Flag 1
// is set in the first frame of each segment except the first segment of the log. So
// the frames of a log and its Origin determine every byte of its segments; see
// wire.go. In segments that older versions began, no frame has flag 1.
//
// # END
//
//	  0  8  magic "ASTLEND\n"
//	  8  4  version, 1
//	 12  4  zero
//	 16 16  log id
//	 32 16  id of the boot in which the writer last opened the log
//	 48  8  writer epoch: number of times that the log was opened for writing
//	 56  4  CRC32C of bytes 0..55
//	 64  8  the durable end: global_seq of the last durable record
//	 72  8  time of its last change, ns; 0 if unknown; only a measurement for
//	        readers: nothing relies on it
//	 80 16  complement of the durable end, stored alternately in one of two words
//	128  4  wake counter, changed with each change of the durable end
//
// While a log is open for writing, its END is never renamed, truncated or resized. The
// durable end on disk may be too low, because END is synced only on open and close,
// once a second, and when a segment is sealed. It is never too high. A power failure may
// garble END. It then counts as missing, and the frames alone decide where the log ends.
//
// # Life of a batch
//
// Append writes the frame, syncs it, stores its last global_seq into END with one
// atomic store, and wakes readers. It never writes a frame before the previous one
// is synced. So at most one frame can be torn, and each frame proves that all
// earlier ones are durable. When a frame does not fit into the segment, Append seals
// the segment, and the zero-filled spare takes its place (see rotate.go). Nothing is
// ever truncated, because mapped files must not shrink.
//
// A copy gets its frames from another log, where they are durable. PutCopy writes
// frames while the sync of earlier ones runs, so a crash can interrupt a group of
// frames. Together they are at most as large as the largest frame.
//
// What Open does after a crash is decided by tables of rules; see recover_rules.go.
package wal
