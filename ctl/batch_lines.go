package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"assetledger/ledger"
)

// Lines go into requests, several of which are on their way at a time:
//
//	file → lineReader → runs of lines → lineRequest → flow → stream of commits → results
//
// Memory is bounded by maxAhead requests and one more, and their answers.

const (
	maxBatchBytes = 8 << 20              // bytes of a request, unless one line is longer
	maxLine       = 16 << 20             // bytes of a line; the ledger takes 64 MiB in a request
	linger        = 5 * time.Millisecond // for further lines of a pipe, before what there is gets sent
	runBytes      = 64 << 10             // bytes of lines that are passed on together
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
	lines := make(chan []inputLine)
	go passLines(in, bytes.Clone(first), lines, stop)
	var pause <-chan time.Time // nil for a file, which never makes one wait
	timer := time.NewTimer(linger)
	defer timer.Stop()
	if !b.bar.regular {
		pause = timer.C
	}
	f := &flow{b: b, c: c, filling: &lineRequest{b: b}}
	defer f.close()
	for !b.stopped() {
		results, late := f.awaits()
		select {
		case run := <-lines:
			if f.filling.n() == 0 {
				timer.Reset(linger)
			}
			for _, l := range run {
				if l.err != nil {
					return f.end(in, l.err)
				}
				if err := f.line(l); err != nil || b.stopped() {
					return err
				}
			}
		case <-pause:
			if err := f.dispatch(); err != nil {
				return err
			}
		case chunk, open := <-results:
			if err := f.got(chunk, open); err != nil {
				return err
			}
		case <-late:
			if err := f.broke(failure{err: &noAnswer{url: c.writeURL, err: context.DeadlineExceeded}}); err != nil {
				return err
			}
		case <-c.ctx.Done():
			return f.broke(failure{err: &noAnswer{url: c.writeURL, err: c.ctx.Err()}})
		}
	}
	return nil
}

// passLines passes lines on until the end, or until stop is closed: those that
// have arrived together.
func passLines(in *lineReader, line []byte, to chan<- []inputLine, stop <-chan struct{}) {
	var run []inputLine
	var text []byte
	var err error
	for {
		if line = bytes.TrimSpace(line); len(line) > 0 || err != nil {
			from := len(text)
			text = append(text, line...)
			run = append(run, inputLine{in.number, text[from:len(text):len(text)], err})
		}
		if len(run) > 0 && (err != nil || len(text) >= runBytes || !in.ready()) {
			select {
			case to <- run:
			case <-stop:
				return
			}
			run, text = nil, make([]byte, 0, runBytes)
		}
		if err != nil {
			return
		}
		line, err = in.next()
	}
}

// jsonLimits are the ledger's, less the two levels of the batch around a transaction.
var jsonLimits = ledger.ParseLimits{Nesting: ledger.DefaultNesting - 2}

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
	done    int    // how many have a result
	since   time.Time
	got     []json.RawMessage // results, if they are shown together
	last    *batchResult      // of the last one that is committed
	failed  *failure          // of the stream in which it was sent
	unkeyed bool              // a transaction without a key is among them
	long    bool              // a line is too long for a stream
	over    bool              // it is finished
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

// rest is the lines without a result.
func (r *lineRequest) rest() []byte {
	if r.done == 0 {
		return r.body
	}
	return r.body[r.ends[r.done-1]:]
}

// result takes note of the result of the next line, and shows it.
func (r *lineRequest) result(c *call, raw []byte) error {
	b := r.b
	var res batchResult
	if err := parseResult(raw, &res); err != nil {
		return b.unclear(fmt.Errorf("%s answered what is no result: %.200q", c.writeURL, raw))
	}
	b.last = r.lines[r.done]
	r.done++
	b.add(c, b.last, &res, raw)
	if b.mark != nil && res.Error == nil {
		res.Metadata = bytes.Clone(res.Metadata)
		r.last = &res
	}
	if c.json() && !c.ndjson() {
		r.got = append(r.got, bytes.Clone(raw))
	}
	return nil
}

// show shows the results that are shown together.
func (r *lineRequest) show(c *call) {
	if len(r.got) > 0 {
		c.showRaw(&answer{body: resultsOf(r.got)})
		r.got = nil
	}
	if !c.json() {
		r.b.table.flush()
	}
}

// finish is for a request whose lines all have results; once more does nothing.
func (r *lineRequest) finish(c *call) error {
	if r.over {
		return nil
	}
	r.over = true
	b := r.b
	b.bar.clear()
	r.show(c)
	if err := c.out.Flush(); err != nil {
		return err
	}
	last := r.lines[r.n()-1]
	b.bar.at(last, b.refused)
	b.mark.answered(last, r.last)
	return b.mark.save(c, false)
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
