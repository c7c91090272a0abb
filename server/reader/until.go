package reader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// Until says where a read daemon stops following the log: after a commit, or before
// the first commit made later than a time. The daemon then serves the ledger as it
// was at that point. With the zero value it never stops.
type Until struct {
	bySeq, byTime bool
	seq           uint64
	time          int64 // Unix nanoseconds
}

// untilSeq is the flag.Value for a commit.
type untilSeq struct{ *Until }

func (u untilSeq) String() string {
	if u.Until == nil || !u.bySeq {
		return ""
	}
	return strconv.FormatUint(u.seq, 10)
}

func (u untilSeq) Set(s string) error {
	seq, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return errors.New("must be the number of a commit, or 0 for the empty ledger")
	}
	u.seq, u.bySeq = seq, true
	return nil
}

// untilTime is the flag.Value for a time.
type untilTime struct{ *Until }

func (u untilTime) String() string {
	if u.Until == nil || !u.byTime {
		return ""
	}
	return time.Unix(0, u.time).UTC().Format(time.RFC3339Nano)
}

func (u untilTime) Set(s string) error {
	at, ok := parseMoment(s)
	if !ok {
		return errors.New("must be an RFC 3339 time")
	}
	u.time, u.byTime = at, true
	return nil
}

func (u *Until) set() bool { return u.bySeq || u.byTime }

func (u *Until) check() error {
	if u.bySeq && u.byTime {
		return errors.New("-until and -until-time can't be combined: give only one")
	}
	return nil
}

// endless is the lastSeq of a tailer that never stops.
const endless = math.MaxUint64

// lastSeq returns the commit after which the tailer stops. It returns endless if
// the tailer never stops, or if it stops at a time that it has not reached yet.
func (t *tailer) lastSeq() uint64 {
	switch {
	case t.until.bySeq:
		return t.until.seq
	case t.reached.Load():
		return t.proj.fresh.applied.Load()
	}
	return endless
}

// stopsBefore reports whether the tailer stops before a batch, because the batch is
// later than the time to stop at.
func (t *tailer) stopsBefore(f *wal.Frame) bool {
	if !t.until.byTime || f.Time <= t.until.time {
		return false
	}
	t.reached.Store(true)
	return true
}

// restoreUntil replaces restore for a tailer with an Until. It starts from the newest
// checkpoint that is not later than the point to stop at or, if there is none, from
// the beginning of the log. It makes no checkpoints.
func (t *tailer) restoreUntil(r commitlog.Reader) (id wal.LogID, place wal.Place, err error) {
	last, at := t.until.seq, t.until.time
	if t.until.bySeq {
		at = math.MaxInt64
	} else {
		last = endless
	}
	state, place, err := commitlog.RestoreNear(t.source.Checkpoints(), r, t.keys, last, at)
	if err == nil && place.Seq > 0 && (place.Seq > last || place.Time > at) {
		err = fmt.Errorf("the log before commit %d is %s", place.Seq+1, t.backHint())
	}
	if err != nil {
		return id, place, fmt.Errorf("starting before -until or -until-time: %w", err)
	}
	t.proj.adopt(state)
	return r.LogID(), place, nil
}

// backHint says why the beginning of the log is missing, and what to do.
func (t *tailer) backHint() string {
	if t.mirror != nil {
		return "not in this copy, which began with a checkpoint of its source: use -until where the older segments are, or copy them from there"
	}
	return "archived, and there is no earlier checkpoint: move archived segments back"
}

// rest logs that the tailer stopped, and waits until ctx is done.
func (t *tailer) rest(ctx context.Context) {
	t.log.Info("stopped following the log, as set by -until or -until-time", "seq", t.proj.fresh.applied.Load())
	<-ctx.Done()
}

// unregistered is the Registration of a daemon with an Until. Such a daemon is not in
// the log's list of readers, so nothing waits for it.
type unregistered struct{}

func (unregistered) Applied(uint64) {}
func (unregistered) Close() error   { return nil }

// appendUntil appends the point where the daemon stops to the health report.
func (t *tailer) appendUntil(dst []byte) []byte {
	if last := t.lastSeq(); last != endless {
		dst = httpserver.AppendUint(dst, `,"until":`, last)
	}
	if t.until.byTime {
		dst = append(append(append(dst, `,"until_time":"`...), untilTime{&t.until}.String()...), '"')
	}
	return dst
}

// untilNote returns the note on the page that says where the daemon stops, or "" if
// it doesn't stop.
func (t *tailer) untilNote() string {
	last, applied := t.lastSeq(), t.proj.fresh.applied.Load()
	switch {
	case !t.until.set():
		return ""
	case last == endless:
		return fmt.Sprintf("This daemon stops following the ledger at %s.", untilTime{&t.until})
	case applied < last:
		return fmt.Sprintf("This daemon stops following the ledger after commit %d.", last)
	}
	return fmt.Sprintf("This is the ledger as it was after commit %d. Later commits are not shown.", last)
}
