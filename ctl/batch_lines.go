package ctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

const (
	maxLine    = 16 << 20 // bytes of a line; the ledger takes 64 MiB in a request
	runBytes   = 64 << 10 // bytes of lines that are passed on together
	groupBytes = 8 << 20  // bytes of lines whose results are shown together
	linesAhead = 4 * ledger.MaxBatch
)

// sendLines commits first and the lines after it, and shows their results.
func (b *batch) sendLines(c *call, in *lineReader, first []byte) error {
	o := client.LinesOptions{Base: c.writeURL, OnError: b.onError.value, Window: linesAhead, GiveUp: c.timeout.Duration}
	b.stopping, b.halt = untilSignal(c.ctx)
	defer b.halt(nil)
	o.Stop = b.stopping.Done()
	o.Again = func(why error, keyed bool) {
		b.bar.clear()
		saying := sameKey
		if !keyed {
			saying = "trying again what was not carried out"
		}
		c.again(saying)(why)
	}
	for r, err := range c.api.CommitLines(c.ctx, b.lines(in, bytes.Clone(first)), o) {
		if err != nil {
			return b.failed(c, err)
		}
		if err := b.result(c, &r); err != nil {
			b.halt(err) // the results of what is in flight are still counted
		}
	}
	if err := b.endGroup(c); err != nil {
		b.halt(err)
	}
	if why := context.Cause(b.stopping); why != nil {
		return b.halted(why)
	}
	if !b.stopped() && b.ended != io.EOF {
		return b.unreadable(in, b.ended)
	}
	return b.mark.save(c, true)
}

// lines yields line and those after it, in runs that have arrived together, and
// whether more come without a wait. At the end it sets b.ended.
func (b *batch) lines(in *lineReader, line []byte) iter.Seq2[[]client.Line, bool] {
	return func(yield func([]client.Line, bool) bool) {
		var run []client.Line
		var text []byte // of the run
		var tx ledger.Transaction
		for b.ended == nil {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				var l client.Line
				text, l = b.line(text, line, in.number, &tx)
				run = append(run, l)
				if l.Given != nil && b.onError.value == "stop" && !b.mark.isDone(l.Number) {
					b.ended = io.EOF
				}
			}
			ready := in.ready()
			if len(run) > 0 && (len(text) >= runBytes || !ready || b.ended != nil) {
				if !yield(run, ready || b.bar.regular) {
					return
				}
				run, text = make([]client.Line, 0, len(run)), make([]byte, 0, runBytes)
			}
			if b.ended == nil {
				line, b.ended = in.next()
			}
		}
		if len(run) > 0 {
			yield(run, false)
		}
	}
}

// line returns a line of the input as it is sent, with its text appended to that of
// others. A line that is not JSON would make a whole batch request invalid, so it is
// rejected here.
func (b *batch) line(text, line []byte, number int, tx *ledger.Transaction) ([]byte, client.Line) {
	l := client.Line{Number: number}
	if b.mark.isDone(number) {
		l.Given = []byte(`{"skipped":true}`)
		return text, l
	}
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
	return text, l
}

// lacksKey reports whether a line that the ledger will reject, unless it is newer than
// ledgerctl, can be given a key. One that can't has a key or is no transaction in any
// version, so that it is safe to send again.
func lacksKey(line []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(line, &fields) == nil && len(fields) > 0 && fields["idempotency_key"] == nil
}

// jsonLimits allow for the two levels of the batch around a transaction.
var jsonLimits = ledger.ParseLimits{Nesting: ledger.DefaultNesting - 2}

// ofWords returns the transaction of a line that is one operation in words. Others are
// returned unchanged, those that seem to be words with what is wrong with them.
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
	size    int           // bytes of these
	last    int           // number of the last one
	results [][]byte      // if they are shown as one answer
	done    client.Result // committed last; its metadata are reused
}

func (b *batch) result(c *call, r *client.Answered) error {
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
		if r.Err == nil && b.mark != nil {
			metadata := append(g.done.Metadata[:0], r.Metadata...)
			g.done = r.Result
			g.done.Metadata = metadata
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

// endGroup shows the results of the group, and notes how far the batch has come.
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
	if !b.mark.isDone(g.last) {
		b.mark.answered(g.last, &g.done)
	}
	return b.mark.save(c, false)
}

// skip shows a line that an earlier run has committed.
func (b *batch) skip(c *call, line int) {
	switch {
	case c.ndjson():
		fmt.Fprintf(c.out, `{"line":%d,"skipped":true}`+"\n", line)
	case !c.json():
		b.table.row(line, "-", "-", "-", "done by an earlier run")
	}
}

func (b *batch) failed(c *call, err error) error {
	if !c.json() {
		b.table.flush() // its header too, if there was no result
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
	what, next := "", againAll
	for _, l := range why.Doubtful {
		what = fmt.Sprintf("of lines %d to %d", why.Doubtful[0].Number, l.Number)
		if !l.Keyed {
			next = againKeyed
		}
	}
	return b.unanswered(err, what, next+"; no later line was carried out")
}

type lineReader struct {
	in     *bufio.Reader
	most   int // bytes of a line
	number int // of the line returned last, from 1
	line   []byte
}

var errLongLine = errors.New("the line is too long")

// next returns the next line with its end; it is valid until the next call. The
// error is io.EOF after the last line, errLongLine for one that is too long.
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

// ready reports whether the next line has arrived, so that next will not wait.
func (l *lineReader) ready() bool {
	have, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(have, '\n') >= 0
}
