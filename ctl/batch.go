package ctl

import (
	"bytes"
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
		"-timeout. If a connection breaks, those with a key are sent again, too; the outcome of the others is unknown. If the results\n" +
		"can't be written, or on SIGINT or SIGTERM, nothing more is sent, and the last message says which lines have a result. A\n" +
		"second signal or a closed pipe, such as that of head, ends the command at once, without that message.\n\n" +
		"With -resume you can repeat the same command, however it ended. A line without an idempotency_key\n" +
		"gets one from the file's name (or -name) and the line's number. So a line that was committed is not\n" +
		"committed again. You may correct a rejected line in its place, or leave it empty, and add lines at the end. Don't edit\n" +
		"committed lines, and don't insert or delete lines before them: then the next run ends with exit code 2, and sends nothing.\n" +
		"Use a new name for new work.\n\n" +
		"The command keeps its position in FILE.resume (for standard input NAME.resume, in the current directory): which lines\n" +
		"are committed, which of the last ones may be, checksums of both, and a commit with its key. The next run compares the\n" +
		"file with it before it sends a line. From a pipe, it sends rejected lines again before it notices a change. Keep\n" +
		"FILE.resume until all lines are committed, and then remove it.\n\n" +
		"After a crash of ledgerctl or a broken connection, the lines sent last are recognized by their keys. For that, the\n" +
		"ledger must remember at least 1,000 keys, and more if other clients commit, too: see -idempotency-keys of ledger-write,\n" +
		"whose default is 1,000,000. If it may have forgotten them, the next run ends without sending a line. If the key of\n" +
		"the last commit is forgotten, the next run needs the read daemon, and the scope read, to recognize the ledger.",
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
	first     []byte // the first line, already read
	column    string // header of the first column: lines of a file, or transactions of a batch
	table     *table
	text      []byte // reused buffer
	bar       *bar
	mark      *resumeMark // nil without -resume
	group     group
	ended     error                   // why the input ended
	stopping  context.Context         // done when no more lines are to be sent; its cause says why
	halt      context.CancelCauseFunc // cancels stopping
	written   int                     // the results of all lines up to this one are written
	last      int                     // line or transaction whose result was shown last
	untried   int
	refused   int
	committed int // includes replayed ones
	replayed  int
	doubt     bool // lines that were sent have no result
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
	defer b.bar.clear()
	b.table = c.newTable(b.column, "global_seq", "batch_seq", "minted", "result")
	err := b.sendLines(c)
	b.bar.clear()
	if saved := b.mark.end(b.doubt); saved != nil {
		if err != nil {
			return exitf(exitCode(err), "%v; %v", err, saved)
		}
		return saved
	}
	if err != nil {
		return err
	}
	if flushed := c.out.Flush(); flushed != nil {
		return exitf(exitFailure, "%s; the results could not be written: %v", b.done(), flushed)
	}
	return b.summary(c)
}

// prepare reads the input up to the first line to send. The input stays open until
// ledgerctl ends.
func (b *batch) prepare(c *call) error {
	if err := b.prepareResume(c); err != nil {
		return err
	}
	in, _, err := c.openInput(b.file)
	if err != nil {
		return err
	}
	b.bar = newBar(c.words, in)
	var again io.ReadSeeker // the lines, to read them once more; nil for a pipe
	var start int64
	if b.bar.in != nil {
		again = in.(*os.File)
		start, _ = again.Seek(0, io.SeekCurrent) // of a regular file
	}
	b.in = newLineReader(in, maxLine)
	b.first, err = firstLine(b.in)
	if err == io.EOF {
		return usagef("%s is empty", b.file)
	}
	if err != nil {
		return b.unreadable(err)
	}
	b.column = "line"
	if beginsBody(b.first) {
		b.column = "n"
		text, err := b.unpack(io.MultiReader(bytes.NewReader(b.first), strings.NewReader("\n"), b.in.in))
		if err != nil {
			return err
		}
		again, start, b.in, b.first = bytes.NewReader(text), 0, newLineReader(bytes.NewReader(text), maxInput), nil
	}
	return b.verify(again, start)
}

// summary returns the error if lines were rejected. On a terminal it also reports success.
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
		c.say("%s committed in %v%s", count(b.committed, "transaction"), b.bar.elapsed(), &note)
	}
	return nil
}

// firstLine returns the first line that is not blank, or io.EOF if there is none.
func firstLine(lines *lineReader) ([]byte, error) {
	for {
		line, err := lines.next()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// beginsBody reports whether the first line begins the body of a batch request, which
// may have many lines. Otherwise the line is a transaction, complete or cut short.
func beginsBody(line []byte) bool {
	var fields map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(line)).Decode(&fields) == io.ErrUnexpectedEOF {
		return line[0] == '{' && (bytes.Contains(line, []byte(`"transactions"`)) || !bytes.Contains(line, []byte(`"operations"`)))
	}
	return fields["transactions"] != nil || fields["on_error"] != nil
}

// unpack returns the transactions of the body of a batch request as lines.
func (b *batch) unpack(in io.Reader) ([]byte, error) {
	body, err := readWhole(in, b.file, ": give it as one transaction per line")
	if err != nil {
		return nil, err
	}
	fields, err := bodyFields(body)
	if err != nil {
		return nil, usagef("%s is not a batch: %v", b.file, err)
	}
	var transactions []json.RawMessage
	if err := json.Unmarshal(fields["transactions"], &transactions); err != nil || len(transactions) == 0 {
		return nil, usagef("%s has no transactions: give an array with at least one", b.file)
	}
	if text := fields["on_error"]; text != nil {
		var mode string
		if b.onError.value != "" {
			return nil, usagef("the batch has its own on_error: omit -on-error")
		}
		if json.Unmarshal(text, &mode) != nil || b.onError.Set(mode) != nil {
			return nil, usagef("on_error of %s is %.100s, and must be continue or stop", b.file, text)
		}
	}
	var text bytes.Buffer
	for _, tx := range transactions {
		json.Compact(&text, tx)
		text.WriteByte('\n')
	}
	return text.Bytes(), nil
}

// bodyFields returns the fields of the body of a batch request. Repeated and unknown
// fields are errors.
func bodyFields(body []byte) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	err := eachField(body, func(name string, value json.RawMessage) error {
		switch {
		case name != "transactions" && name != "on_error":
			return fmt.Errorf("it has an unknown field %.100q", name)
		case fields[name] != nil:
			return fmt.Errorf("it has %s twice", name)
		}
		fields[name] = value
		return nil
	})
	return fields, err
}

func (b *batch) unreadable(err error) error {
	if errors.Is(err, errLongLine) {
		return usagef("line %d of %s is longer than %d bytes; %s before it", b.in.number, b.file, maxLine, b.done())
	}
	if errors.Is(err, errChanged) {
		n, known := b.mark.earlier.Answered, b.done()
		if b.last == 0 {
			known = noneExecuted
		}
		return usagef("lines 1 to %d of %s differ from those that earlier runs committed: correct a rejected line in its place, or leave it empty; "+
			"don't edit committed lines, and don't insert or delete lines before line %d; use a new file name or -name for new work; %s", n, b.file, n+1, known)
	}
	return fmt.Errorf("cannot read %s: %w; %s before that", b.file, err, b.done())
}

func (b *batch) stopped() bool { return b.onError.value == "stop" && b.refused > 0 }

func (b *batch) done() string {
	return fmt.Sprintf("%d committed and %d failed", b.committed, b.refused)
}

// Advice about lines whose outcome is unknown.
const (
	againAll   = "run the same command again; nothing is committed twice"
	againKeyed = "send again those that have an idempotency_key"
)

// unanswered adds to an error what is known about the transactions. what names the
// transactions whose outcome is unknown ("": none), and next says what to do.
func (b *batch) unanswered(err error, what, next string) error {
	switch {
	case what == "" && b.committed+b.refused == 0:
		return err
	case what == "":
		return exitf(exitCode(err), "%v; %s before that", err, b.done())
	}
	return exitf(max(exitSilent, exitCode(err)), "%v; %s before, and the outcome of %s is unknown: %s", err, b.done(), what, next)
}

func (b *batch) add(c *call, n int, r *client.Verdict, raw []byte) {
	b.last = n
	if c.ndjson() {
		b.text = append(append(b.text[:0], `{"`...), b.column...)
		b.text = strconv.AppendInt(append(b.text, `":`...), int64(n), 10)
		b.text = append(append(append(b.text, ','), raw[1:]...), '\n')
		c.raw(b.text)
	}
	switch {
	case r.Err == nil && r.Replayed:
		b.replayed++
		fallthrough
	case r.Err == nil:
		b.committed++
	case r.Err.Code == string(ledger.NotAttempted):
		b.untried++
	default:
		b.refused++
	}
	if !c.json() {
		b.row(c, n, r)
	}
}

func (b *batch) row(c *call, n int, r *client.Verdict) {
	if r.Err != nil {
		c.toPeople(r.Err)
		b.table.row(n, "-", "-", "-", r.Err.Error())
		return
	}
	result := "committed"
	if r.Replayed {
		result = "replayed"
	}
	b.table.row(n, r.GlobalSeq, r.BatchSeq, joinInts(r.Minted), result)
}

// untilSignal returns a context that the first SIGINT or SIGTERM cancels. Its cause is
// the error to exit with. A second signal kills the process. Signals that were ignored
// at the start, such as by nohup or &, stay ignored.
func untilSignal(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, halt := context.WithCancelCause(ctx)
	arrived := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	go func() {
		defer signal.Stop(arrived)
		select {
		case s := <-arrived:
			halt(exitf(128+int(s.(syscall.Signal)), "stopped by a signal (%v)", s))
		case <-ctx.Done():
		}
	}()
	return ctx, halt
}

// flush writes the buffered results. whole says that they include all results up to line last.
func (b *batch) flush(c *call, last int, whole bool) error {
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("not all results from line %d on could be written: %w", b.written+1, err)
	}
	if whole {
		b.written = last
	}
	return nil
}

const noneExecuted = "no line was executed"

// halted returns the error for a stopped batch. No line may be in flight.
func (b *batch) halted(why error) error {
	known := noneExecuted
	if b.last > 0 {
		known = fmt.Sprintf("lines 1 to %d have a result: %s; no later line was executed", b.last, b.done())
	}
	return exitf(exitCode(why), "%v; %s", why, known)
}
