package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"assetledger/ledger"
)

// Lines go into requests, one after the other:
//
//	file → lineReader → lineSource → lineRequest → write daemon → results
//
// Memory is bounded by one request, its answer and two lines.

const (
	maxBatchBytes = 8 << 20               // bytes of a request, unless one line is longer
	maxLine       = 16 << 20              // bytes of a line; the ledger takes 64 MiB in a request
	linger        = 50 * time.Millisecond // for a further line of a pipe, before what there is gets sent
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
	for !b.stopped() {
		if req.n() == 0 {
			timer.Stop()
		} else {
			timer.Reset(linger)
		}
		select {
		case l := <-lines:
			if l.err != nil {
				return b.endOfLines(c, in, req, l.err)
			}
			if err := b.take(c, req, l); err != nil {
				return err
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

// A lineRequest is the batch request being put together.
type lineRequest struct {
	b       *batch
	body    []byte
	lines   []int
	unkeyed bool // a transaction without a key is among them
	tx      ledger.Transaction
}

func (r *lineRequest) n() int { return len(r.lines) }

func (r *lineRequest) add(text []byte, line int, keyed bool) {
	if r.n() == 0 {
		r.body = append(r.body[:0], `{"transactions":[`...)
	} else {
		r.body = append(r.body, ',')
	}
	r.body = append(r.body, text...)
	r.lines = append(r.lines, line)
	r.unkeyed = r.unkeyed || !keyed
}

// send sends the request, if there is anything in it, and shows the results.
// When all its transactions have keys, it is tried again until it is answered.
func (r *lineRequest) send(c *call) error {
	if r.n() == 0 {
		return nil
	}
	b := r.b
	r.body = append(r.body, ']')
	if b.onError.value != "" {
		r.body = fmt.Appendf(r.body, `,"on_error":%q`, b.onError.value)
	}
	r.body = append(r.body, '}')
	tries := 1
	if !r.unkeyed {
		tries = maxTries
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	a, err := c.try(ctx, request{method: http.MethodPost, base: c.writeURL, path: "/v1/commit/batch", body: r.body}, tries)
	cancel()
	if err == nil {
		err = c.refusal(a)
	}
	first, last := r.lines[0], r.lines[r.n()-1]
	if err != nil {
		return b.unanswered(err, fmt.Sprintf("of lines %d to %d", first, last), !r.unkeyed)
	}
	result, err := b.show(c, a, r.lines)
	if err != nil {
		return err
	}
	b.bar.at(last, b.refused)
	b.mark.answered(last, result)
	r.lines, r.unkeyed = r.lines[:0], false
	return b.mark.save(c, false)
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
