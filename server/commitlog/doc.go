// Package commitlog separates the daemons from the log that stores the commits. It
// defines the interfaces that a driver implements, and the driver "file", which
// stores the log in a directory with package wal. Package etcdlog has the driver
// "etcd", and package memlog an in-memory driver for tests. Package logtest has the
// tests that every driver passes.
//
// # The life of a log
//
// The write daemon calls Driver.OpenWriter, then Restore, Replay, Append for each
// batch, and Close. A read daemon calls Source.Register, Open, Next for each batch,
// and Close. The checkpoints of a log are in a CheckpointStore.
//
// The main invariant: every replay of the log leads to the same state, or the
// daemon ends. Each commit is in the log exactly once, and the commits are in the
// order of their global_seq. A Replayer compares the digest of the state after each
// batch with the one that the write daemon stored. If they differ, it returns a
// *ReplayError. The daemon must then end, because it would serve wrong balances.
//
// # The contract
//
// Frames. The sequencer sets First, Count, Time, Digest and Body before Append.
// Time is set before a batch is judged, because the expires_in of a hold counts
// from it. The driver stores all five and sets Chain. It rejects a frame that does
// not follow the last one: First must be LastSeq+1, and Time at least LastTime.
// Readers return the same values, and the same Chain. Chain identifies the whole log
// up to the frame. A checkpoint with another Chain belongs to another log.
//
// Durability. When Append returns nil, the frame is durable as the driver defines
// it. A Reader sees it then or a moment later. No Reader returns a frame before it is
// durable. Durable never decreases. Next never returns wal.ErrEnd while Durable is
// ahead of the last frame returned.
//
// Errors must be compared with errors.Is and errors.As, because drivers wrap them.
//
//	wal.ErrLocked        OpenWriter: another writer is open; Claim: another daemon has the duty
//	wal.ErrNoLog         Open, Register: there is no log yet; try again
//	wal.ErrNameTaken     Register: a live read daemon has the name
//	wal.ErrEnd           Next: no further durable frame; call Wait, and try again
//	wal.ErrNoSpace       Append: readers don't see the frame yet; the same frame may be tried again
//	                     Room: a batch may not fit; try again
//	ErrUnreachable       Append: unknown whether it was written; only the very same frame may be tried next
//	                     Confirm: unknown; try again
//	ErrFenced            Append, Confirm, Room: another daemon writes; final
//	wal.ErrBeyond        Seek, SeekAfter: not durable yet
//	*wal.ArchivedError   Next, Seek, SeekAfter, Commit: the log begins later; no damage
//	*wal.MismatchError   SeekAfter: the place is not of this log
//	wal.FilesShort(err)  any: too many open files; the same call may be tried again
//
// Append also returns errors about the frame itself, before anything is written;
// they indicate a defect in the caller. All other errors are final for the Writer or
// Reader. After such an error from Append, it is unknown whether the frame is durable
// until the log is opened again. wal.ErrReplaced means that the log was replaced
// while a Reader had it open, *wal.CorruptError that it is damaged, and
// wal.ErrVersion that a newer program wrote it.
//
// One writer. In some logs, a writer can be replaced while its process is still
// running. After another writer has opened such a log, the first can append and
// confirm nothing more, and its calls return ErrFenced.
//
// Goroutines. Only one goroutine at a time may call Restore, Replay, Append and
// Close of a Writer. Any goroutine may call its other methods, even during Append.
// Close must be called after all of them have returned. Any goroutine may call
// Durable, Moved, Wait and LogID of a Reader. Only one goroutine at a time may call
// its other methods. Close ends pending calls of Wait, and may be called concurrently
// with Durable, Moved and Wait. Any goroutine may use a CheckpointStore, or call
// Registration.Applied. A frame or record is valid until the next call to the Reader or,
// in a callback, until the callback returns.
package commitlog
