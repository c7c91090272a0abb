package logstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// stream handles a request for the log.
func (s *Server) stream(x *httpserver.Exchange) *ledger.Error {
	if err := everything(x); err != nil {
		return err
	}
	from, refused := parseFrom(x.R.URL.RawQuery)
	if refused != nil {
		return refused
	}
	mirror, refused := parseMirror(x.R.Header[HeaderMirror])
	if refused != nil {
		return refused
	}
	r, err := wal.OpenReader(s.file.Dir, s.file.Opt)
	if err != nil {
		return s.refusal(from, err)
	}
	defer r.Close()
	end := r.Durable()
	x.SetSeq(end)
	if err = r.Seek(from); errors.Is(err, wal.ErrBeyond) {
		return ledger.Errorf(ledger.NotFresh, "Commit %d is beyond the end of the log here, which is %d.", from, end).
			With(ledger.Num("global_seq", int64(from)), ledger.Num("commit_log_seq", int64(end)))
	}
	var head wal.StreamHead
	if err == nil {
		head, err = r.Head()
	}
	if err != nil {
		return s.refusal(from, err)
	}
	if mirror.Name != "" {
		mirror.Seq = from - 1
		s.mirrors.note(mirror)
	}
	h := x.W.Header()
	h["Content-Type"] = []string{"application/octet-stream"}
	h["Cache-Control"] = []string{"no-store"}
	x.Written, x.Streamed = true, true
	if x.R.Method == http.MethodHead {
		x.W.WriteHeader(http.StatusOK)
		return nil
	}
	ctx, cancel := context.WithCancel(x.R.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	defer s.streams.Leave(s.streams.Enter(x.Client(), cancel))
	if c := httpserver.ConnectionOf(x.R); c != nil {
		c.GiveUpAfter(s.patience)
	}
	t := &sender{s: s, x: x, r: r, control: http.NewResponseController(x.W), id: r.LogID(), next: from}
	t.run(ctx, head)
	return nil
}

// A sender sends one stream.
type sender struct {
	s       *Server
	x       *httpserver.Exchange
	r       *wal.Reader
	control *http.ResponseController
	id      wal.LogID
	next    uint64 // the commit after the last frame sent
	unsent  int    // bytes written since the last flush
	beaten  time.Time
}

// run sends frames until ctx is done, the client stops reading or loses its access, or
// the log can't be read.
func (t *sender) run(ctx context.Context, head wal.StreamHead) {
	t.control.SetReadDeadline(time.Time{}) // the client sends nothing more before it closes the connection
	t.allow()
	if !t.write(head.Append(nil)) || !t.beat() {
		return
	}
	for ctx.Err() == nil {
		if time.Since(t.beaten) >= t.s.beatEvery && (!t.mayGoOn() || !t.beat()) {
			return
		}
		f, err := t.r.Next()
		switch {
		case err == nil:
			if !t.frame(f) {
				return
			}
		case errors.Is(err, wal.ErrEnd):
			t.rest()
			if t.s.wait(t.next-1, time.Until(t.beaten.Add(t.s.beatEvery))) != nil {
				return
			}
		case wal.FilesShort(err):
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		default:
			t.s.reopen()
			t.s.refusal(t.next, err) // for its log line
			return
		}
	}
}

// mayGoOn reports whether the stream may continue. It authenticates the client again,
// because the token may have been revoked.
func (t *sender) mayGoOn() bool { return t.s.readmit(t.x) == nil && everything(t.x) == nil }

// frame sends a frame. It flushes after a piece, and when no other frame is ready.
func (t *sender) frame(f *wal.Frame) bool {
	wire := f.Wire()
	if !t.x.Claim.Grow(int64(len(wire)) - t.x.Claim.Held) {
		return false
	}
	t.next = f.Last() + 1
	return t.write(wire) && (t.unsent < piece && t.r.Durable() >= t.next || t.flush())
}

// beat sends a heartbeat with the durable end.
func (t *sender) beat() bool {
	t.beaten = time.Now()
	return t.write(wal.AppendBeat(nil, t.id, t.r.Durable(), t.beaten.UnixNano())) && t.flush()
}

// rest frees what a stream needs only while it sends: its part of the budget
// and the buffer of a large frame.
func (t *sender) rest() {
	if t.x.Claim.Held > 0 {
		t.x.Claim.Force(-t.x.Claim.Held)
		t.r.Forget()
	}
}

// write writes b before the deadline set by allow.
func (t *sender) write(b []byte) bool {
	if len(b) > piece {
		t.allow()
	}
	t.x.Claim.Awaits(func() { t.control.SetWriteDeadline(httpserver.LongAgo) })
	defer t.x.Claim.Ready()
	n, err := t.x.W.Write(b)
	t.x.Claim.Progress(n)
	t.unsent += n
	return err == nil
}

// flush sends what was written, and sets the deadline for the next piece.
func (t *sender) flush() bool {
	t.unsent = 0
	err := t.control.Flush()
	t.allow()
	return err == nil
}

// allow sets the deadline for the client to read the next piece.
func (t *sender) allow() { t.control.SetWriteDeadline(time.Now().Add(t.s.patience)) }
