package wal

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrLocked: give up, or stop the other daemon.
	ErrLocked = errors.New("wal: another write daemon owns the directory")
	// ErrFailed is final; it wraps the cause. Whether the batch that met it is durable is unknown until the log is opened again.
	ErrFailed = errors.New("wal: a write or sync failed; the log must be reopened")
	// ErrNoSpace is given before anything is written, and passes when there is room again.
	ErrNoSpace = errors.New("wal: no space for the next segment")
	// ErrEnd is no failure: wait, and ask again.
	ErrEnd = errors.New("wal: no further durable frame")
	// ErrNoLog is given to readers that are first: wait for a writer.
	ErrNoLog = errors.New("wal: there is no log in the directory yet")
	// ErrReplaced means that what was read may be no part of the log any more: begin anew.
	ErrReplaced = errors.New("wal: the log was replaced by another")
	// ErrVersion: use a newer program.
	ErrVersion = errors.New("wal: made by a newer version of this program")
	// ErrClosed is given by a Writer or Reader after Close.
	ErrClosed = errors.New("wal: closed")
	// ErrBeyond is given by Seek for a global_seq that is not durable yet.
	ErrBeyond = errors.New("wal: beyond the durable end")
	// ErrArchiving is given when an archive run moved segments that were being read: begin again.
	ErrArchiving = errors.New("wal: segments or checkpoints were moved away meanwhile; try again")
	// ErrForeign is given for a frame that is not the next one of this log: its copy must be made anew.
	ErrForeign = errors.New("wal: of another log, or of another time of it")
	// ErrUnannounced is given for a frame that begins a segment without saying so: begin the copy with a backup that has the segment.
	ErrUnannounced = errors.New("wal: the segment was cut by an older version of this program")
	// ErrNameTaken: two read daemons need two names.
	ErrNameTaken = errors.New("wal: a live reader already has this name")
)

// An ArchivedError is given for commits in segments that were moved away: the
// log here begins later. It is no damage.
type ArchivedError struct {
	Seq   uint64 // that was asked for
	First uint64 // first global_seq that the log still has
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("wal: commit %d is in a segment that was moved to an archive; the log begins at commit %d", e.Seq, e.First)
}

// A MismatchError says that a checkpoint is not of this log: the frame that
// ends where it stands is another.
type MismatchError struct {
	Seq  uint64 // of the checkpoint
	What string // what differs
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the checkpoint does not fit the log: after commit %d %s", e.Seq, e.What)
}

// A CorruptError says where the log is damaged and which rule found it.
type CorruptError struct {
	File   string // path
	Offset int64  // bytes from the start of the file
	Seq    uint64 // last good global_seq before the damage
	Rule   string // name of the rule that was broken
	Err    error  // what exactly is wrong; may be nil
}

func (e *CorruptError) Error() string {
	cause := ""
	if e.Err != nil {
		cause = ": " + e.Err.Error()
	}
	return fmt.Sprintf("wal: %s at offset %d, after global_seq %d: damaged (%s)%s; keep a copy of the directory, "+
		"restore it from a backup, or see what `ledgerctl wal repair` would lose", e.File, e.Offset, e.Seq, e.Rule, cause)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// isNoSpace tells a full disk, a used-up quota, or a lack of file descriptors
// from other errors: it passes.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || FilesShort(err)
}

// FilesShort reports whether err only says that the process, or the machine, has
// too many open files. The call that returned it may be tried again.
func FilesShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
