// Package commitlog is the seam between the daemons and the log that keeps the
// commits: the interfaces that a driver implements, and the driver "file", which
// is package wal in a directory. Package memlog has a driver in memory for
// tests, and package logtest the tests that every driver passes.
//
// # The way of a log
//
// The write daemon calls Driver.OpenWriter, then Restore, Replay, Append for
// each batch, and Close. A read daemon calls Source.Register, Open, Next for
// each batch, and Close. Checkpoints beside the log are a CheckpointStore.
//
// The rule that reaches farthest: a commit is in the log exactly once, in the
// order of its global_seq, and whoever replays the log arrives at the same
// state. A Replayer compares the digest of the state after each batch with the
// one that the write daemon stored. When they differ it returns a *ReplayError,
// and the daemon must end, because it would serve wrong balances.
//
// # The contract
//
// Frames. The sequencer sets First, Count, Time, Digest and Body before Append,
// because batches are judged at their Time. The driver keeps all five, rejects a
// frame that does not follow the last one (First is LastSeq+1, Time not below
// LastTime), and sets Chain. Readers return the same five, and the same Chain.
// Chain stands for all of the log up to the frame: a checkpoint that names
// another one is of another log.
//
// Durability. When Append returns nil, the frame is durable as the driver means
// it, and a Reader that is asked afterwards sees it. No Reader returns a frame
// before that. Durable never decreases. Next never returns wal.ErrEnd while
// Durable is ahead of the last frame returned.
//
// Errors are compared with errors.Is and errors.As, for drivers wrap them.
//
//	wal.ErrLocked        OpenWriter: another writer lives; Claim: another daemon has the duty
//	wal.ErrNoLog         Open, Register: there is no log yet; ask again
//	wal.ErrNameTaken     Register: a live read daemon has the name
//	wal.ErrEnd           Next: no further durable frame; Wait, and ask again
//	wal.ErrNoSpace       Append, Room: nothing was written; the same frame may be tried again
//	ErrUnreachable       Append: unknown whether it was written; only the very same frame may be tried next
//	                     Confirm: unknown; ask again
//	ErrFenced            Append, Confirm, Room: another daemon writes; final
//	wal.ErrBeyond        Seek, SeekAfter: not durable yet
//	*wal.ArchivedError   Next, Seek, SeekAfter, Commit: the log begins later; no damage
//	*wal.MismatchError   SeekAfter: the place is not of this log
//	wal.FilesShort(err)  any: too many open files; the same call may be tried again
//
// Append also returns errors about the frame itself, before anything is
// written; they are defects of the caller. All other errors are final for the
// Writer or Reader: after one of Append it is unknown whether the frame is
// durable, and only opening the log again tells. wal.ErrReplaced says that the
// log was exchanged under a Reader; *wal.CorruptError that it is damaged;
// wal.ErrVersion that a newer program made it.
//
// One writer. A log whose writer can be replaced while its process lives says so
// by ErrFenced: nothing that it is asked for after another has opened the log is
// appended or confirmed.
//
// Goroutines. Restore, Replay, Append and Close of a Writer belong to one
// goroutine at a time; its other methods to any, also during Append. Close
// comes after all of them have returned. Durable, Moved, Wait and LogID of a
// Reader belong to any goroutine, the others to one at a time; Close ends calls
// of Wait, and may race with Durable, Moved and Wait. A CheckpointStore, and a
// Registration but for its Close, belong to any goroutine. Frames and records
// are valid until the next call of the Reader, or during the callback.
package commitlog
