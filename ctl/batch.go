package ctl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

var batchCommand = command{
	Words:   "batch",
	Args:    "[FILE]",
	List:    true,
	Purpose: "submit many transactions, each on its own, at the highest rate",
	Notes: "FILE, or - for standard input, is NDJSON of any length, one transaction per line, or the body of\n" +
		"/v1/commit/batch, whose transactions are sent like lines. A line may also be one operation in words, as for -op of\n" +
		"commit. Lines are sent in order, in one stream of commits, and each has a line in the results. From a pipe, a line\n" +
		"is sent at once and its result is shown when it is durable. The exit code is 3 if any transaction was rejected.\n\n" +
		"If the daemon stops or another one takes over, the lines that were not executed are sent again until\n" +
		"-timeout. If a connection breaks, lines with a key and without a result are sent again, too; the outcome of the others is unknown. If the results\n" +
		"can't be written, or on SIGINT or SIGTERM, nothing more is sent, and the last message says which lines have a result. A\n" +
		"second signal or a closed pipe, such as that of head, ends the command at once, without that message.\n\n" +
		"With -resume you can repeat the same command, however it ended. A line without an idempotency_key\n" +
		"gets one from the file's name (or -name) and the line's number. So a line that was committed is not\n" +
		"committed again. You may correct a rejected line in its place, or replace it with an empty line, and add\n" +
		"lines at the end. Don't edit committed lines, and don't insert or delete lines before them: then the next\n" +
		"run ends with exit code 2, and sends nothing.\n" +
		"Use a new name for new work.\n\n" +
		"The command keeps its position in FILE.resume (for standard input NAME.resume, in the current directory). The next\n" +
		"run compares the lines with FILE.resume before it sends any; from a pipe, it sends rejected lines again first. Keep\n" +
		"FILE.resume until all lines are committed, and then remove it. After a crash or a broken connection, the lines sent last are\n" +
		"recognized by their keys: the ledger must remember at least 1,000 of them (-idempotency-keys of ledger-write), and more\n" +
		"if other clients commit, too. docs/recipes.md has the details.",
	Examples: [2]string{"batch transactions.ndjson -on-error stop", "batch transactions.ndjson -resume -o ndjson"},
	Setup: func(set *flag.FlagSet) action {
		b := &batch{onError: choice{of: []string{"continue", "stop"}}}
		set.StringVar(&b.file, "f", "", "the same as the word `FILE`; - is standard input")
		set.Var(&b.onError, "on-error", "`WHAT` to do after a rejection: continue (the ledger's default), or stop")
		set.BoolVar(&b.resume, "resume", false, "give each line its own idempotency key, so that the command is safe to repeat")
		set.StringVar(&b.name, "name", "", "`NAME` of this work in the keys of -resume; needed for standard input")
		return b.run
	},
}

type batch struct {
	file, name string
	onError    choice
	resume     bool

	in        *lineReader
	again     io.ReadSeeker // the input, if it can be read once more and a read never waits; nil for lines from a pipe
	start     int64         // offset of the first byte of the input in b.again
	size      int64         // size of a file in bytes; 0: not known
	column    string        // header of the first column: lines of a file, or transactions of a batch
	table     *table
	text      []byte // reused buffer
	shown     *progress
	mark      *resumeMark             // nil without -resume
	ended     error                   // why the input ended
	stopping  context.Context         // done when no more lines are to be sent; its cause says why
	halt      context.CancelCauseFunc // cancels stopping
	last      int                     // line or transaction whose result was added last
	written   int                     // the results of all lines up to this one are written
	committed int                     // includes replayed ones
	doubt     bool                    // lines that were sent have no result

	replayed, refused, untried int
}

func (b *batch) run(c *call) error {
	if b.file == "" {
		return usagef("no batch was given: give a FILE, or - for standard input")
	}
	b.stopping, b.halt = untilSignal(c.ctx)
	defer b.halt(nil)
	prepared := make(chan error, 1)
	go func() { prepared <- b.prepare(c) }() // may wait for input, which a signal must interrupt
	select {
	case err := <-prepared:
		if err != nil {
			return err
		}
	case <-b.stopping.Done():
		return b.halted(context.Cause(b.stopping))
	}
	b.shown = newProgress(c.words)
	b.table = c.newTable(b.column, "global_seq", "batch_seq", "minted", "result")
	err := b.sendLines(c)
	b.shown.clear()
	if saved := b.mark.end(b.doubt); saved != nil && err != nil {
		err = exitf(exitCode(err), "%v; %v", err, saved)
	} else {
		err = cmp.Or(err, saved)
	}
	if err != nil {
		return err
	}
	return b.summary(c)
}

// prepare opens the input, and reads up to its first line that is not empty. It unpacks the
// body of a batch request. With -resume, it verifies the lines that earlier runs sent.
func (b *batch) prepare(c *call) error {
	if err := b.prepareResume(c); err != nil {
		return err
	}
	in, err := c.openInput(b.file)
	if err != nil {
		return err
	}
	f, _ := in.(*os.File)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() { // fails if the input is not a file
		b.again, b.size = f, info.Size()
		b.start, _ = f.Seek(0, io.SeekCurrent)
	}
	b.column, b.in = "line", newLineReader(in, maxLine)
	first, err := b.in.peek()
	if err == io.EOF {
		return usagef("%s is empty", b.file)
	}
	if err != nil {
		return b.halted(err)
	}
	if beginsBody(first) {
		text, err := b.unpack(io.MultiReader(bytes.NewReader(first), strings.NewReader("\n"), b.in.in))
		if err != nil {
			return err
		}
		b.column, b.again, b.start, b.size = "n", bytes.NewReader(text), 0, 0
		b.in = newLineReader(b.again, maxInput)
	}
	return b.verify()
}

// summary returns an error if lines were rejected. Otherwise it reports success, but only on a terminal.
func (b *batch) summary(c *call) error {
	var note strings.Builder
	if b.untried > 0 {
		fmt.Fprintf(&note, ", and %d after it not tried", b.untried)
	}
	if b.stopped() {
		fmt.Fprintf(&note, "; nothing after line %d was sent", b.last)
	}
	if b.replayed > 0 {
		fmt.Fprintf(&note, "; %d had been committed before", b.replayed)
	}
	if b.refused > 0 {
		return exitf(exitRefused, "%d of %s failed%s", b.refused, count(b.committed+b.refused+b.untried, "transaction"), &note)
	}
	if isTerminal(c.words) {
		c.say("%s committed in %v%s", count(b.committed, "transaction"), b.shown.elapsed(), &note)
	}
	return nil
}

// beginsBody reports whether the first line begins the body of a batch request, which
// may have many lines. Otherwise the line is a transaction, complete or cut short, or an
// operation in words.
func beginsBody(line []byte) bool {
	var fields map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(line)).Decode(&fields) == io.ErrUnexpectedEOF {
		return line[0] == '{' && (bytes.Contains(line, []byte(`"transactions"`)) || !bytes.Contains(line, []byte(`"operations"`)))
	}
	return fields["transactions"] != nil || fields["on_error"] != nil
}

// unpack returns the transactions of the body of a batch request as lines. Repeated and
// unknown fields are errors.
func (b *batch) unpack(in io.Reader) ([]byte, error) {
	body, err := readWhole(in, b.file, ": give it as one transaction per line")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	seen := map[string]bool{}
	err = eachField(body, func(name string, value json.RawMessage) error {
		var transactions []json.RawMessage
		var mode string
		switch {
		case seen[name]:
			return fmt.Errorf("it has %s twice", name)
		case name == "transactions":
			json.Unmarshal(value, &transactions) // after an error there are none
		case name != "on_error":
			return fmt.Errorf("it has an unknown field %.100q", name)
		case b.onError.value != "":
			return errors.New("it has its own on_error: omit -on-error")
		case json.Unmarshal(value, &mode) != nil || b.onError.Set(mode) != nil:
			return fmt.Errorf("its on_error is %.100s, but must be continue or stop", value)
		}
		seen[name] = true
		for _, tx := range transactions {
			json.Compact(&text, tx)
			text.WriteByte('\n')
		}
		return nil
	})
	if err == nil && text.Len() == 0 {
		err = errors.New("it has no transactions: give an array with at least one")
	}
	if err != nil {
		return nil, usagef("%s is not a batch: %v", b.file, err)
	}
	return text.Bytes(), nil
}

func (b *batch) stopped() bool { return b.onError.value == "stop" && b.refused > 0 }

func (b *batch) done() string {
	return fmt.Sprintf("%d committed and %d failed", b.committed, b.refused)
}

// add counts and shows a result.
func (b *batch) add(c *call, r *client.Answered) error {
	b.mark.result(r)
	b.shown.clear()
	result := "committed"
	switch skipped := b.mark.isDone(r.Number); {
	case r.Err == nil:
		b.committed++
		if r.Replayed || skipped {
			b.replayed++
			result = "replayed"
		}
		if skipped {
			result = "done by an earlier run"
		}
	case r.Err.Code == string(ledger.NotAttempted):
		b.untried++
	default:
		b.refused++
	}
	switch {
	case c.json():
		b.addJSON(c, r)
	case r.Err != nil:
		c.toPeople(r.Err)
		b.table.row(r.Number, none, none, none, r.Err.Error())
	case r.GlobalSeq == 0:
		b.table.row(r.Number, none, none, none, result)
	default:
		b.table.row(r.Number, r.GlobalSeq, r.BatchSeq, joinInts(r.Minted), result)
	}
	b.last = r.Number
	if b.last-b.written >= ledger.MaxBatch || !r.More && (b.again == nil || c.json()) {
		return b.flush(c)
	}
	return nil
}

// addJSON shows a result as NDJSON, or as an entry of one object like the response of
// /v1/commit/batch.
func (b *batch) addJSON(c *call, r *client.Answered) {
	switch b.text = b.text[:0]; {
	case c.ndjson():
		b.text = append(append(b.text, `{"`...), b.column...)
		b.text = strconv.AppendInt(append(b.text, `":`...), int64(r.Number), 10)
		b.text = append(append(append(b.text, ','), r.Raw[1:]...), '\n')
	case b.last == 0:
		b.text = append(append(b.text, `{"results":[`...), r.Raw...)
	default:
		b.text = append(append(b.text, ','), r.Raw...)
	}
	c.raw(b.text)
}

// end completes the JSON output, and writes the results that are still buffered.
func (b *batch) end(c *call) {
	if c.json() && !c.ndjson() && b.last > 0 {
		c.raw([]byte("]}\n"))
	}
	if err := b.flush(c); err != nil {
		b.halt(err)
	}
}

// flush writes the buffered results.
func (b *batch) flush(c *call) error {
	if !c.json() {
		b.table.flush()
	}
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("not all results from line %d on could be written: %w", b.written+1, err)
	}
	b.written = b.last
	if b.shown.due() {
		b.shown.say("%s", b.progress(b.shown.elapsed()))
	}
	return nil
}

// progress describes how far the batch has got: 25%, 1000 lines, 1000/s, 3s left.
func (b *batch) progress(took time.Duration) string {
	text := count(b.last, "line")
	if b.refused > 0 {
		text += fmt.Sprintf(", %d rejected", b.refused)
	}
	if took > 0 {
		text += fmt.Sprintf(", %.0f/s", float64(b.last)/took.Seconds())
	}
	if b.size > 0 {
		at, _ := b.again.Seek(0, io.SeekCurrent)
		at = min(max(at, 1), b.size) // the file may have grown
		text = fmt.Sprintf("%d%%, %s, %v left", 100*at/b.size, text, left(took, at, b.size))
	}
	return text
}

// untilSignal returns a context that the first SIGINT or SIGTERM cancels. Its cause is
// the error to exit with. A second signal kills the process. Signals that were ignored
// at the start, for example because of nohup or &, stay ignored.
func untilSignal(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, halt := context.WithCancelCause(ctx)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			arrived, stop := signal.NotifyContext(ctx, s)
			context.AfterFunc(arrived, func() {
				stop()
				halt(exitf(128+int(s), "stopped by a signal (%v)", s))
			})
		}
	}
	return ctx, halt
}

// halted returns the error for a batch that ended early. No line may be in flight.
func (b *batch) halted(why error) error {
	known := "no line was executed"
	if b.last > 0 {
		known = fmt.Sprintf("lines 1 to %d have a result: %s; no later line was executed", b.last, b.done())
	}
	return exitf(exitCode(why), "%v; %s", why, known)
}
