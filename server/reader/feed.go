package reader

import (
	"context"
	"net/http"
	"strings"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// A feed is an endless list of commits as server-sent events (the HTML standard,
// section 9.2), one for each commit:
//
//	id: 17
//	data: {"global_seq":17,…}
//
// It reads the log in pieces. While it sends a piece, it holds neither a reader nor
// a lock. A client that does not read a piece in time is disconnected, and can
// resume with Last-Event-ID.

const (
	headerLastEvent = "Last-Event-ID"
	feedPiece       = 64 << 10         // size at which a piece gets no more commits
	keptPiece       = 4 << 10          // bytes of buffer that a stream keeps while it waits
	feedPatience    = 10 * time.Second // maximum time for a client to read a piece
	feedKeepAlive   = 15 * time.Second // time without commits before a comment line is sent
)

// feed serves the commits as a stream, if the client asks for one.
func (r *reading) feed() (taken bool, err *ledger.Error) {
	if !wantsEvents(r.R.Header["Accept"]) {
		return false, nil
	}
	at, err := r.feedStart()
	if err != nil {
		return false, err
	}
	h := r.W.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache"}
	r.SetSeq(r.checkpoint)
	r.Written, r.Streamed = true, true
	if r.R.Method == http.MethodHead {
		r.W.WriteHeader(r.Status)
		return true, nil
	}
	ctx, end := context.WithCancel(r.R.Context())
	defer end()
	place := r.daemon.streams.Enter(r.Client(), end)
	defer r.daemon.streams.Leave(place)
	*r = reading{Exchange: r.Exchange, daemon: r.daemon, params: r.params, reach: r.reach} // drops the slices of other reads, which may be large
	if c := httpserver.ConnectionOf(r.R); c != nil {
		c.GiveUpAfter(2 * r.daemon.keepAlive)
	}
	r.stream(ctx, at)
	return true, nil
}

// feedStart checks a request for a feed. The feed begins after the returned commit.
func (r *reading) feedStart() (at uint64, err *ledger.Error) {
	for bit := range paramSpecs {
		switch p := param(1 << bit); {
		case !r.params.has(p):
		case p == paramLimit, p == paramCursor:
			return 0, badParam(paramSpecs[bit].name, "A stream of commits has no pages: omit limit and cursor, and begin with after or Last-Event-ID.")
		case p == paramOrder, p == paramBefore, p == paramIdempotencyKey:
			return 0, badParam(paramSpecs[bit].name, "A stream of commits runs from old to new without end: omit order, before and idempotency_key.")
		}
	}
	at = r.params.After
	if values := r.R.Header["Last-Event-Id"]; len(values) != 0 {
		v, ok := parseInteger(values[0], false)
		if !ok || len(values) > 1 {
			return 0, badParam(headerLastEvent, "The header %s must be the id of an event, not %q.", headerLastEvent, httpserver.Shorten(values[0]))
		}
		at = uint64(v)
	}
	if err := r.collect(byInteger, nothing); err != nil || at >= r.checkpoint {
		return at, err
	}
	// Read the first commit now: later there is no way to report that it was archived.
	return at, r.daemon.readBack(r.daemon.commits.each(r.R.Context(), at+1, at+1,
		func(*commitlog.PlacedReader, *wal.Frame, *ledger.Record, uint64) bool { return false }))
}

// stream sends commits until the client disconnects, is too slow or is no longer
// authorized, until the daemon stops or needs the room for another request, or until
// the log can't be read.
func (r *reading) stream(ctx context.Context, at uint64) {
	fresh := r.daemon.proj.fresh
	if !r.sendPiece() {
		return
	}
	defer r.allowPiece() // time to read the end of the response
	for ctx.Err() == nil {
		r.forget()
		// at+1 can't overflow: at is at most 2^63-1.
		reached, over := fresh.wait(ctx, at+1, r.daemon.keepAlive)
		if over != nil || ctx.Err() != nil || !r.stillLetIn() {
			return
		}
		if !reached {
			r.Out = append(r.Out, ": keep-alive\n\n"...)
		} else if !r.Claim.Grow(feedPiece) {
			return
		} else if at = r.appendEvents(at, fresh.applied.Load()); len(r.Out) == 0 {
			return // there was no room, or the log could not be read; readBack logs errors of the log
		}
		if !r.sendPiece() {
			return
		}
	}
}

// appendEvents appends the events of the commits at+1 to end, up to the size of a
// piece, and returns the last commit that it appended. It appends none if the log can't
// be read, or if there is no room.
func (r *reading) appendEvents(at, end uint64) uint64 {
	wanted := 0
	take := func(log *commitlog.PlacedReader, f *wal.Frame, rec *ledger.Record, seq uint64) bool {
		log.Text = httpserver.AppendUint(log.Text[:0], "id: ", seq)
		log.Text = AppendCommit(append(log.Text, "\ndata: "...), f, seq, rec)
		log.Text = append(log.Text, "\n\n"...)
		grown, ok := r.roomFor(r.Out, len(log.Text), 0)
		if !ok {
			wanted = len(log.Text)
			return false
		}
		r.Out, at = append(grown, log.Text...), seq
		return len(r.Out) < feedPiece
	}
	err := r.daemon.commits.each(r.R.Context(), at+1, end, take)
	if err == nil && len(r.Out) == 0 && r.awaitRoom(wanted) == nil {
		err = r.daemon.commits.each(r.R.Context(), at+1, end, take)
	}
	r.daemon.readBack(err)
	return at
}

// forget releases memory that the stream needs only while it sends, since many
// streams may wait.
func (r *reading) forget() {
	r.Claim.Force(-r.Claim.Held)
	r.Out = r.Out[:0]
	if cap(r.Out) > keptPiece {
		r.Out = nil
	}
}

// sendPiece sends r.Out, the first time with the header. It returns false if the
// client did not read it in time.
func (r *reading) sendPiece() bool {
	c := r.allowPiece()
	if r.Claim.Held > 0 {
		r.Claim.Awaits(func() { c.SetWriteDeadline(httpserver.LongAgo) })
		defer r.Claim.Ready()
	}
	if _, err := r.W.Write(r.Out); err != nil {
		return false
	}
	return c.Flush() == nil
}

// allowPiece sets the deadline for the client to read the next piece.
func (r *reading) allowPiece() *http.ResponseController {
	c := http.NewResponseController(r.W)
	c.SetReadDeadline(time.Time{}) // the client sends nothing more before it closes the connection
	c.SetWriteDeadline(time.Now().Add(r.daemon.patience()))
	return c
}

// patience returns how long a stream waits for its client to read a piece:
// feedPatience, or the time limit for reading any response if that is shorter.
func (d *daemon) patience() time.Duration {
	if limit := d.timeouts.Write; limit > 0 && limit < feedPatience {
		return limit
	}
	return feedPatience
}

// wantsEvents reports whether an Accept header asks for server-sent events.
func wantsEvents(accept []string) bool {
	for _, value := range accept {
		for kind := range strings.SplitSeq(value, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
				return true
			}
		}
	}
	return false
}

// endure extends the deadlines of the connection by d, for a client that waits on
// purpose. Otherwise the limit on reading a request would cancel the wait.
func (r *reading) endure(d time.Duration) {
	t := r.daemon.timeouts
	c := http.NewResponseController(r.W)
	if t.Read > 0 {
		c.SetReadDeadline(time.Now().Add(t.Read + d))
	}
	if t.Write > 0 {
		c.SetWriteDeadline(time.Now().Add(t.Write + d))
	}
}
