package ctl

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
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
	Purpose: "submit many transactions, each on its own: the fast way",
	Notes: "FILE, or - for standard input, is NDJSON, one transaction a line and as long as it may be, or the body of /v1/commit/batch. A line\n" +
		"may also be one operation in words, as -op of commit takes it. Lines are sent in order, in one stream of\n" +
		"commits, and each gives a line of results. From a pipe, a line is sent at once and its result is shown when\n" +
		"it is durable. The exit code is 3 if any transaction was refused.\n\n" +
		"If the daemon stops or another one takes over, the lines that were not carried out are sent again until\n" +
		"-timeout. If a connection breaks, so are those with a key; of the others the outcome is unknown. If the results\n" +
		"can't be written, or at SIGINT or SIGTERM, nothing more is sent, and the end says which lines have a result. A\n" +
		"second signal ends it at once, as does a pipe that nobody reads, such as that of head: then it is not said.\n\n" +
		"With -resume the same command can be run again, after whatever ended it: a line without an idempotency_key\n" +
		"gets one made of the file's name (or -name) and the line's number, so a line that was committed is not\n" +
		"committed again, and one that was refused may be mended first. Use a new name for new work. The ledger\n" +
		"remembers the last 1,000,000 keys; for files of more than half of that the lines done are kept in FILE.resume.",
	Examples: [2]string{"batch transactions.ndjson -on-error stop", "batch transactions.ndjson -resume -o ndjson"},
	Setup: func(set *flag.FlagSet) action {
		b := &batch{onError: choice{of: []string{"continue", "stop"}}}
		set.StringVar(&b.file, "f", "", "the same as the word `FILE`; - is standard input")
		set.Var(&b.onError, "on-error", "`WHAT` to do after a refusal: continue (as the ledger does unless told), or stop")
		set.BoolVar(&b.resume, "resume", false, "give each line a key of its own, so that the command is safe to repeat")
		set.StringVar(&b.name, "name", "", "`NAME` of this work in the keys of -resume; needed for standard input")
		return b.run
	},
}

type batch struct {
	file, name string
	onError    choice
	resume     bool

	column    string // what counts the results: lines of a file, or transactions of a batch
	table     *table
	text      []byte // reused
	bar       *bar
	mark      *resumeMark // nil without -resume
	group     group
	ended     error                   // why the input ended
	stopping  context.Context         // of lines: done when no more are to be sent, and why
	halt      context.CancelCauseFunc // ends it
	written   int                     // every line up to this one has its result written
	last      int                     // line or transaction whose result was shown last
	untried   int
	refused   int
	committed int // replayed ones too
	replayed  int
}

func (b *batch) run(c *call) error {
	if b.file == "" {
		return usagef("there is no batch: give a FILE, or - for standard input")
	}
	if err := b.prepareResume(c); err != nil {
		return err
	}
	in, closeInput, err := c.openInput(b.file)
	if err != nil {
		return err
	}
	defer closeInput()
	b.bar = newBar(c.words, in)
	defer b.bar.clear()
	lines := &lineReader{in: bufio.NewReaderSize(in, 64<<10), most: maxLine}
	first, err := firstLine(lines)
	if err != nil && err != io.EOF {
		return b.unreadable(lines, err)
	}
	b.column = "n"
	if isTransaction(first) {
		b.column = "line"
	}
	b.table = c.newTable(numeric(b.column), numeric("global_seq"), numeric("batch_seq"), text("minted"), text("result"))
	switch {
	case b.column == "line":
		err = b.sendLines(c, lines, first)
	case b.resume:
		return usagef("-resume goes line by line: give %s as one transaction a line", b.file)
	default:
		err = b.sendWhole(c, lines.in, first)
	}
	b.bar.clear()
	if err != nil {
		return err
	}
	if flushed := c.out.Flush(); flushed != nil {
		return exitf(exitFailure, "%s; the results could not be written: %v", b.done(), flushed)
	}
	return b.summary(c)
}

// summary returns the error for rejected lines. On a terminal it reports success too.
func (b *batch) summary(c *call) error {
	var note strings.Builder
	if b.untried > 0 {
		fmt.Fprintf(&note, ", and %d after it not tried", b.untried)
	}
	if b.stopped() && b.column == "line" {
		fmt.Fprintf(&note, "; nothing after line %d was sent", b.last)
	}
	if b.replayed > 0 {
		fmt.Fprintf(&note, "; %d had been committed before", b.replayed)
	}
	if b.refused > 0 {
		return exitf(exitRefused, "%d of %s failed%s", b.refused, count(b.committed+b.refused, "transaction"), &note)
	}
	if isTerminal(c.words) {
		c.say("%s committed in %v%s", count(b.committed, "transaction"), b.bar.elapsed(), &note)
	}
	return nil
}

// firstLine returns the first line that is not blank; io.EOF when there is none.
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

// isTransaction reports whether each line is, or is meant to be, a transaction, as the
// first one tells. Otherwise it begins the body of a batch, perhaps of many lines.
func isTransaction(line []byte) bool {
	in := json.NewDecoder(bytes.NewReader(line))
	if opening, err := in.Token(); err != nil || opening != json.Delim('{') {
		return len(line) > 0 // no object: that line is refused alone
	}
	for {
		name, err := in.Token()
		switch {
		case name == "transactions" || name == "on_error":
			return false
		case name == json.Delim('}'):
			return true
		case err != nil:
			return !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
		case name == "operations" || name == "idempotency_key" || name == "metadata":
			return true
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return true
		}
	}
}

func (b *batch) unreadable(lines *lineReader, err error) error {
	if errors.Is(err, errLongLine) {
		return usagef("line %d of %s is longer than %d bytes; %s before it", lines.number, b.file, maxLine, b.done())
	}
	return fmt.Errorf("cannot read %s: %w; %s before that", b.file, err, b.done())
}

func (b *batch) sendWhole(c *call, in io.Reader, first []byte) error {
	body, err := readWhole(io.MultiReader(bytes.NewReader(first), strings.NewReader("\n"), in), b.file, ": give it as one transaction a line")
	if err != nil {
		return err
	}
	if b.onError.value != "" {
		if body, err = withOnError(body, b.onError.value); err != nil {
			return err
		}
	}
	a, err := c.ask(request{Method: http.MethodPost, Base: c.writeURL, Path: "/v1/commit/batch", Body: body})
	if err != nil {
		what := "of the batch"
		if silent, ok := errors.AsType[*noAnswer](err); !ok || silent.NeverSent() {
			what = ""
		}
		return b.unanswered(err, what, againKeyed)
	}
	return b.show(c, a)
}

func withOnError(body []byte, value string) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, usagef("the batch is not a JSON object: %v", err)
	}
	if fields["on_error"] != nil {
		return nil, usagef("the batch has its own on_error: leave out -on-error")
	}
	end := bytes.LastIndexByte(body, '}')
	comma := ","
	if len(fields) == 0 {
		comma = ""
	}
	return fmt.Appendf(body[:end:end], `%s"on_error":%q}`, comma, value), nil
}

func (b *batch) stopped() bool { return b.onError.value == "stop" && b.refused > 0 }

func (b *batch) done() string {
	return fmt.Sprintf("%d committed and %d failed", b.committed, b.refused)
}

// What to do about lines whose outcome is unknown.
const (
	againAll   = "run the same command again, which commits none twice"
	againKeyed = "run again those that have an idempotency_key"
)

// unanswered adds to an error what is known about the transactions. what names those
// whose outcome is unknown ("": none), and next what to do.
func (b *batch) unanswered(err error, what, next string) error {
	switch {
	case what == "" && b.committed+b.refused == 0:
		return err
	case what == "":
		return exitf(exitCode(err), "%v; %s before that", err, b.done())
	}
	return exitf(max(exitSilent, exitCode(err)), "%v; %s before, and %s it is not known: %s", err, b.done(), what, next)
}

// unclear adds what is known to the error for a response that is not a result.
func (b *batch) unclear(err error) error {
	return exitf(exitSilent, "%v; %s before; whether the others were committed is not known", err, b.done())
}

func (b *batch) show(c *call, a *answer) error {
	var answer struct{ Results []json.RawMessage }
	if err := a.decode(&answer); err != nil {
		return b.unclear(err)
	}
	b.bar.clear()
	for i, raw := range answer.Results {
		var r client.Verdict
		if err := client.ParseVerdict(raw, &r); err != nil {
			return b.unclear(fmt.Errorf("result %d of %s is none: %.200s", i, a.URL, raw))
		}
		b.add(c, i+1, &r, raw)
	}
	if c.json() && !c.ndjson() {
		c.showRaw(a)
	}
	if !c.json() {
		b.table.flush()
	}
	return nil
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

// untilSignal returns a context that the first SIGINT or SIGTERM ends, with the
// error to end with as its cause. A second signal kills the process. A signal that is
// ignored, as nohup and & have it, stays so.
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

// flush writes the results shown so far: with whole, all up to the last line.
func (b *batch) flush(c *call, last int, whole bool) error {
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("not all results from line %d on could be written: %w", b.written+1, err)
	}
	if whole {
		b.written = last
	}
	return nil
}

// halted returns the error of a stopped batch, once no line is in flight.
func (b *batch) halted(why error) error {
	known := "no line was carried out"
	if b.last > 0 {
		known = fmt.Sprintf("lines 1 to %d have a result: %s; no later line was carried out", b.last, b.done())
	}
	return exitf(exitCode(why), "%v; %s", why, known)
}
