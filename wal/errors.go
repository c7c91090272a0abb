package wal

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrLocked: stop the other daemon, or give up.
	ErrLocked = errors.New("wal: another write daemon owns the directory")
	// ErrFailed is final and wraps the cause. Whether the batch that met it is durable is unknown until the log is opened again.
	ErrFailed = errors.New("wal: a write or sync failed; the log must be reopened")
	// ErrNoSpace is returned before anything is written. It passes when there is space again.
	ErrNoSpace = errors.New("wal: no space for the next segment")
	// ErrEnd is not a failure: wait, and call again.
	ErrEnd = errors.New("wal: no further durable frame")
	// ErrNoLog is returned to readers that start before any writer: wait for one.
	ErrNoLog = errors.New("wal: there is no log in the directory yet")
	// ErrReplaced means that the frames read so far may no longer be part of the log: begin again.
	ErrReplaced = errors.New("wal: the log was replaced by another")
	// ErrVersion: use a newer program.
	ErrVersion = errors.New("wal: made by a newer version of this program")
	// ErrClosed is returned by a Writer or Reader after Close.
	ErrClosed = errors.New("wal: closed")
	// ErrBeyond is returned by Seek for a global_seq that is not durable yet.
	ErrBeyond = errors.New("wal: beyond the durable end")
	// ErrArchiving is returned when an archive run moved segments that were being read: begin again.
	ErrArchiving = errors.New("wal: segments or checkpoints were moved away meanwhile; try again")
	// ErrForeign is returned for a frame that is not the next one of this log: make the copy anew.
	ErrForeign = errors.New("wal: of another log, or of another time of it")
	// ErrUnannounced is returned for a frame that begins a segment without saying so: begin the copy with a backup that has the segment.
	ErrUnannounced = errors.New("wal: the segment was cut by an older version of this program")
	// ErrNameTaken: give each read daemon its own name.
	ErrNameTaken = errors.New("wal: a live reader already has this name")
)

// An ArchivedError is returned for commits in segments that were moved away: the
// log in this directory begins later. It is not damage.
type ArchivedError struct {
	Seq   uint64 // the requested global_seq
	First uint64 // first global_seq that this directory still has
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("wal: commit %d is in a segment that was moved to an archive; the log begins at commit %d", e.Seq, e.First)
}

// A MismatchError reports that a checkpoint does not belong to this log: the
// frame at its place is another.
type MismatchError struct {
	Seq  uint64 // of the checkpoint
	What string // what differs
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the checkpoint does not fit the log: after commit %d %s", e.Seq, e.What)
}

// A CorruptError reports where the log is damaged, and the rule that found it.
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

// isNoSpace reports whether err is a shortage that can pass: a full disk, an
// exhausted quota, or too few file descriptors.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || FilesShort(err)
}

// FilesShort reports whether err only says that the process, or the machine, has
// too many open files. The call that returned it can be retried.
func FilesShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
