package ctl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"assetledger/ledger"
)

var batchCommand = command{
	Words:   "batch",
	Purpose: "submit many transactions, each on its own: the fast way",
	Notes: "The file is the body of /v1/commit/batch, or one transaction a line; lines are sent in order, as many to a\n" +
		"request as it may have. Give each transaction an idempotency_key to be able to run the batch again.\n" +
		"The exit code is 3 if any transaction was refused.",
	Examples: [2]string{"batch -f transactions.ndjson -on-error stop", "batch -f - -o json < batch.json"},
	Setup: func(set *flag.FlagSet) action {
		b := &batch{onError: choice{of: []string{"continue", "stop"}}}
		set.StringVar(&b.file, "f", "", "batch, or transactions one a line, in `FILE`, - for standard input")
		set.Var(&b.onError, "on-error", "`WHAT` to do after a refusal: continue (as the ledger does unless told), or stop")
		return b.run
	},
}

// Limits of one batch request made from lines: the ledger takes 64 MiB.
const (
	maxBatchBytes = 60 << 20
	maxLine       = 16 << 20
)

type batch struct {
	file    string
	onError choice

	table     *table
	sent      int // transactions answered
	refused   int
	committed int
}

func (b *batch) run(c *call) error {
	if b.file == "" {
		return usagef("there is no batch: give it with -f FILE, or -f - for standard input")
	}
	in, closeInput, err := c.openInput(b.file)
	if err != nil {
		return err
	}
	defer closeInput()
	b.table = newTable(c.out, numeric("n"), numeric("global_seq"), numeric("batch_seq"), text("minted"), text("result"))
	lines := bufio.NewReaderSize(in, 64<<10)
	first, err := b.readLine(lines)
	if err != nil && err != io.EOF {
		return err
	}
	if isTransaction(first) {
		err = b.sendLines(c, lines, first)
	} else {
		err = b.sendWhole(c, lines, first)
	}
	if err != nil {
		return err
	}
	if b.refused > 0 {
		return exitf(exitRefused, "%d of %s failed", b.refused, count(b.sent, "transaction"))
	}
	return nil
}

// isTransaction says whether the first line of the input is a whole
// transaction, so that the others are too.
func isTransaction(line []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(line, &fields) == nil && fields != nil && fields["transactions"] == nil
}

// readLine returns the next line that is not blank, without its end; io.EOF
// when there is none.
func (b *batch) readLine(in *bufio.Reader) ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := in.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > maxLine {
				return nil, usagef("a line of %s is longer than %d bytes", b.file, maxLine)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && err != io.EOF {
				return nil, fmt.Errorf("cannot read %s: %w", b.file, err)
			}
			if line = bytes.TrimSpace(line); len(line) > 0 {
				return line, nil
			}
			if err == io.EOF {
				return nil, io.EOF
			}
			break
		}
	}
}

// sendLines sends first and the lines after it, each a transaction.
func (b *batch) sendLines(c *call, in *bufio.Reader, first []byte) error {
	const opening = `{"transactions":[`
	body, n, read := []byte(opening), 0, 0
	send := func() error {
		body = append(body, ']')
		if b.onError.value != "" {
			body = fmt.Appendf(body, `,"on_error":%q`, b.onError.value)
		}
		err := b.send(c, append(body, '}'))
		body, n = append(body[:0], opening...), 0
		return err
	}
	var err error
	for line := first; err == nil; line, err = b.readLine(in) {
		read++
		if !json.Valid(line) {
			return usagef("transaction %d of %s is not JSON; %s before it", read, b.file, b.done())
		}
		if n == ledger.MaxBatch || n > 0 && len(body)+len(line) > maxBatchBytes {
			if err := send(); err != nil || b.stopped() {
				return err
			}
		}
		if n > 0 {
			body = append(body, ',')
		}
		body = append(body, line...)
		n++
	}
	if err != io.EOF {
		return err
	}
	return send()
}

// sendWhole sends the input as it is: the body of a batch request.
func (b *batch) sendWhole(c *call, in *bufio.Reader, first []byte) error {
	rest, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", b.file, err)
	}
	body := append(append(first, '\n'), rest...)
	if len(body) > maxInput {
		return usagef("%s is larger than %d bytes: give it as one transaction a line", b.file, maxInput)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return usagef("%s is empty", b.file)
	}
	if b.onError.value != "" {
		if body, err = withOnError(body, b.onError.value); err != nil {
			return err
		}
	}
	return b.send(c, body)
}

// withOnError adds on_error to a batch that does not have it.
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

// stopped says whether what has not been sent shall not be.
func (b *batch) stopped() bool { return b.onError.value == "stop" && b.refused > 0 }

// done says what became of the transactions so far.
func (b *batch) done() string {
	return fmt.Sprintf("%d committed and %d failed", b.committed, b.refused)
}

// send sends one request and shows its results.
func (b *batch) send(c *call, body []byte) error {
	a, err := c.ask(request{method: http.MethodPost, base: c.writeURL, path: "/v1/commit/batch", body: body})
	var silent *noAnswer
	if errors.As(err, &silent) && !silent.neverSent() {
		return exitf(exitSilent, "%v; %s before, and of the rest it is not known: run again those that have an idempotency_key", err, b.done())
	}
	if err != nil {
		return err
	}
	var answer struct {
		Results []batchResult `json:"results"`
	}
	if err := a.decode(&answer); err != nil {
		return err
	}
	for i := range answer.Results {
		b.add(&answer.Results[i])
	}
	if c.json() {
		c.showRaw(a)
	} else {
		b.table.flush()
	}
	return c.out.Flush()
}

// batchResult is a commit result or an error.
type batchResult struct {
	commitResult
	Error *apiErrorBody `json:"error"`
}

func (b *batch) add(r *batchResult) {
	b.sent++
	n := strconv.Itoa(b.sent)
	if r.Error != nil {
		b.refused++
		b.table.row(n, "-", "-", "-", r.Error.String())
		return
	}
	b.committed++
	result := "committed"
	if r.Replayed {
		result = "replayed"
	}
	b.table.row(n, strconv.FormatInt(r.GlobalSeq, 10), strconv.FormatInt(r.BatchSeq, 10), joinInts(r.Minted), result)
}
