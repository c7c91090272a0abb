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
	"math"
	"slices"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

const (
	maxLine    = 16 << 20 // maximum size of a line in bytes; a batch request may be up to 64 MiB
	runBytes   = 64 << 10 // collected lines are passed to the client when they reach this size in bytes
	linesAhead = 4 * ledger.MaxBatch
)

// sendLines commits the lines, and shows their results.
func (b *batch) sendLines(c *call) error {
	o := client.LinesOptions{Base: c.writeURL, OnError: b.onError.value, Window: linesAhead, GiveUp: c.timeout.Duration, Stop: b.stopping.Done()}
	o.Again = func(why error, keyed bool) {
		b.shown.clear()
		saying := sameKey
		if !keyed {
			saying = "retrying the lines that were not executed"
		}
		c.again(saying)(why)
	}
	for r, err := range c.api.CommitLines(c.ctx, b.lines, o) {
		if failed, ok := errors.AsType[*client.Unanswered](err); ok {
			return b.failed(c, failed)
		}
		if err := b.add(c, &r); err != nil {
			b.halt(err) // results of lines in flight are still counted
		}
	}
	b.end(c)
	if why := context.Cause(b.stopping); why != nil {
		return b.halted(why)
	}
	if !b.stopped() && b.ended != io.EOF {
		return b.halted(b.ended)
	}
	return nil
}

// failed returns the error for lines without a result.
func (b *batch) failed(c *call, why *client.Unanswered) error {
	b.end(c)
	err := inWords(why.Err)
	if why.Answer != nil {
		err = c.refusal(&answer{*why.Answer})
	}
	if cause := context.Cause(b.stopping); cause != nil {
		err = exitf(max(exitCode(cause), exitCode(err)), "%v; %v", cause, err)
	}
	if b.doubt = len(why.Doubtful) > 0; !b.doubt {
		return b.halted(err)
	}
	next := "run the same command again; nothing is committed twice"
	if slices.ContainsFunc(why.Doubtful, func(l client.Line) bool { return !l.Keyed }) {
		next = "send again only lines with an idempotency_key"
	}
	first, last := why.Doubtful[0].Number, why.Doubtful[len(why.Doubtful)-1].Number
	return exitf(max(exitSilent, exitCode(err)), "%v; %s before, and the outcome of %s is unknown: %s; no later line was executed",
		err, b.done(), lineRange(first, last), next)
}

// lineRange names the lines from first to last.
func lineRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// lines yields the lines of the input, in slices of lines that are available together. The
// bool reports whether more are available without waiting. At the end, lines sets b.ended.
func (b *batch) lines(yield func([]client.Line, bool) bool) {
	var run []client.Line
	var text []byte // text of the lines to yield
	var tx ledger.Transaction
	for b.ended == nil {
		line, err := b.in.next()
		b.ended = cmp.Or(b.mark.reached(b.in.number), err)
		if b.ended == nil && len(line) > 0 {
			var l client.Line
			text, l = b.line(text, line, b.in.number, &tx)
			run = append(run, l)
			if l.Given != nil && b.onError.value == "stop" && !b.mark.isDone(l.Number) {
				b.ended = io.EOF
			}
		}
		ready := b.ended == nil && (b.again != nil || b.in.ready())
		if len(run) == 0 || ready && len(text) < runBytes && (b.mark == nil || !b.mark.full(run)) {
			continue
		}
		if err := b.mark.send(b.stopping, run); err != nil {
			b.halt(err)
			return
		}
		if !yield(run, ready && b.mark == nil) { // mark.send may wait for results
			return
		}
		run, text = make([]client.Line, 0, len(run)), make([]byte, 0, runBytes)
	}
}

// line converts a line of the input to the form in which it is sent. The text to send is
// appended to the given buffer. A line that is not JSON would make a whole batch request
// invalid, so it is not sent: its result, a rejection, is already in Given.
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
			text = fmt.Appendf(text[:len(text)-1], `,"idempotency_key":"batch:%s:%d"}`, b.mark.note.Name, number)
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

type lineReader struct {
	in     *bufio.Reader
	most   int // maximum size of a line in bytes
	number int // number of the line returned last, counted from 1; MaxInt at the end
	line   []byte
	peeked bool // next returns the same line again
}

func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, runBytes), most: most}
}

// next returns the next line without the spaces around it. It is valid until the next
// call. The error is io.EOF after the last line.
func (l *lineReader) next() ([]byte, error) {
	if l.peeked {
		l.peeked = false
		return bytes.TrimSpace(l.line), nil
	}
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case len(l.line) > l.most:
			return nil, usagef("line %d is longer than %d bytes", l.number+1, l.most)
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(l.line) == 0:
			l.number = math.MaxInt
			return nil, err
		case err != nil && err != io.EOF:
			return nil, err
		}
		l.number++
		return bytes.TrimSpace(l.line), nil
	}
}

// peek returns the first line that is not empty. next returns it again.
func (l *lineReader) peek() (line []byte, err error) {
	for err == nil && len(line) == 0 {
		line, err = l.next()
	}
	l.peeked = err == nil
	return line, err
}

// ready reports whether the next line is available, so that next does not wait.
func (l *lineReader) ready() bool {
	have, _ := l.in.Peek(l.in.Buffered())
	return bytes.IndexByte(have, '\n') >= 0
}
