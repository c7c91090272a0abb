package ctl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

const operationArgs = "[FILE|OPERATION]…"

var commitCommand = command{
	Words:   "commit",
	Args:    operationArgs,
	Purpose: "submit a transaction: all of its operations, or none",
	Notes: "An operation is its name, then argument=value for each argument. Separate several operations with +. FILE, or -\n" +
		"for standard input, is the transaction as JSON; a file name without a dot or slash needs -f.\n\n" +
		"The command returns when the commit is on stable storage. With a key, it retries after a lost connection or a\n" +
		"response with a status of 500 or more, until -timeout. Without a key, it does not retry.",
	Examples: [2]string{
		"commit -key order-17 TransferFungible from_container=users/42 to_container=shop class_id=EUR key=0 quantity=2550",
		"commit transaction.json -o json",
	},
	Setup: setup((*txFlags).run),
}

var preflightCommand = command{
	Words:   "preflight",
	Args:    operationArgs,
	Purpose: "check whether a transaction would be accepted, without changing anything",
	Notes:   "The transaction is checked against the ledger as it is now, which may change before you commit.",
	Examples: [2]string{
		"preflight RemoveFungible container_id=users/42 class_id=EUR key=0 quantity=5",
		"preflight transaction.json && ledgerctl commit transaction.json",
	},
	Setup: func(set *flag.FlagSet) action {
		t := &txFlags{dryRun: true}
		t.declare(set)
		return t.run
	},
}

var reverseCommand = command{
	Words:   "reverse",
	Args:    "GLOBAL_SEQ",
	Purpose: "reverse a commit by a new commit with the inverse operations",
	Notes: "GLOBAL_SEQ is the number of the commit: see its result, or statement, history and read commits.\n" +
		"The reversal is rejected if the commit can no longer be undone, such as a payment that was spent, or if it settled\n" +
		"a hold: then transfer the amount back. If there is a read daemon, the output also has the operations of the new commit.",
	Examples: [2]string{"reverse 17 -dry-run", "reverse 17 -key undo-17 -metadata '{\"why\":\"paid twice\"}'"},
	Setup: func(set *flag.FlagSet) action {
		t := &txFlags{}
		t.declareForVerb(set)
		return t.reverse
	},
}

func (t *txFlags) run(c *call) error {
	body, err := t.body(c)
	if err != nil {
		return err
	}
	return t.send(c, "/v1/commit", body)
}

func (t *txFlags) reverse(c *call) error {
	seq, err := c.ref(0, "GLOBAL_SEQ")
	if err != nil {
		return err
	}
	body, err := t.appendMetadata([]byte("{"), "")
	if err != nil {
		return err
	}
	return t.send(c, "/v1/commit/"+seq+"/reverse", append(body, '}'))
}

// send commits a transaction or, in a dry run, checks it.
func (t *txFlags) send(c *call, path string, body []byte) error {
	r := request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body, Key: t.key}
	var result commitResult
	if t.dryRun {
		r.Path += "/preflight"
		a, err := c.ask(r)
		if err == nil {
			err = a.decode(&result)
		}
		if err == nil && !result.Valid { // a rejection has another status
			err = a.lacks("valid")
		}
		if err != nil {
			return err
		}
		return result.show(c, a)
	}
	keyed := t.key != "" || keyOf(body) != ""
	a, err := c.submit(r, keyed)
	if err != nil {
		return err
	}
	if err := a.decode(&result); err != nil || result.GlobalSeq < 1 {
		return mayBeCommitted(fmt.Errorf("the response of %s is not a commit result", a.URL), keyed)
	}
	signal.Ignore(syscall.SIGPIPE) // report the outcome even if nobody reads standard output any more
	if strings.HasSuffix(path, "/reverse") && !c.json() {
		var made commitResult
		c.readCommit(result.GlobalSeq, &made) // an error means that no operations are shown
		result.Operations = made.Operations
	}
	if err := cmp.Or(result.show(c, a), c.out.Flush()); err != nil {
		return exitf(exitFailure, "the transaction was committed: its global_seq is %d; the result could not be written: %v", result.GlobalSeq, err)
	}
	return nil
}

// A commitResult is the result of a commit or of a preflight.
type commitResult struct {
	client.Result
	Class      entry       `json:"class"` // set for a registration of a class
	Valid      bool        // set for a preflight
	AtSeq      int64       `json:"at_seq"`
	Operations []operation // those of a reversal
}

func (r *commitResult) show(c *call, a *answer) (err error) {
	if c.json() {
		c.showRaw(a)
		return nil
	}
	if len(r.Operations) > 0 {
		if c.made, err = c.wordsOfAll(r.Operations); err != nil && r.Valid {
			return err
		}
	}
	t := c.newTable()
	for _, words := range c.made {
		t.row("operation", words)
	}
	row := func(shown bool, name string, value any) {
		if shown {
			t.row(name, value)
		}
	}
	key := keyOf(r.Metadata)
	_, metadata, _ := partMetadata(r.Metadata)
	row(r.Valid, "valid", "yes")
	row(r.Valid, "at_seq", r.AtSeq)
	row(!r.Valid, "global_seq", r.GlobalSeq)
	row(!r.Valid, "batch_seq", r.BatchSeq)
	row(r.Class["code"] != nil, "class_id", string(r.Class["class_id"]))
	row(len(r.Minted) > 0, "minted_instances", joinInts(r.Minted))
	row(key != "", "idempotency_key", key)
	row(metadata != nil, "metadata", string(metadata))
	row(a.Header.Get("X-Asset-Idempotency") == "hit", "replayed", "yes: this key was committed before")
	t.flush()
	return nil
}

// readCommit decodes a commit into v.
func (c *call) readCommit(seq int64, v any) error {
	n := strconv.FormatInt(seq, 10)
	return c.read("/v1/read/commit/"+n, url.Values{"min_seq": {n}}, v)
}

func (c *call) wordsOfAll(operations []operation) ([]string, error) {
	list := make([]string, len(operations))
	for i := range operations {
		var err error
		if list[i], err = c.wordsOf(&operations[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// joinInts returns the integers, separated by spaces, or "-" if there are none.
func joinInts(values []int64) string {
	return cmp.Or(strings.Trim(fmt.Sprint(values), "[]"), none)
}

// submit sends a commit. With an idempotency key, in the header or in the body, it
// retries until the timeout if there is no response or its status is 500 or more. The
// key ensures that the commit takes effect once. Without a key it makes only one
// attempt, because a request without a response may have taken effect.
func (c *call) submit(r request, keyed bool) (*answer, error) {
	tries := 1
	if keyed {
		tries = client.MaxTries
	}
	a, unknown, err := c.insist(r, tries, sameKey)
	if err == nil {
		err = c.refusal(a)
	}
	if unknown && err != nil && exitCode(err) != exitRefused {
		err = mayBeCommitted(err, keyed)
	}
	return a, err
}

// insist sends a request at most n times, until the timeout. If the request failed, unknown
// reports whether it may have taken effect. Before the first retry, insist shows the reason
// and the text of `saying`.
func (c *call) insist(r request, n int, saying string) (a *answer, unknown bool, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	sent, unknown, err := c.api.Submit(ctx, r, n, c.again(saying))
	a, err = received(sent, err)
	return a, unknown, err
}

const sameKey = "retrying with the same key"

func (c *call) again(saying string) func(why error) {
	return func(why error) { c.say("%v; %s", inWords(why), saying) }
}

func mayBeCommitted(err error, keyed bool) error {
	if keyed {
		return exitf(exitSilent, "%v; it is unknown whether it was committed: run the command again with the same key", err)
	}
	return exitf(exitSilent, "%v; it is unknown whether it was committed: "+
		"look with ledgerctl read commits; next time use -key, so that you can safely repeat the command", err)
}

// maxInput is the maximum size of an input that is read as a whole, in bytes. It is the
// write daemon's default for the maximum size of a batch request.
const maxInput = 64 << 20

type opFlags []string

func (o *opFlags) Set(s string) error { *o = append(*o, s); return nil }
func (o *opFlags) String() string     { return strings.Join(*o, "; ") }
func (o *opFlags) Repeatable()        {}

type txFlags struct {
	file, key, metadata string
	ops                 opFlags
	dryRun              bool
}

func (t *txFlags) declare(set *flag.FlagSet) {
	set.StringVar(&t.file, "f", "", "the same as the word `FILE`")
	set.Var(&t.ops, "op", "one operation as `WORDS`: 'Name argument=value …'; repeatable")
	t.declareCommon(set)
}

// declareForVerb declares the flags of a command that makes the operations itself.
func (t *txFlags) declareForVerb(set *flag.FlagSet) {
	set.BoolVar(&t.dryRun, "dry-run", false, "show the operations and whether they would be accepted, without changing anything")
	t.declareCommon(set)
}

func (t *txFlags) declareCommon(set *flag.FlagSet) {
	set.StringVar(&t.metadata, "metadata", "", "`JSON` object to store with the commit")
	set.Func("key", "idempotency `KEY`: a command repeated with the same key commits once", func(s string) error {
		if !ledger.ValidIdempotencyKey(s) || s != strings.TrimSpace(s) { // it must fit into a header
			return fmt.Errorf("it must be 1 to %d bytes of printable ASCII, without a space at either end", ledger.MaxKeyLength)
		}
		t.key = s
		return nil
	})
}

// body returns the transaction as JSON: the contents of the file, or JSON built from words.
func (t *txFlags) body(c *call) ([]byte, error) {
	words := c.args
	if len(words) == 1 && (words[0] == "-" || strings.ContainsAny(words[0], "./")) && (t.file == "" || t.file == words[0]) {
		t.file, words = words[0], nil // names of operations have neither . nor /
	}
	switch {
	case t.file != "" && len(t.ops)+len(words) > 0, len(t.ops) > 0 && len(words) > 0:
		return nil, usagef("-f, -op and operations in words are three ways to give a transaction: use one")
	case t.file != "" && t.metadata != "":
		return nil, usagef("-metadata is only for operations in words: with a file, put the metadata into the transaction")
	case t.file != "":
		return c.readInput(t.file)
	case len(t.ops)+len(words) > 0:
		return t.bodyOfWords(words)
	}
	return nil, usagef("no transaction was given: give operations in words, a FILE, or - for standard input")
}

// nearerOp returns err, or a more helpful error if the words begin with a name that no
// operation has.
func nearerOp(words string, err error) error {
	name, _, _ := strings.Cut(strings.TrimSpace(words), " ")
	if slices.ContainsFunc(verbs, func(v verb) bool { return v.word == name }) {
		return fmt.Errorf("there is no operation named %q: ledgerctl %s is a command", name, name)
	}
	names := wordsIn(opNames())
	if name == "" || slices.Contains(names, name) {
		return err
	}
	return fmt.Errorf("there is no operation named %q%s", name, cmp.Or(didYouMean(name, names), "; ledgerctl help ops lists them"))
}

// bodyOfWords builds a transaction from -op, or from words with + between operations.
func (t *txFlags) bodyOfWords(words []string) ([]byte, error) {
	var ops []ledger.Op
	for _, text := range t.ops {
		op, err := ledger.ParseOpWords(text)
		if err != nil {
			return nil, usagef("-op %q: %v", text, nearerOp(text, err))
		}
		ops = append(ops, op)
	}
	for rest := append(words, "+"); len(words) > 0 && len(rest) > 0; {
		end := slices.Index(rest, "+")
		op, err := ledger.ParseOpList(rest[:end])
		if err != nil {
			return nil, usagef("%v", nearerOp(strings.Join(rest[:end], " "), err))
		}
		ops, rest = append(ops, op), rest[end+1:]
	}
	return t.bodyOf(ops)
}

func (t *txFlags) bodyOf(ops []ledger.Op) ([]byte, error) {
	body, err := t.appendMetadata(ledger.AppendOperations([]byte(`{"operations":`), ops), ",")
	return append(body, '}'), err
}

// appendMetadata appends the separator and the field metadata, if -metadata was given.
func (t *txFlags) appendMetadata(body []byte, separator string) ([]byte, error) {
	if t.metadata == "" {
		return body, nil
	}
	if !json.Valid([]byte(t.metadata)) {
		return nil, usagef("-metadata is not JSON: %s", t.metadata)
	}
	return append(append(append(body, separator...), `"metadata":`...), t.metadata...), nil
}

// keyOf returns the idempotency key in a transaction or in the metadata of a commit, or "" if there is none.
func keyOf(object []byte) string {
	var fields struct {
		Key string `json:"idempotency_key"`
	}
	json.Unmarshal(object, &fields) // an error means that there is no key
	return fields.Key
}

func (c *call) readInput(name string) ([]byte, error) {
	in, err := c.openInput(name)
	if err != nil {
		return nil, err
	}
	return readWhole(in, name, "")
}

// readWhole reads an input of at most maxInput bytes. The error for a larger one ends with
// the advice in `instead`.
func readWhole(in io.Reader, name, instead string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, usagef("%s is larger than %d bytes%s", name, maxInput, instead)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, usagef("%s is empty", name)
	}
	return data, nil
}

// openInput opens a file, or standard input for "-". It stays open until ledgerctl ends.
func (c *call) openInput(name string) (io.Reader, error) {
	if name == "-" {
		return c.in, nil
	}
	return os.Open(name)
}
