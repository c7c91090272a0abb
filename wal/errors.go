package wal

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

var (
	// ErrLocked means that another process holds the lock, usually because it has the
	// log open for writing. Stop that process, or give up.
	ErrLocked = errors.New("wal: another write daemon owns the directory")
	// ErrFailed is final and wraps the cause. It is unknown, until the log is
	// opened again, whether the batch that caused it is durable.
	ErrFailed = errors.New("wal: a write or sync failed; the log must be reopened")
	// ErrNoSpace is returned before any part of a batch is written. It no longer occurs
	// once there is space again, or enough file descriptors.
	ErrNoSpace = errors.New("wal: no space for the next segment")
	// ErrEnd is not a failure. Wait, and call again.
	ErrEnd = errors.New("wal: no further durable frame")
	// ErrNoLog means that the directory has no log. A reader that started before any
	// writer can wait for one.
	ErrNoLog = errors.New("wal: there is no log in the directory yet")
	// ErrReplaced means that the frames read so far may no longer be part of the
	// log. Start again from the beginning.
	ErrReplaced = errors.New("wal: the log was replaced by another")
	// ErrVersion means that a newer program made the log. Use that program.
	ErrVersion = errors.New("wal: made by a newer version of this program")
	// ErrClosed is returned by a Writer or Reader after Close.
	ErrClosed = errors.New("wal: closed")
	// ErrBeyond is returned by Seek and SeekAfter for a position beyond the durable
	// end.
	ErrBeyond = errors.New("wal: beyond the durable end")
	// ErrArchiving means that segments were archived, or checkpoints removed, while
	// they were being read. Start again.
	ErrArchiving = errors.New("wal: segments were archived, or checkpoints removed, in the meantime; try again")
	// ErrForeign is returned for a frame that is not the next one of this log, and by
	// Open for a log other than that of Options.Origin. Create the copy again.
	ErrForeign = errors.New("wal: part of another log, or of another history of this log")
	// ErrUnannounced is returned for a frame that begins a segment but has no flag
	// that says so. Begin the copy with a backup that includes the segment.
	ErrUnannounced = errors.New("wal: the segment was begun by an older version of this program")
	// ErrNameTaken means that a live reader has the name. Give each read daemon a
	// name of its own.
	ErrNameTaken = errors.New("wal: a live reader already has this name")
)

// An ArchivedError is returned for commits in segments that were moved away. The
// log in this directory begins later. This is not damage.
type ArchivedError struct {
	Seq   uint64 // the requested global_seq
	First uint64 // first global_seq that this directory still has
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("wal: commit %d is in a segment that was moved to an archive; the log begins at commit %d", e.Seq, e.First)
}

// A MismatchError means that a checkpoint does not belong to this log: it has another
// log id, or the log does not have the same frame at its place.
type MismatchError struct {
	Seq  uint64 // global_seq of the checkpoint
	What string // what differs
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the checkpoint at commit %d belongs to another log, or to another history of this log: %s", e.Seq, e.What)
}

// Mismatch returns a MismatchError for a checkpoint at p, where the log has the frame
// that ends at got. It returns nil if they are the same.
func Mismatch(got, p Place) error {
	switch {
	case got == p:
		return nil
	case got.Seq != p.Seq:
		return &MismatchError{p.Seq, "no batch of the log ends there"}
	}
	words := func(p Place) string {
		return fmt.Sprintf("chain %08x, time %s and digest %016x", p.Chain, time.Unix(0, p.Time).UTC().Format(time.RFC3339Nano), p.Digest)
	}
	return &MismatchError{p.Seq, fmt.Sprintf("the batch that ends there has %s, but the checkpoint has %s", words(got), words(p))}
}

// A CorruptError reports where the log is damaged, and the rule that found it.
type CorruptError struct {
	File   string // path of the damaged file
	Offset int64  // bytes from the start of the file
	Seq    uint64 // last good global_seq before the damage
	Rule   string // name of the violated rule
	Err    error  // details; may be nil
}

func (e *CorruptError) Error() string {
	return e.damage() + "; keep a copy of the directory, restore it from a backup, or see what `ledgerctl wal repair` would lose"
}

func (e *CorruptError) damage() string {
	cause := ""
	if e.Err != nil {
		cause = ": " + e.Err.Error()
	}
	return fmt.Sprintf("wal: %s at offset %d, after global_seq %d: damaged (%s)%s", e.File, e.Offset, e.Seq, e.Rule, cause)
}

// repairError is a *CorruptError as Repair reports it: without the advice, which
// includes running Repair.
type repairError struct{ *CorruptError }

func (e repairError) Error() string { return e.damage() }
func (e repairError) Unwrap() error { return e.CorruptError }

func (e *CorruptError) Unwrap() error { return e.Err }

// isNoSpace reports whether err is a shortage that may be temporary: a full disk,
// an exhausted quota, or too few file descriptors.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || FilesShort(err)
}

// FilesShort reports whether err only means that the process, or the machine, has
// too many open files. The failed call can be retried.
func FilesShort(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
