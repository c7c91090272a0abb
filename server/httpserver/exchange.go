package httpserver

import (
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/auth"
)

// An Exchange is one request and its response. A handler reads the request through it
// and leaves the response in Out, which is written, with its length, after the handler
// has returned. Exchanges and their buffers are pooled, so no part of one may be kept.
type Exchange struct {
	W       http.ResponseWriter
	R       *http.Request
	Who     *auth.Principal // the authenticated client; nil on an open route, and if any client may do everything
	Body    []byte          // the body, after ReadBody
	Out     []byte          // the response body
	Status  int             // 200 unless set
	ErrCode ledger.Code
	id      string   // id of the request; see requestID
	values  []string // values of the response's headers; see SetHeader
	Written bool     // the handler wrote the response itself
	// Streamed means that the response lasted as long as the client wanted, so its
	// duration is not measured.
	Streamed bool
	unwanted bool // discardRest must read the rest of the body

	Claim   Claim // the bytes that the exchange holds of the daemon's budget
	charged int64 // the part of the claim that is for Body
}

// HeaderSeq is the response header with the global_seq of the commit that the response
// reports or reflects.
const HeaderSeq = "X-Asset-Seq"

// keepOut is the maximum size of a buffer for responses that is returned to the
// pool, in bytes. Larger ones are dropped.
const keepOut = 2 << 20

var exchanges = sync.Pool{New: func() any { return new(Exchange) }}

func newExchange(w http.ResponseWriter, r *http.Request) *Exchange {
	x := exchanges.Get().(*Exchange)
	*x = Exchange{W: w, R: r, Body: x.Body[:0], Out: x.Out[:0], Status: http.StatusOK}
	return x
}

func (x *Exchange) release() {
	x.Claim.Release() // uses the client, so it comes first
	x.W, x.R, x.Who, x.values = nil, nil, nil, nil
	Poison(x.Body)
	Poison(x.Out)
	if cap(x.Body) > TinyClaim {
		spareBody(x.Body)
		x.Body = nil
	}
	if cap(x.Out) > keepOut || cap(x.Out) > TinyClaim && x.Claim.budget.Crowded() {
		x.Out = nil
	}
	exchanges.Put(x)
}

// SetHeader sets a header of the response. name must be in canonical form. The
// values of one response share an array, to save allocations. It is not pooled,
// because net/http may refer to it until it has sent the response.
func (x *Exchange) SetHeader(name, value string) {
	if x.values == nil {
		x.values = make([]string, 0, 4)
	}
	i := len(x.values)
	x.values = append(x.values, value)
	x.W.Header()[name] = x.values[i : i+1 : i+1]
}

// SetSeq sets the header HeaderSeq.
func (x *Exchange) SetSeq(seq uint64) { x.SetHeader(HeaderSeq, strconv.FormatUint(seq, 10)) }

// Charge adds n bytes to the exchange's claim. If the budget has no room for them
// within a moment, it returns an Overloaded error.
func (x *Exchange) Charge(n int64) *ledger.Error {
	if x.Claim.Grow(n) {
		return nil
	}
	x.W.Header()["Connection"] = []string{"close"} // so that the unwanted body is not read
	return Overloaded
}

// unreadBody is the maximum number of bytes of an unread body that net/http reads by
// itself, to keep the connection open.
const unreadBody = 256 << 10

var (
	typeJSON   = []string{"application/json"}
	RetryAfter = []string{"1"}
)

// finish writes the response that the handler left in x.Out, or err.
func (x *Exchange) finish(err *ledger.Error) {
	if err != nil {
		x.Fail(err)
	}
	if x.Written {
		return
	}
	h := x.W.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = typeJSON
	}
	if x.Status != http.StatusNotModified {
		x.SetHeader("Content-Length", strconv.Itoa(len(x.Out)))
	}
	x.W.WriteHeader(x.Status)
	if x.R.Method != http.MethodHead && x.Status != http.StatusNotModified {
		x.write()
	}
	x.Written = true
}

// writePiece is the maximum number of bytes in one write of a large response.
const writePiece = 256 << 10

// write writes x.Out. If the response or the claim exceeds TinyClaim, the claim covers
// only the response from then on, until the client has read it. write ignores errors,
// which mean that the client has disconnected or was too slow.
func (x *Exchange) write() {
	out := x.Out
	if x.Claim.Held > TinyClaim || len(out) > TinyClaim {
		spareBody(x.Body)
		x.Body = nil
		x.Claim.Force(int64(cap(out)) - x.Claim.Held)
		x.Claim.Awaits(func() { http.NewResponseController(x.W).SetWriteDeadline(LongAgo) })
		defer x.Claim.Ready()
	}
	for len(out) > writePiece {
		n, err := x.W.Write(out[:writePiece])
		if err != nil {
			return
		}
		x.Claim.Progress(n)
		out = out[n:]
	}
	x.W.Write(out)
}

// LongAgo is a deadline in the past. Setting it ends a wait for a client at once.
var LongAgo = time.Unix(1, 0)

// Fail renders an error as the response. Every response that consists of a
// *ledger.Error comes from here.
func (x *Exchange) Fail(err *ledger.Error) {
	x.ErrCode = err.Code
	x.Status = err.Code.Status()
	if n := x.R.ContentLength; x.Status < http.StatusInternalServerError && len(x.Body) == 0 && (n < 0 || n > unreadBody) {
		x.refuseRest()
	}
	if x.Status == http.StatusServiceUnavailable {
		x.W.Header()["Retry-After"] = RetryAfter
	}
	if x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden {
		x.W.Header()["Www-Authenticate"] = challenge(err)
	}
	x.Out = err.AppendJSON(x.Out[:0])
}

// RequireType checks the Content-Type of a POST: the media type, and the charset
// utf-8 if one is named. It rejects any Content-Encoding.
func (x *Exchange) RequireType(media string) *ledger.Error {
	if enc := x.R.Header["Content-Encoding"]; len(enc) != 0 {
		return ledger.Errorf(ledger.UnsupportedMediaType, "The body must not be compressed: send it without Content-Encoding.").
			With(ledger.Text("content_encoding", strings.Join(enc, ", ")))
	}
	values := x.R.Header["Content-Type"]
	if len(values) == 1 && values[0] == media {
		return nil
	}
	sent := strings.Join(values, ", ")
	refusal := ledger.Errorf(ledger.UnsupportedMediaType, "The Content-Type must be %s.", media).
		With(ledger.Text("content_type", sent))
	if len(values) != 1 {
		return refusal
	}
	is, params, err := mime.ParseMediaType(sent)
	if err != nil || is != media {
		return refusal
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return refusal
	}
	return nil
}

// ReadBody reads the whole body into x.Body. It returns an error if the body has
// more than limit bytes. Memory grows with the bytes that arrive, not with
// Content-Length, and counts against the budget.
func (x *Exchange) ReadBody(limit int64) *ledger.Error {
	if x.R.ContentLength > limit {
		x.refuseRest()
		return tooLarge(limit)
	}
	src := x.R.Body // net/http reads no more than Content-Length
	if x.R.ContentLength < 0 {
		src = http.MaxBytesReader(x.W, src, limit)
	}
	if want := min(x.R.ContentLength+1, 64<<10); want > int64(cap(x.Body)) {
		x.Body = takeBody(want)
	}
	defer x.Claim.Ready()
	for reads := 0; ; reads++ {
		if reads == 1 { // most bodies arrive in one piece
			x.Claim.Awaits(func() { http.NewResponseController(x.W).SetReadDeadline(LongAgo) })
		}
		if err := x.growBody(limit); err != nil {
			return err
		}
		n, err := src.Read(x.Body[len(x.Body):cap(x.Body)])
		x.Body = x.Body[:len(x.Body)+n]
		if over := int64(len(x.Body)) - x.charged; over > 0 {
			if err := x.Charge(over); err != nil {
				return err
			}
			x.charged += over
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return x.bodyError(err, limit)
		}
		if reads > 0 {
			x.Claim.Progress(n)
		}
	}
}

// growBody makes room for more of the body. While it copies, the claim covers both
// buffers.
func (x *Exchange) growBody(limit int64) *ledger.Error {
	if len(x.Body) < cap(x.Body) {
		return nil
	}
	size := min(2*int64(cap(x.Body)), limit+1)
	if promised := x.R.ContentLength + 1; promised > int64(len(x.Body)) {
		size = min(size, promised)
	}
	size = max(size, int64(len(x.Body))+512)
	if err := x.Charge(size); err != nil { // it may wait, so the buffer is taken afterwards
		return err
	}
	small := x.Body
	x.Body = append(takeBody(size), small...)
	spareBody(small)
	x.Claim.Force(int64(cap(x.Body)) - size - x.charged)
	x.charged = int64(cap(x.Body))
	return nil
}

// mostDiscarded is the maximum number of bytes of a body that discardRest reads:
// twice the default of the largest limit on a body.
const mostDiscarded = 128 << 20

// refuseRest arranges that the response is sent at once, without waiting for the
// rest of the body, and that the connection ends after it.
func (x *Exchange) refuseRest() {
	x.W.Header()["Connection"] = []string{"close"}
	if x.R.Header["Expect"] != nil {
		return // the client has not begun to send, and reading would ask it to
	}
	// HTTP/1 always supports this. Only the recorder of a test returns an error.
	http.NewResponseController(x.W).EnableFullDuplex()
	x.unwanted = true
}

// discardRest sends the response, and then reads and discards the rest of the body.
// Many clients read the response only after they have sent everything. Closing a
// connection with unread bytes resets it, and the response may be lost. The time
// limit for reading a request applies here too. If the client sends more than
// mostDiscarded, net/http is told that the body was too long, and then lingers
// before it closes the connection.
func (x *Exchange) discardRest() {
	http.NewResponseController(x.W).Flush()
	io.Copy(io.Discard, http.MaxBytesReader(x.W, x.R.Body, mostDiscarded)) // both an error and the end close the connection
}

// Linger closes the connection after the response, but gives the client a moment to
// read it. net/http does that for a body that was too long, so Linger tells it that
// this one was.
func (x *Exchange) Linger() {
	io.Copy(io.Discard, http.MaxBytesReader(x.W, io.NopCloser(strings.NewReader("too long")), 1))
}

func tooLarge(limit int64) *ledger.Error {
	return ledger.Errorf(ledger.PayloadTooLarge, "The body is larger than %d bytes.", limit).
		With(ledger.Num("limit_bytes", limit))
}

func (x *Exchange) bodyError(err error, limit int64) *ledger.Error {
	var max *http.MaxBytesError
	if errors.As(err, &max) {
		x.refuseRest()
		return tooLarge(limit)
	}
	if x.Claim.WasEnded() {
		x.W.Header()["Connection"] = []string{"close"}
		return tooSlow
	}
	return ledger.Errorf(ledger.MalformedJSON, "The body is incomplete: %s.", WhyIncomplete(err))
}

// WhyIncomplete returns, for an error message, why the rest of a body can't be read.
// It leaves out the addresses that network errors contain.
func WhyIncomplete(err error) string {
	var network *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "the rest did not arrive in time"
	case errors.As(err, &network):
		return network.Err.Error()
	}
	return err.Error()
}
