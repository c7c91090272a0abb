package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpclient"
)

const (
	// streamLine is the longest line that is sent in a stream: the daemon's
	// default of -max-body. Longer ones go as a batch request.
	streamLine = 1 << 20
	// keepOpen is how often an idle stream gets an empty line.
	keepOpen = 10 * time.Second
	// resultBytes is how much of the results is read at a time.
	resultBytes = 32 << 10
)

// A lineStream is an open stream of commits.
type lineStream struct {
	url     string
	end     func()
	toSend  chan []byte
	results chan []byte   // whole lines; closed when the answer ends
	whole   bool          // it ended with its final chunk; read it when results is closed
	told    int           // results so far
	last    *apiErrorBody // with which the daemon ended it; nil: it did not
	failed  bool          // it ended, or nothing more is wanted of it

	mu   sync.Mutex // of writing
	body *io.PipeWriter
}

// errNoStream means that the daemon is older than streams.
var errNoStream = errors.New("the daemon has no streams of commits")

// openStream opens a stream to the write daemon. An answer that is not nil is a
// refusal.
func (c *call) openStream(ctx context.Context, onError string) (s *lineStream, refused *answer, err error) {
	refused, err = c.api.eachAddress(ctx, c.writeURL, func(address string) (*answer, error) {
		s, refused, err = c.openStreamAt(ctx, address, onError)
		return refused, err
	})
	return s, refused, err
}

func (c *call) openStreamAt(ctx context.Context, address, onError string) (*lineStream, *answer, error) {
	query := ""
	if onError != "" {
		query = "?" + url.Values{"on_error": {onError}}.Encode()
	}
	in, out := io.Pipe()
	life, end := context.WithCancel(c.ctx) // longer than that of one request
	stop := context.AfterFunc(ctx, end)
	// A transport whose connection broke waits until the body has ended too.
	context.AfterFunc(life, func() { in.CloseWithError(io.ErrClosedPipe) })
	req, err := http.NewRequestWithContext(life, http.MethodPost, httpclient.OverHTTP(address)+"/v1/commit/stream"+query, in)
	if err != nil {
		end()
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := c.api.send(address, req)
	if !stop() && err == nil {
		err = &noAnswer{url: address, err: ctx.Err()}
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer end() // and with it the connection, on which the body has not ended
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
			return nil, nil, errNoStream
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return nil, nil, &noAnswer{url: address, err: err}
		}
		return nil, &answer{status: resp.StatusCode, header: resp.Header, body: body, url: address + "/v1/commit/stream"}, nil
	}
	s := &lineStream{url: address, end: end, toSend: make(chan []byte, maxAhead+2), results: make(chan []byte, 16), body: out}
	go s.read(life, resp.Body)
	go s.write(life)
	go s.stayOpen(life)
	return s, nil, nil
}

// read reads results until the answer ends.
func (s *lineStream) read(ctx context.Context, from io.ReadCloser) {
	defer close(s.results)
	defer from.Close()
	var part []byte // of a line
	for {
		chunk := make([]byte, len(part)+resultBytes)
		n, err := from.Read(chunk[copy(chunk, part):])
		chunk = chunk[:len(part)+n]
		end := bytes.LastIndexByte(chunk, '\n') + 1
		if part = chunk[end:]; len(part) > maxAnswer {
			err = io.ErrUnexpectedEOF
		}
		if end > 0 {
			select {
			case s.results <- chunk[:end]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			s.whole = err == io.EOF && len(part) == 0
			s.body.CloseWithError(io.ErrClosedPipe) // nobody reads what is still to be sent
			return
		}
	}
}

// stayOpen sends an empty line now and then.
func (s *lineStream) stayOpen(ctx context.Context) {
	tick := time.NewTicker(keepOpen)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.put([]byte{'\n'}) != nil {
				return
			}
		}
	}
}

func (s *lineStream) put(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.body.Write(text)
	return err
}

// send has lines sent and doesn't wait. No more than maxAhead and one more may be
// without their results.
func (s *lineStream) send(lines []byte) { s.toSend <- lines }

// write writes what is to be sent.
func (s *lineStream) write(ctx context.Context) {
	for {
		select {
		case text := <-s.toSend:
			if s.put(text) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive waits for results; open is false when the answer has ended.
func (s *lineStream) receive(ctx context.Context) (lines []byte, open bool, err error) {
	select {
	case lines, open = <-s.results:
		return lines, open, nil
	case <-ctx.Done():
		return nil, false, &noAnswer{url: s.url, err: ctx.Err()}
	}
}

// close ends the stream, if there is one, and lets the daemon see its end.
func (s *lineStream) close() {
	if s == nil {
		return
	}
	defer s.end()
	if s.failed {
		return
	}
	s.body.Close()
	late := time.After(time.Second)
	for {
		select {
		case _, open := <-s.results:
			if !open {
				return
			}
		case <-late:
			return
		}
	}
}

// idle reports whether a stream that has answered all its lines can take more:
// not after it ended.
func (s *lineStream) idle() bool {
	if s == nil || s.failed {
		return false
	}
	select {
	case <-s.results: // a last line, or the end
		s.failed = true
		return false
	default:
		return true
	}
}

// isOwn notes the line with which the daemon ends a stream by itself, and which
// is no result of another: it counts those that are.
func (s *lineStream) isOwn(line []byte) bool {
	if !bytes.HasPrefix(line, []byte(`{"error":`)) || !bytes.Contains(line, []byte(`"lines_answered":`)) {
		return false
	}
	var last struct{ Error *apiErrorBody }
	var details struct {
		Answered *int `json:"lines_answered"`
	}
	if json.Unmarshal(line, &last) != nil || last.Error == nil || json.Unmarshal(last.Error.Details, &details) != nil ||
		details.Answered == nil || *details.Answered != s.told {
		return false
	}
	s.last = last.Error
	return true
}

// why is why the stream ended, once results is closed.
func (s *lineStream) why() failure {
	switch {
	case !s.whole:
		return failure{err: &noAnswer{url: s.url, err: io.ErrUnexpectedEOF}}
	case s.last != nil:
		return failure{answer: &answer{status: ledger.Code(s.last.Code).Status(), body: s.last.json(), url: s.url}}
	case s.told == 0:
		return failure{err: &noAnswer{url: s.url, err: io.EOF}}
	}
	return failure{}
}
