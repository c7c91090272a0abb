package ctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"assetledger/ledger"
)

const (
	// streamLine is the longest line that is sent in a stream: the daemon's
	// default of -max-body. Longer ones go as a batch request.
	streamLine = 1 << 20
	// keepOpen is how often an idle stream gets an empty line.
	keepOpen = 10 * time.Second
)

// A lineStream is an open stream of commits.
type lineStream struct {
	url     string
	end     func()
	results chan []byte // closed when the answer ends
	whole   bool        // it ended with its final chunk; read it when results is closed
	failed  bool        // an exchange got less than its results

	mu   sync.Mutex // of writing
	body *io.PipeWriter
}

// errNoStream means that the daemon is older than streams.
var errNoStream = errors.New("the daemon has no streams of commits")

// openStream opens a stream to the write daemon. An answer that is not nil is a
// refusal.
func (c *call) openStream(ctx context.Context, onError string) (*lineStream, *answer, error) {
	query := ""
	if onError != "" {
		query = "?" + url.Values{"on_error": {onError}}.Encode()
	}
	in, out := io.Pipe()
	life, end := context.WithCancel(c.ctx) // longer than that of one request
	stop := context.AfterFunc(ctx, end)
	// A transport whose connection broke waits until the body has ended too.
	context.AfterFunc(life, func() { in.CloseWithError(io.ErrClosedPipe) })
	req, err := http.NewRequestWithContext(life, http.MethodPost, overHTTP(c.writeURL)+"/v1/commit/stream"+query, in)
	if err != nil {
		end()
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := c.api.send(c.writeURL, req)
	if !stop() && err == nil {
		err = &noAnswer{url: c.writeURL, err: ctx.Err()}
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
			return nil, nil, &noAnswer{url: c.writeURL, err: err}
		}
		return nil, &answer{status: resp.StatusCode, header: resp.Header, body: body, url: c.writeURL + "/v1/commit/stream"}, nil
	}
	s := &lineStream{url: c.writeURL, end: end, results: make(chan []byte, 1024), body: out}
	go s.receive(life, resp.Body)
	go s.stayOpen(life)
	return s, nil, nil
}

// receive reads results until the answer ends.
func (s *lineStream) receive(ctx context.Context, from io.ReadCloser) {
	defer close(s.results)
	defer from.Close()
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.whole = err == io.EOF && len(line) == 0
			s.body.CloseWithError(io.ErrClosedPipe) // nobody reads what is still to be sent
			return
		}
		select {
		case s.results <- bytes.TrimSuffix(line, []byte{'\n'}):
		case <-ctx.Done():
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
			if s.write([]byte{'\n'}) != nil {
				return
			}
		}
	}
}

func (s *lineStream) write(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.body.Write(text)
	return err
}

// close ends the stream, if there is one, and lets the daemon see its end.
func (s *lineStream) close() {
	if s == nil {
		return
	}
	defer s.end()
	s.body.Close()
	late := time.After(time.Second)
	for !s.failed {
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

// idle reports whether the stream can take lines: not after it ended.
func (s *lineStream) idle() bool {
	if s == nil || s.failed {
		return false
	}
	select {
	case <-s.results: // a last line, or the end
		return false
	default:
		return true
	}
}

// exchange sends lines and returns their results. If there are fewer, ended is
// the answer's last line, if it answers no line of them.
func (s *lineStream) exchange(ctx context.Context, text []byte, n int) (results []json.RawMessage, ended *apiErrorBody, err error) {
	go s.write(text)
	for len(results) < n {
		select {
		case line, ok := <-s.results:
			switch {
			case ok && json.Valid(line):
				results = append(results, line)
				continue
			case ok:
				err = fmt.Errorf("%s answered a line that is no JSON: %.100q", s.url, line)
			case s.whole:
				results, ended = lastLine(results)
			default:
				err = &noAnswer{url: s.url, err: io.ErrUnexpectedEOF}
			}
		case <-ctx.Done():
			err = &noAnswer{url: s.url, err: ctx.Err()}
		}
		s.failed = true
		return results, ended, err
	}
	return results, nil, nil
}

// lastLine takes the line off with which a daemon ends a stream by itself, and
// which answers no other. But a line that is too long, and with on_error stop
// one that failed, ends the stream with its own result.
func lastLine(results []json.RawMessage) ([]json.RawMessage, *apiErrorBody) {
	if len(results) == 0 {
		return nil, nil
	}
	var r batchResult
	if json.Unmarshal(results[len(results)-1], &r) != nil || r.Error == nil {
		return results, nil
	}
	switch ledger.Code(r.Error.Code) {
	case ledger.ShuttingDown, ledger.LogUnavailable, ledger.Unauthorized, ledger.Internal:
		return results[:len(results)-1], r.Error
	}
	return results, nil
}
