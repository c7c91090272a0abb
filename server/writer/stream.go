package writer

import (
	"net/http"
	"net/url"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A stream is one POST /v1/commit/stream. One goroutine reads lines and submits
// them in blocks. The other, the handler's, writes the results of the oldest block
// as soon as they may be sent:
//
//	client ─ read ─ block ─ lane of the intake ═ sequencer ═ group done ─ answer ─ client
//
// A bounded number of blocks is in flight. At the bound, the stream stops reading.
// So a client that does not read its results can't send any more lines either.
type stream struct {
	d           *daemon
	x           *httpserver.Exchange
	control     *http.ResponseController
	lane        lane
	stopOnError bool

	// Owned by the reading side.
	in      []byte           // bytes that were read and are not submitted yet
	more    httpserver.Claim // claim for a buffer larger than blockBytes; see makeRoom
	awaited bool             // awaitLine has called Claim.Awaits for the current line
	owed    int              // number of times that makeRoom overdrew the budget for the current line
	read    chan struct{}    // closed when reading has ended

	// Owned by the answering side.
	out      []byte
	piece    *[]byte // pooled buffer of out; nil while there are no results to send
	answered int64   // number of lines answered

	sent  chan *block   // submitted blocks, in order; has room for all
	freed chan struct{} // has a token when a block may have become free
	ended chan struct{} // closed by end

	mu       sync.Mutex
	inFlight int           // submitted blocks that are not answered yet
	over     bool          // nothing more is submitted
	last     *ledger.Error // error in the last line of the response, see answerLast; nil for none
	whole    bool          // the body ended properly
	broken   bool          // cut was called: the connection reads and writes nothing more

	overdrawn int // number of times that the stream has exceeded the budget and has not repaid it
}

const (
	streamPattern = "/v1/commit/stream"
	// streamBlocks is the maximum number of blocks of a stream in flight.
	streamBlocks = 6
	// streamClaim is the number of bytes that a stream claims from the budget
	// besides its blocks, for its buffers and those of net/http.
	streamClaim = 128 << 10
	// lingerTime is how long a stream keeps reading if it ends before its body, so
	// that a client that is still sending can read the results.
	lingerTime = time.Second
)

var streamStopping = ledger.Errorf(ledger.ShuttingDown,
	"The daemon is stopping. Later lines of this stream were not executed: send them in a new stream when it runs again.")

// stream serves a stream of commits.
func (d *daemon) stream(x *httpserver.Exchange) *ledger.Error {
	s := &stream{
		d: d, x: x, control: http.NewResponseController(x.W), lane: lane{stream: true}, more: x.Claim.Another(),
		read: make(chan struct{}), sent: make(chan *block, streamBlocks), freed: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	if err := s.check(); err != nil {
		return err
	}
	if !d.streams.enter(s) {
		return httpserver.Overloaded
	}
	defer d.streams.leave(s)
	if err := s.open(); err != nil {
		return err
	}
	x.Written, x.Streamed = true, true
	if err := d.ending(); err != nil { // endAll may have been called before this stream was entered
		s.end(err)
	}
	go func() {
		defer close(s.read)
		defer s.more.Release()
		if err := d.api.Guarded(x, func(*httpserver.Exchange) *ledger.Error { return s.receive() }); err != nil {
			s.end(err)
		}
		s.discard()
	}()
	defer s.repayAll()
	defer s.close()
	s.answer()
	return nil
}

// check validates the request.
func (s *stream) check() *ledger.Error {
	if s.x.R.Header[headerKey] != nil {
		return ledger.Errorf(ledger.InvalidRequest,
			"A stream has no idempotency key of its own: give each transaction its own idempotency_key, and omit %s.", headerKey).
			With(ledger.Text("field", headerKey))
	}
	var err *ledger.Error
	s.stopOnError, err = parseStreamQuery(s.x.R.URL.RawQuery)
	return err
}

// open claims the stream's part of the budget, and sends the header of the
// response.
func (s *stream) open() *ledger.Error {
	if !s.x.Claim.Grow(streamClaim + blockClaim) {
		return httpserver.Overloaded
	}
	s.x.Claim.Force(-blockClaim)
	if err := s.control.EnableFullDuplex(); err != nil {
		return ledger.Errorf(ledger.Internal, "This connection can't be read and written at the same time.")
	}
	if s.x.R.Header["Expect"] != nil { // net/http accepts only 100-continue
		s.x.W.WriteHeader(http.StatusContinue)
	}
	s.x.W.Header()["Content-Type"] = []string{"application/x-ndjson"}
	s.x.W.WriteHeader(http.StatusOK)
	s.flush()
	return nil
}

// parseStreamQuery parses the query, which may contain on_error.
func parseStreamQuery(raw string) (stopOnError bool, err *ledger.Error) {
	query, bad := url.ParseQuery(raw)
	if bad != nil {
		return false, ledger.Errorf(ledger.InvalidParameter, "The query can't be decoded: %v.", bad).With(ledger.Text("parameter", httpserver.Shorten(raw)))
	}
	for name := range query {
		if name != "on_error" {
			return false, ledger.Errorf(ledger.InvalidParameter, "There is no query parameter %s here; use \"on_error\".", httpserver.Shorten(name)).
				With(ledger.Text("parameter", httpserver.Shorten(name)))
		}
	}
	switch v := query["on_error"]; {
	case len(v) == 0, len(v) == 1 && v[0] == "continue":
		return false, nil
	case len(v) == 1 && v[0] == "stop":
		return true, nil
	}
	return false, ledger.Errorf(ledger.InvalidParameter, "on_error must be continue or stop, and be given once.").With(ledger.Text("parameter", "on_error"))
}

// end ends the stream. Nothing more is submitted. The parameter last is the error that
// is written as the final line when all submitted lines are answered, or nil for none.
// Only the first call has an effect.
func (s *stream) end(last *ledger.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if last == shuttingDown {
		last = streamStopping
	}
	s.over, s.last = true, last
	close(s.ended)
}

// close ensures that nothing uses the request afterwards. If the stream ended before
// its body, close gives the client a moment to notice it.
func (s *stream) close() {
	p := recover()
	if s.end(nil); p != nil {
		s.cut() // an incomplete response must not look complete
	}
	s.mu.Lock()
	if !s.broken && !s.whole {
		s.control.SetReadDeadline(time.Now().Add(lingerTime))
	}
	s.mu.Unlock()
	<-s.read
	if !s.whole {
		s.x.Linger()
	}
	if p != nil {
		panic(p)
	}
}

// cut ends the stream at once: the connection reads and writes nothing
// more.
func (s *stream) cut() {
	s.end(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.control.SetReadDeadline(httpserver.LongAgo)
	s.control.SetWriteDeadline(httpserver.LongAgo)
}

// lingers wraps the handler of a stream. The client may still be sending when the
// stream is rejected. Linger gives it a moment to read a rejection with a 5xx status.
// Exchange.Fail handles all other rejections.
func (d *daemon) lingers(handle httpserver.Handler) httpserver.Handler {
	return func(x *httpserver.Exchange) *ledger.Error {
		err := handle(x)
		if err != nil && err.Code.Status() >= http.StatusInternalServerError {
			x.Linger()
		}
		return err
	}
}
