package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"assetledger/ledger"
)

// Lines go into requests, one after the other:
//
//	file → lineReader → lineSource → lineRequest → stream of commits → results
//
// A request is sent in the stream, and its results are awaited. A daemon that
// is older than streams gets it as a batch request, as does a line too long for one.
//
// Memory is bounded by one request, its answer and two lines.

const (
	maxBatchBytes = 8 << 20              // bytes of a request, unless one line is longer
	maxLine       = 16 << 20             // bytes of a line; the ledger takes 64 MiB in a request
	linger        = 5 * time.Millisecond // for further lines of a pipe, before what there is gets sent
)

// inputLine is a line that is not blank, or the end of the input.
type inputLine struct {
	number int
	text   []byte
	err    error
}

// sendLines sends first and the lines after it, each a transaction.
func (b *batch) sendLines(c *call, in *lineReader, first []byte) error {
	stop := make(chan struct{})
	defer close(stop)
	lines := make(chan inputLine)
	go passLines(in, bytes.Clone(first), lines, stop)
	var pause <-chan time.Time // nil for a file, which never makes one wait
	timer := time.NewTimer(linger)
	defer timer.Stop()
	if !b.bar.regular {
		pause = timer.C
	}
	req := &lineRequest{b: b}
	defer func() { b.stream.close() }()
	for !b.stopped() {
		select {
		case l := <-lines:
			if l.err != nil {
				return b.endOfLines(c, in, req, l.err)
			}
			if err := b.take(c, req, l); err != nil {
				return err
			}
			if req.n() == 1 {
				timer.Reset(linger)
			}
		case <-pause:
			if err := req.send(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// passLines reads ahead by a line until the end, or until stop is closed.
func passLines(in *lineReader, line []byte, to chan<- inputLine, stop <-chan struct{}) {
	var err error
	for {
		if line = bytes.TrimSpace(line); len(line) > 0 || err != nil {
			select {
			case to <- inputLine{in.number, line, err}:
			case <-stop:
				return
			}
		}
		if err != nil {
			return
		}
		line, err = in.next()
		line = bytes.Clone(line)
	}
}

// endOfLines sends what is left.
func (b *batch) endOfLines(c *call, in *lineReader, req *lineRequest, end error) error {
	if err := req.send(c); err != nil {
		return err
	}
	if end != io.EOF && !b.stopped() {
		return b.unreadable(in, end)
	}
	return b.mark.save(c, true)
}

// jsonLimits are the ledger's, less the two levels of the batch around a transaction.
var jsonLimits = ledger.ParseLimits{Nesting: ledger.DefaultNesting - 2}

// take adds a line to the request, which is sent first if it is full. A line
// that is not JSON would spoil the whole request: it is refused here.
func (b *batch) take(c *call, req *lineRequest, l inputLine) error {
	if b.mark.isDone(l.number) {
		b.skip(c, l.number)
		return nil
	}
	refusal := ledger.ParseTransaction(l.text, &req.tx, jsonLimits)
	if refusal != nil && refusal.Code == ledger.MalformedJSON {
		if err := req.send(c); err != nil || b.stopped() {
			return err
		}
		body := append(ledger.AppendError([]byte(`{"results":[{"error":`), refusal), "}]}"...)
		_, err := b.show(c, &answer{body: body, url: b.file}, []int{l.number})
		return err
	}
	text, keyed := l.text, refusal == nil && len(req.tx.Key) > 0
	if refusal == nil && !keyed && b.mark != nil {
		text, keyed = b.mark.withKey(text, l.number), true
	}
	if req.n() == ledger.MaxBatch || req.n() > 0 && len(req.body)+len(text) > maxBatchBytes {
		if err := req.send(c); err != nil || b.stopped() {
			return err
		}
	}
	req.add(text, l.number, keyed)
	return nil
}

// skip shows a line that an earlier run has done.
func (b *batch) skip(c *call, line int) {
	switch {
	case c.ndjson():
		fmt.Fprintf(c.out, `{"line":%d,"skipped":true}`+"\n", line)
	case !c.json():
		b.table.row(fmt.Sprint(line), "-", "-", "-", "done by an earlier run")
		if len(b.table.rows) >= 1000 {
			b.table.flush()
		}
	}
}

// A lineRequest is a run of lines that are sent together.
type lineRequest struct {
	b       *batch
	body    []byte // the lines, each with a newline
	ends    []int  // where they end in body
	lines   []int  // their numbers
	got     []json.RawMessage
	unkeyed bool // a transaction without a key is among them
	long    bool // a line is too long for a stream
	tx      ledger.Transaction
}

func (r *lineRequest) n() int { return len(r.lines) }

func (r *lineRequest) add(text []byte, line int, keyed bool) {
	r.body = append(append(r.body, text...), '\n')
	r.ends = append(r.ends, len(r.body))
	r.lines = append(r.lines, line)
	r.unkeyed = r.unkeyed || !keyed
	r.long = r.long || len(text) > streamLine
}

// reset empties the request.
func (r *lineRequest) reset() {
	*r = lineRequest{b: r.b, body: r.body[:0], ends: r.ends[:0], lines: r.lines[:0], got: r.got[:0], tx: r.tx}
}

// send sends the request, if there is anything in it, and shows the results.
// When all its transactions have keys, it is tried again until it is answered.
func (r *lineRequest) send(c *call) error {
	if r.n() == 0 {
		return nil
	}
	b := r.b
	tries := 1
	if !r.unkeyed {
		tries = maxTries
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	a, err := r.ask(ctx, c, tries)
	cancel()
	if err == nil {
		err = c.refusal(a)
	}
	if k := len(r.got); err != nil && k > 0 {
		if _, err := b.show(c, &answer{body: resultsOf(r.got), url: c.writeURL}, r.lines[:k]); err != nil {
			return err
		}
		r.lines = r.lines[k:]
	}
	last := r.lines[r.n()-1]
	if err != nil {
		return b.unanswered(err, fmt.Sprintf("of lines %d to %d", r.lines[0], last), !r.unkeyed)
	}
	result, err := b.show(c, a, r.lines)
	if err != nil {
		return err
	}
	b.bar.at(last, b.refused)
	b.mark.answered(last, result)
	r.reset()
	return b.mark.save(c, false)
}

// ask sends the lines in a stream, or as a batch request.
func (r *lineRequest) ask(ctx context.Context, c *call, tries int) (*answer, error) {
	b := r.b
	if !b.noStreams && !r.long {
		a, err := c.tryTo(ctx, tries, "trying again with the same key", func() (*answer, error) { return r.askStream(ctx, c) })
		if b.noStreams = errors.Is(err, errNoStream); !b.noStreams {
			return a, err
		}
	}
	text := append([]byte(`{"transactions":[`), bytes.ReplaceAll(r.body[:len(r.body)-1], []byte{'\n'}, []byte{','})...)
	text = append(text, ']')
	if b.onError.value != "" {
		text = fmt.Appendf(text, `,"on_error":%q`, b.onError.value)
	}
	return c.try(ctx, request{method: http.MethodPost, base: c.writeURL, path: "/v1/commit/batch", body: append(text, '}')}, tries)
}

// askStream sends the lines that have no result yet in the open stream, or in a
// new one.
func (r *lineRequest) askStream(ctx context.Context, c *call) (*answer, error) {
	b := r.b
	for len(r.got) < r.n() {
		if !b.stream.idle() {
			b.stream.close()
			s, refused, err := c.openStream(ctx, b.onError.value)
			if b.stream = s; s == nil {
				return refused, err
			}
		}
		from := 0
		if k := len(r.got); k > 0 {
			from = r.ends[k-1]
		}
		results, ended, err := b.stream.exchange(ctx, r.body[from:], r.n()-len(r.got))
		r.got = append(r.got, results...)
		switch {
		case err != nil:
			return nil, err
		case len(r.got) == r.n():
		case ended != nil:
			return &answer{status: ledger.Code(ended.Code).Status(), body: ended.json(), url: c.writeURL}, nil
		case len(results) == 0:
			return nil, &noAnswer{url: c.writeURL, err: io.EOF}
		case b.onError.value == "stop":
			for len(r.got) < r.n() {
				r.got = append(r.got, json.RawMessage(notTried))
			}
		}
	}
	return &answer{status: http.StatusOK, body: resultsOf(r.got), url: c.writeURL}, nil
}

// notTried is the result of a line that a stream ended before, with -on-error stop.
const notTried = `{"error":{"code":"NotAttempted","message":"Not tried, since an earlier transaction failed and -on-error is stop.","details":{}}}`

// resultsOf is the answer to a batch request with these results.
func resultsOf(results []json.RawMessage) []byte {
	body := []byte(`{"results":[`)
	for i, r := range results {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, r...)
	}
	return append(body, "]}"...)
}

// A resumeProof is how -resume knows that the ledger is the one that it knew:
// a commit, and the key that it had.
type resumeProof struct {
	GlobalSeq int64  `json:"global_seq"`
	Key       string `json:"key"`
}

// proofOf is the proof that a result gives.
func proofOf(r *batchResult) *resumeProof {
	var metadata struct {
		Key string `json:"idempotency_key"`
	}
	if r == nil || json.Unmarshal(r.Metadata, &metadata) != nil || metadata.Key == "" {
		return nil
	}
	return &resumeProof{r.GlobalSeq, metadata.Key}
}

// regularSize is the size of a regular file.
func regularSize(in io.Reader) (size int64, regular bool) {
	f, ok := in.(*os.File)
	if !ok {
		return 0, true // a reader in memory, which makes nobody wait either
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}
