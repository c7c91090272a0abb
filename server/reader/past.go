package reader

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/reader/history"
	"assetledger/wal"
)

// A moment is the point in the past that a read shows. It is the zero value if the
// read shows the present.
type moment struct {
	past bool
	seq  uint64
	time int64 // Unix nanoseconds; 0 for commit 0, which has no time
}

// judgePast checks that the parameters of a read of the past agree with each other
// and with the cursor. If the cursor has an at_seq, the read takes it from there.
func (r *reading) judgePast(allowed param) *ledger.Error {
	p := &r.params
	if allowed&paramAtSeq == 0 {
		return nil
	}
	if p.CursorAt != 0 {
		if p.has(paramAtSeq) && p.AtSeq != p.CursorAt-1 {
			return badParam("cursor", "The cursor belongs to a read as of commit %d: omit at_seq, or send the same one.", p.CursorAt-1)
		}
		p.AtSeq, p.given = p.CursorAt-1, p.given&^paramAtTime|paramAtSeq
	}
	switch {
	case !p.has(paramAtSeq):
		return nil
	case p.has(paramAtTime):
		return badParam("at_time", "at_seq and at_time can't be combined: send one of them.")
	case p.has(paramMinSeq):
		return badParam("min_seq", "at_seq waits for its commit itself: send it without min_seq.")
	}
	return nil
}

// wanted returns the commit that the read must wait for: the value of min_seq or
// at_seq. A read with at_time waits for the durable end of the log if some commits up
// to that time may not have been applied yet.
func (r *reading) wanted() uint64 {
	p := &r.params
	want := p.MinSeq
	if p.has(paramAtSeq) {
		want = p.AtSeq
	}
	if p.has(paramAtTime) && p.AtTime >= r.daemon.tail.oldestUnapplied().UnixNano() {
		want = max(want, r.daemon.tail.durable())
	}
	return want
}

// readPast calls the endpoint's collect function, which is passed as from, with the
// state of the container at the requested moment.
func (r *reading) readPast(v *history.View, from func(*reading, *ledger.State) *ledger.Error) *ledger.Error {
	at, err := r.moment(v)
	if err != nil {
		return err
	}
	turn := r.daemon.pasts.turn(r)
	defer turn.end()
	var s *ledger.State
	var bad error
	if r.bare {
		s, bad = v.BareAt(at.seq)
	} else {
		s, bad = v.At(at.seq, turn.more)
	}
	if bad != nil {
		return r.daemon.noHistory(bad)
	}
	defer r.daemon.tail.index.Reclaim(s)
	r.at = at
	if err = r.maySee(s); err == nil {
		err = from(r, s)
	}
	if err != nil && err.Code.Status() == http.StatusNotFound { // what was not found may exist now
		then := *err
		then.Message = fmt.Sprintf("%s as of commit %d.", strings.TrimSuffix(err.Message, "."), at.seq)
		err = &then
	}
	return err
}

// moment returns the commit that the read asks for, and its time. Errors:
// CommitArchived, and those of noHistory and readBack.
func (r *reading) moment(v *history.View) (at moment, err *ledger.Error) {
	at = moment{past: true, seq: r.params.AtSeq}
	var bad error
	if r.params.has(paramAtTime) {
		if at.seq, bad = v.SeqAt(r.params.AtTime); bad != nil {
			return at, r.daemon.noHistory(bad)
		}
	}
	if at.seq == 0 {
		return at, nil
	}
	first, bad := r.firstCommit()
	if bad != nil {
		return at, r.daemon.readBack(bad)
	}
	if first = max(first, v.Base()); at.seq < first {
		return at, archived(at.seq, first)
	}
	at.time, bad = v.Time(at.seq)
	return at, r.daemon.noHistory(bad)
}

func archived(seq, first uint64) *ledger.Error {
	return ledger.Errorf(ledger.CommitArchived, "Commit %d was moved to an archive; the log here begins at commit %d.", seq, first).
		With(ledger.Num("global_seq", int64(seq)), ledger.Num("first_seq", int64(first)))
}

// firstCommit returns the first commit of the log that is not archived.
func (r *reading) firstCommit() (uint64, error) {
	d := r.daemon
	if d.tail.reader.Load() == nil {
		return 1, nil
	}
	log, err := d.commits.take(r.R.Context(), 1)
	if err != nil {
		return 0, err
	}
	defer d.commits.give(log)
	log.At = 0
	var archived *wal.ArchivedError
	if err = log.Seek(1); errors.As(err, &archived) {
		return archived.First, nil
	}
	return 1, err
}

// noHistory translates an error of the history index into one for the client. It
// returns nil for nil, Overloaded while the index is being built, and
// LogUnavailable if the index can't be read, which it also logs. An error for the
// client is returned unchanged.
func (d *daemon) noHistory(err error) *ledger.Error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*ledger.Error](err); ok {
		return refused
	}
	var notReady *history.NotReadyError
	if errors.As(err, &notReady) {
		return ledger.Errorf(ledger.Overloaded, "The history index of this read daemon is being built: try again. Other reads are served.")
	}
	d.log.Error("the history index can't be read", "error", err)
	return ledger.Errorf(ledger.LogUnavailable, "The history index can't be read: %v.", err)
}

// append appends the as_of object of a read of the past.
func (m *moment) append(dst []byte) []byte {
	dst = httpserver.AppendUint(dst, `,"as_of":{"global_seq":`, m.seq)
	dst = append(dst, `,"committed_at":"`...)
	return append(time.Unix(0, m.time).UTC().AppendFormat(dst, committedAt), `"}`...)
}

// parseMoment parses an RFC 3339 time as Unix nanoseconds. It returns the minimum
// or maximum int64 for times before 1678 or after 2261.
func parseMoment(value string) (int64, bool) {
	t, err := time.Parse(time.RFC3339Nano, value)
	switch {
	case err != nil, value[13] != ':', strings.Contains(value, ","): // time.Parse accepts one-digit hours and commas, but RFC 3339 does not
		return 0, false
	case t.Year() < 1678:
		return math.MinInt64, true
	case t.Year() > 2261:
		return math.MaxInt64, true
	}
	return t.UnixNano(), true
}
