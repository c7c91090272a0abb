package client

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
)

const (
	keepOpen    = 10 * time.Second // interval of empty lines in an open stream
	keepOpening = keepOpen / 40    // interval of empty lines before there is a response
	resultBytes = 32 << 10         // maximum number of bytes of results to read at once
)

// errNoStream means that the daemon's version does not support streams.
var errNoStream = errors.New("the daemon does not support streams of commits")

// A stream is an open stream of commits; see POST /v1/commit/stream in docs/api.md.
type stream struct {
	url  string // address of the daemon
	end  context.CancelFunc
	body *io.PipeWriter
	// results receives slices of whole lines. It is closed when the response has ended.
	results chan []byte
	whole   bool    // the response ended with its final chunk; valid once results is closed
	told    int     // number of results so far
	last    *Answer // the line with which the daemon ended the stream, as a response; nil: there is none
	aborted bool

	mu    sync.Mutex
	queue [][]byte
	wake  chan struct{} // something was queued
}

// openStream opens a stream to a daemon of base. ctx limits the opening, and the context life limits the whole stream. If a
// daemon rejects the stream, refused is its response. onError is the parameter on_error of the API; "" means continue.
func (c *Client) openStream(ctx, life context.Context, base, onError string) (s *stream, refused *Answer, err error) {
	refused, err = c.eachAddress(ctx, base, func(address string) (*Answer, error) {
		s, refused, err = c.openStreamAt(ctx, life, address, onError)
		return refused, err
	})
	return s, refused, err
}

func (c *Client) openStreamAt(ctx, life context.Context, address, onError string) (*stream, *Answer, error) {
	const path = "/v1/commit/stream"
	query := ""
	if onError != "" {
		query = "?" + url.Values{"on_error": {onError}}.Encode()
	}
	in, out := io.Pipe()
	life, end := context.WithCancel(life)
	stop := context.AfterFunc(ctx, end)
	// After its connection breaks, a transport still waits for the end of the request body.
	context.AfterFunc(life, func() { in.CloseWithError(io.ErrClosedPipe) })
	req, err := http.NewRequestWithContext(life, http.MethodPost, OverHTTP(address)+path+query, in)
	if err != nil {
		end()
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	s := &stream{url: address, end: end, body: out, results: make(chan []byte, 16), wake: make(chan struct{}, 1)}
	open := make(chan struct{})
	go s.write(life, open)
	resp, err := c.send(address, req)
	close(open)
	if !stop() {
		if err == nil {
			resp.Body.Close()
		}
		err = &NoAnswer{address, ctx.Err()}
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer end() // also closes the connection: the request body has not ended
		a, err := c.readAnswer(resp, address, path)
		if err == nil && (a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed) && Code(a.Err()) != "" {
			return nil, nil, errNoStream
		}
		return nil, a, err
	}
	go s.read(life, resp.Body)
	return s, nil, nil
}

// read reads results until the response ends.
func (s *stream) read(life context.Context, from io.ReadCloser) {
	defer close(s.results)
	defer from.Close()
	var part []byte // beginning of a line
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
			case <-life.Done():
				return
			}
		}
		if err != nil {
			s.whole = err == io.EOF && len(part) == 0
			s.body.CloseWithError(io.ErrClosedPipe) // fail writes: the daemon reads no more
			return
		}
	}
}

// write writes the queued lines, and empty lines at intervals. The empty lines prevent a timeout in the daemon. Before the
// response, they also make the transport notice a broken connection.
func (s *stream) write(life context.Context, open <-chan struct{}) {
	tick := time.NewTicker(keepOpening)
	defer tick.Stop()
	for {
		var queue [][]byte
		select {
		case <-s.wake:
			s.mu.Lock()
			queue, s.queue = s.queue, nil
			s.mu.Unlock()
		case <-open:
			open = nil
			tick.Reset(keepOpen)
		case <-tick.C:
			queue = [][]byte{{'\n'}}
		case <-life.Done():
			return
		}
		for _, lines := range queue {
			if lines == nil {
				s.body.Close()
				return
			}
			if _, err := s.body.Write(lines); err != nil {
				return
			}
		}
	}
}

// send queues whole lines and doesn't wait. The caller must not change them afterwards. The queue has no limit of its own:
// the caller limits the lines without a result.
func (s *stream) send(lines []byte) {
	s.mu.Lock()
	s.queue = append(s.queue, lines)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// isResult reports whether a line of the response is the result of a line that was sent, and counts the results. Otherwise
// it is the last line, in which the daemon says why it ends the stream.
func (s *stream) isResult(line []byte) bool {
	if !bytes.HasPrefix(line, []byte(`{"error":`)) || !bytes.Contains(line, []byte(`"lines_answered":`)) {
		s.told++
		return true
	}
	var last struct{ Error *Refused }
	var details struct {
		Answered *int `json:"lines_answered"`
	}
	if json.Unmarshal(line, &last) != nil || last.Error == nil || json.Unmarshal(last.Error.Details, &details) != nil ||
		details.Answered == nil || *details.Answered != s.told {
		s.told++
		return true
	}
	s.last = &Answer{Status: http.StatusServiceUnavailable, Body: bytes.Clone(line), URL: s.url}
	switch last.Error.Code {
	case "Unauthorized":
		s.last.Status = http.StatusUnauthorized
	case "Forbidden":
		s.last.Status = http.StatusForbidden
	}
	return false
}

// ended returns why the stream ended. It must be called only after results is closed or last is set. The error is a
// *NoAnswer if the outcome of lines without a result is unknown. Otherwise these lines had no effect, and the error is a
// *Refused with the daemon's reason, or nil if the stream ended normally.
func (s *stream) ended() error {
	switch {
	case s.last != nil:
		return s.last.Err()
	case !s.whole:
		return &NoAnswer{s.url, io.ErrUnexpectedEOF}
	case s.told == 0:
		return &NoAnswer{s.url, io.EOF}
	}
	return nil
}

// abort ends the stream at once. The outcome of lines without a result is unknown.
func (s *stream) abort() {
	s.aborted = true
	s.end()
}

// close ends the stream properly, and waits up to a second for the end of the response.
func (s *stream) close() {
	if s.aborted {
		return
	}
	defer s.abort()
	s.send(nil)
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
