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
// them in blocks. The other, the handler's, writes the results of the oldest
// block as soon as they may be told:
//
//	client ─ read ─ block ─ lane of the intake ═ sequencer ═ group done ─ answer ─ client
//
// A bounded number of blocks is in flight. When all are, nobody reads, so a
// client that doesn't take its results can't send any more either.
type stream struct {
	d           *daemon
	x           *httpserver.Exchange
	control     *http.ResponseController
	lane        lane
	stopOnError bool

	// For the side that reads.
	in   []byte           // what was read and not submitted
	more httpserver.Claim // what in holds beyond streamClaim
	read chan struct{}    // closed when nothing is read any more

	// For the side that answers.
	out      []byte
	answered int64 // lines

	sent  chan *block   // submitted, in order; has room for all
	freed chan struct{} // holds a token when a block may have become free
	ended chan struct{} // closed by end

	mu       sync.Mutex
	inFlight int           // blocks that are submitted and not answered
	over     bool          // nothing is submitted any more
	last     *ledger.Error // the last line, which answers no other; nil: none
	whole    bool          // the body ended as it should
	broken   bool          // the client doesn't take its results
}

const (
	streamPattern = "/v1/commit/stream"
	// streamBlocks is how many blocks of a stream are in flight at most.
	streamBlocks = 8
	// streamClaim is what a stream takes of the budget beside its blocks: its
	// buffers, and those of net/http.
	streamClaim = 128 << 10
	// lingerTime is how long a stream that ends before its body does goes on
	// reading, so that a client which still sends can read the results.
	lingerTime = time.Second
)

var streamStopping = ledger.Errorf(ledger.ShuttingDown,
	"The daemon is stopping. Later lines of this stream were not carried out: send them in a new stream when it runs again.")

// stream answers a stream of commits.
func (d *daemon) stream(x *httpserver.Exchange) *ledger.Error {
	s := &stream{
		d: d, x: x, control: http.NewResponseController(x.W), lane: lane{stream: true}, more: d.budget.Claim(),
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
	if err := d.ending(); err != nil { // it may have missed endAll
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
	defer s.close()
	s.answer()
	return nil
}

// check judges the request.
func (s *stream) check() *ledger.Error {
	if s.x.R.Header[headerKey] != nil {
		return ledger.Errorf(ledger.InvalidRequest,
			"A stream has no idempotency key of its own: give each transaction its idempotency_key, and leave %s out.", headerKey).
			With(ledger.Text("field", headerKey))
	}
	var err *ledger.Error
	s.stopOnError, err = parseStreamQuery(s.x.R.URL.RawQuery)
	return err
}

// open takes the stream's part of the budget, and sends the header of the answer.
func (s *stream) open() *ledger.Error {
	if !s.x.Claim.Grow(streamClaim + blockClaim) {
		return httpserver.Overloaded
	}
	s.x.Claim.Force(-blockClaim)
	if err := s.control.EnableFullDuplex(); err != nil {
		return ledger.Errorf(ledger.Internal, "This connection can't be read and written at the same time.")
	}
	if s.x.R.Header["Expect"] != nil { // net/http accepts 100-continue alone
		s.x.W.WriteHeader(http.StatusContinue)
	}
	s.x.W.Header()["Content-Type"] = []string{"application/x-ndjson"}
	s.x.W.WriteHeader(http.StatusOK)
	s.flush()
	return nil
}

// parseStreamQuery reads the query, which may hold on_error.
func parseStreamQuery(raw string) (stopOnError bool, err *ledger.Error) {
	query, bad := url.ParseQuery(raw)
	if bad != nil {
		return false, ledger.Errorf(ledger.InvalidParameter, "The query can't be decoded: %v.", bad).With(ledger.Text("parameter", httpserver.Shorten(raw)))
	}
	for name := range query {
		if name != "on_error" {
			return false, ledger.Errorf(ledger.InvalidParameter, "There is no query parameter %s here; use on_error.", httpserver.Shorten(name)).
				With(ledger.Text("parameter", httpserver.Shorten(name)))
		}
	}
	switch v := query["on_error"]; {
	case len(v) == 0, len(v) == 1 && v[0] == "continue":
		return false, nil
	case len(v) == 1 && v[0] == "stop":
		return true, nil
	}
	return false, ledger.Errorf(ledger.InvalidParameter, "on_error must be continue or stop, and be there once.").With(ledger.Text("parameter", "on_error"))
}

// end ends the stream: nothing more is submitted, and when what was submitted
// is answered, last is the last line if it is not nil. The first call counts.
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

// close makes sure that nothing uses the request any more. After an end that is
// not the body's, the client gets a moment to notice it.
func (s *stream) close() {
	p := recover()
	if s.end(nil); p != nil {
		s.cut() // an answer that is not whole must not look so
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

// cut ends the stream for a client that doesn't take its results.
func (s *stream) cut() {
	s.end(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.control.SetReadDeadline(httpserver.LongAgo)
	s.control.SetWriteDeadline(httpserver.LongAgo)
}

// lingers wraps the handler of a stream, whose refusals are answered while the
// client sends.
func (d *daemon) lingers(handle httpserver.Handler) httpserver.Handler {
	return func(x *httpserver.Exchange) *ledger.Error {
		err := handle(x)
		if err != nil && err.Code.Status() >= http.StatusInternalServerError {
			x.Linger()
		}
		return err
	}
}
