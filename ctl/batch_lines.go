package ctl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

const (
	maxLine    = 16 << 20 // maximum size of a line in bytes; a request may have 64 MiB
	runBytes   = 64 << 10 // collected lines are passed to the client when they reach this size in bytes
	groupBytes = 8 << 20  // results are shown when their lines reach this size in bytes
	linesAhead = 4 * ledger.MaxBatch
)

// sendLines commits the lines, and shows their results.
func (b *batch) sendLines(c *call) error {
	o := client.LinesOptions{Base: c.writeURL, OnError: b.onError.value, Window: linesAhead, GiveUp: c.timeout.Duration}
	o.Stop = b.stopping.Done()
	o.Again = func(why error, keyed bool) {
		b.bar.clear()
		saying := sameKey
		if !keyed {
			saying = "retrying the lines that were not executed"
		}
		c.again(saying)(why)
	}
	for r, err := range c.api.CommitLines(c.ctx, b.lines(bytes.Clone(b.first)), o) {
		if err != nil {
			return b.failed(c, err)
		}
		if err := b.result(c, &r); err != nil {
			b.halt(err) // results of lines in flight are still counted
		}
	}
	if err := b.endGroup(c); err != nil {
		b.halt(err)
	}
	if why := context.Cause(b.stopping); why != nil {
		return b.halted(why)
	}
	if !b.stopped() && b.ended != io.EOF {
		return b.unreadable(b.ended)
	}
	return nil
}

// lines yields line and the lines after it, in slices of lines that are available
// together. The bool reports whether more are available without waiting. At the end it
// sets b.ended.
func (b *batch) lines(line []byte) iter.Seq2[[]client.Line, bool] {
	return func(yield func([]client.Line, bool) bool) {
		var run []client.Line
		var text []byte // text of the lines to yield
		var tx ledger.Transaction
		for b.ended == nil {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				if b.ended = b.mark.reached(b.in.number); b.ended != nil {
					break
				}
				var l client.Line
				text, l = b.line(text, line, b.in.number, &tx)
				run = append(run, l)
				if l.Given != nil && b.onError.value == "stop" && !b.mark.isDone(l.Number) {
					b.ended = io.EOF
				}
			}
			ready := b.bar.in != nil || b.in.ready()
			if len(run) > 0 && (len(text) >= runBytes || b.mark.full(run) || !ready || b.ended != nil) {
				if err := b.mark.send(b.stopping, run); err != nil {
					b.halt(err)
					return
				}
				if !yield(run, (ready || b.bar.regular) && b.mark == nil) { // mark.send may wait for results
					return
				}
				run, text = make([]client.Line, 0, len(run)), make([]byte, 0, runBytes)
			}
			if b.ended == nil {
				line, b.ended = b.in.next()
				if b.ended == io.EOF {
					b.ended = cmp.Or(b.mark.reached(math.MaxInt), b.ended)
				}
			}
		}
		if err := b.mark.send(b.stopping, run); err != nil {
			b.halt(err)
		} else if len(run) > 0 {
			yield(run, false)
		}
	}
}

// line returns a line of the input in the form in which it is sent. It appends its text
// to the given buffer. A line that is not JSON would make a whole batch request
// invalid, so line does not send it: it sets Given to a rejection.
func (b *batch) line(text, line []byte, number int, tx *ledger.Transaction) ([]byte, client.Line) {
	l := client.Line{Number: number}
	line, fault := ofWords(line)
	refusal := ledger.ParseTransaction(line, tx, jsonLimits)
	if refusal != nil && refusal.Code == ledger.MalformedJSON {
		if fault != nil {
			refusal = ledger.Errorf(ledger.MalformedJSON, "A line is a transaction as JSON, or one operation in words: %v.", fault)
		}
		l.Given = append(ledger.AppendError([]byte(`{"error":`), refusal), '}')
		return text, l
	}
	from := len(text)
	text, l.Keyed = append(text, line...), refusal == nil && len(tx.Key) > 0
	if !l.Keyed && b.mark != nil {
		if refusal == nil || lacksKey(line) {
			text = b.mark.appendKey(text, number)
		}
		l.Keyed = true
	}
	l.Text = text[from:len(text):len(text)]
	if b.mark.isDone(number) {
		b.mark.seen += lineSum(number, l.Text)
		return text[:from], client.Line{Number: number, Given: []byte(`{"skipped":true}`)}
	}
	return text, l
}

// lacksKey reports whether a line that this version can't parse lacks a key, and can be
// given one. A newer ledger may accept the line. A line for which lacksKey returns false
// has a key or is not a transaction in any version, so it is safe to send again.
func lacksKey(line []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(line, &fields) == nil && len(fields) > 0 && fields["idempotency_key"] == nil
}

// jsonLimits leaves two levels of nesting for the batch around a transaction.
var jsonLimits = ledger.ParseLimits{Nesting: ledger.DefaultNesting - 2}

// ofWords converts a line that is one operation in words to a transaction. It returns
// any other line unchanged. If the line looks like words, the error says what is wrong.
func ofWords(line []byte) ([]byte, error) {
	if c := line[0] | 0x20; c < 'a' || c > 'z' {
		return line, nil
	}
	op, err := ledger.ParseOpWords(string(line))
	if err != nil {
		return line, nearerOp(string(line), err)
	}
	return append(ledger.AppendOperations([]byte(`{"operations":`), []ledger.Op{op}), '}'), nil
}

type group struct {
	lines   int
	size    int      // size of the lines in bytes
	last    int      // number of the last line
	results [][]byte // set if they are shown as one response
}

func (b *batch) result(c *call, r *client.Answered) error {
	b.mark.result(r)
	skipped := b.mark.isDone(r.Number)
	alone := r.Given != nil && !skipped
	if alone {
		if err := b.endGroup(c); err != nil {
			return err
		}
	}
	b.bar.clear()
	g := &b.group
	g.lines, g.size, g.last = g.lines+1, g.size+len(r.Text), r.Number
	if skipped {
		b.skip(c, r.Number)
	} else {
		b.add(c, r.Number, &r.Verdict, r.Raw)
		if c.json() && !c.ndjson() {
			g.results = append(g.results, bytes.Clone(r.Raw))
		}
	}
	switch {
	case alone, g.lines == ledger.MaxBatch, g.size >= groupBytes, !r.More && !b.bar.regular:
		return b.endGroup(c)
	case !r.More:
		return b.flush(c, r.Number, c.ndjson())
	}
	return nil
}

// endGroup shows the results of the group.
func (b *batch) endGroup(c *call) error {
	g := b.group
	if g.lines == 0 {
		return nil
	}
	b.group = group{}
	if len(g.results) > 0 {
		c.showRaw(&answer{client.Answer{Body: fmt.Appendf(nil, `{"results":[%s]}`, bytes.Join(g.results, []byte(",")))}})
	}
	if !c.json() {
		b.table.flush()
	}
	if err := b.flush(c, g.last, true); err != nil {
		return err
	}
	b.bar.at(g.last, b.refused)
	return nil
}

// skip shows a line that an earlier run committed.
func (b *batch) skip(c *call, line int) {
	b.committed++
	b.replayed++
	switch {
	case c.ndjson():
		fmt.Fprintf(c.out, `{"line":%d,"skipped":true}`+"\n", line)
	case !c.json():
		b.table.row(line, "-", "-", "-", "done by an earlier run")
	}
}

func (b *batch) failed(c *call, err error) error {
	if !c.json() {
		b.table.flush() // also writes the header if there was no result
	}
	if err := b.endGroup(c); err != nil {
		b.halt(err)
	}
	why, _ := errors.AsType[*client.Unanswered](err)
	if err = inWords(why.Err); why.Answer != nil {
		err = c.refusal(&answer{*why.Answer})
	}
	if cause := context.Cause(b.stopping); cause != nil {
		err = exitf(max(exitCode(cause), exitCode(err)), "%v; %v", cause, err)
	}
	b.doubt = len(why.Doubtful) > 0
	what, next := "", againAll
	for _, l := range why.Doubtful {
		what = fmt.Sprintf("lines %d to %d", why.Doubtful[0].Number, l.Number)
		if !l.Keyed {
			next = againKeyed
		}
	}
	return b.unanswered(err, what, next+"; no later line was executed")
}

type lineReader struct {
	in     *bufio.Reader
	most   int // maximum size of a line in bytes
	number int // number of the line returned last, counted from 1
	line   []byte
}

func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, runBytes), most: most}
}

var errLongLine = errors.New("the line is too long")

// next returns the next line with its line break. It is valid until the next call. The
// error is io.EOF after the last line, and errLongLine for a line that is too long.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.line = append(l.line, part...)
		if len(l.line) > l.most {
			l.number++
			return nil, errLongLine
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (err != io.EOF || len(l.line) == 0) {
			return nil, err
		}
		l.number++
		return l.line, nil
	}
}

// ready reports whether the next line is available, so that next does not wait.
func (l *lineReader) ready() bool {
	have, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(have, '\n') >= 0
}
