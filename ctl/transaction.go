package ctl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"assetledger/ledger"
)

// maxInput is the write daemon's default for the maximum size of a request, in bytes.
const maxInput = 64 << 20

type opFlags []string

func (o *opFlags) Set(s string) error { *o = append(*o, s); return nil }
func (o *opFlags) String() string     { return strings.Join(*o, "; ") }

type txFlags struct {
	file     string
	ops      opFlags
	key      string
	metadata string
}

func (t *txFlags) declare(set *flag.FlagSet) {
	set.StringVar(&t.file, "f", "", "the same as the word `FILE`")
	set.Var(&t.ops, "op", "one operation as `WORDS`: 'Name argument=value …'; repeatable")
	set.StringVar(&t.metadata, "metadata", "", "`JSON` object to store with the commit")
	declareKey(set, &t.key)
}

func declareKey(set *flag.FlagSet, key *string) {
	set.StringVar(key, "key", "", "idempotency `KEY`: a command repeated with the same key commits once")
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

// nearerOp returns err, or an error that suggests the name of an operation.
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
	for more := len(words) > 0; more; {
		n := slices.Index(words, "+")
		more = n >= 0
		if !more {
			n = len(words)
		}
		op, err := ledger.ParseOpList(words[:n])
		if err != nil {
			return nil, usagef("%v", nearerOp(strings.Join(words[:n], " "), err))
		}
		ops, words = append(ops, op), words[min(n+1, len(words)):]
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

func hasKey(body []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(body, &fields) == nil && fields["idempotency_key"] != nil
}

// checkKey returns an error for a key that can't be sent in a header.
func checkKey(key string) error {
	if len(key) > ledger.MaxKeyLength {
		return usagef("-key has %d bytes, and at most %d are allowed", len(key), ledger.MaxKeyLength)
	}
	for _, b := range []byte(key) {
		if b < ' ' || b > '~' {
			return usagef("-key must be printable ASCII, not %q", key)
		}
	}
	if key != strings.TrimSpace(key) {
		return usagef("-key must not begin or end with a space")
	}
	return nil
}

func (c *call) readInput(name string) ([]byte, error) {
	in, closeInput, err := c.openInput(name)
	if err != nil {
		return nil, err
	}
	defer closeInput()
	return readWhole(in, name, "")
}

// readWhole reads an input of at most maxInput bytes. instead is the advice for a larger one.
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

// openInput opens a file, or standard input for "-".
func (c *call) openInput(name string) (io.Reader, func() error, error) {
	if name == "-" {
		return c.in, func() error { return nil }, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no file %s", name)
	}
	if err != nil {
		return nil, nil, err
	}
	return f, f.Close, nil
}

var preflightCommand = command{
	Words:   "preflight",
	Args:    operationArgs,
	Purpose: "check whether a transaction would be accepted, without changing anything",
	Notes:   "It is judged against the ledger as it is now, which may change before you commit.",
	Examples: [2]string{
		"preflight RemoveFungible container_id=users/42 class_id=EUR key=0 quantity=5",
		"preflight transaction.json && ledgerctl commit transaction.json",
	},
	Setup: setup((*txFlags).preflight),
}

func (t *txFlags) preflight(c *call) error {
	body, err := t.body(c)
	if err != nil {
		return err
	}
	return c.preflight(preflightPath, body, t.key)
}

const preflightPath = "/v1/commit/preflight"

func declareDryRun(set *flag.FlagSet) *bool {
	return set.Bool("dry-run", false, "show the operations and whether they would be accepted, without changing anything")
}

func (c *call) preflight(path string, body []byte, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	a, err := c.ask(request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body, Key: key})
	if err != nil {
		return err
	}
	var verdict struct {
		Valid      bool
		AtSeq      int64       `json:"at_seq"`
		Minted     []int64     `json:"minted_instances"`
		Operations []operation // set for a reversal
	}
	if err := a.decode(&verdict); err != nil {
		return err
	}
	if !verdict.Valid { // a rejection has another status
		return a.lacks("valid")
	}
	if c.json() {
		c.showRaw(a)
		return nil
	}
	if len(verdict.Operations) > 0 {
		if c.made, err = c.wordsOfAll(verdict.Operations); err != nil {
			return err
		}
	}
	out := c.newTable()
	c.addMade(out)
	out.row("valid", "yes")
	out.row("at_seq", verdict.AtSeq)
	if len(verdict.Minted) > 0 {
		out.row("minted_instances", joinInts(verdict.Minted))
	}
	if a.Header.Get("X-Asset-Idempotency") == "hit" {
		out.row("replayed", replayed)
	}
	out.flush()
	return nil
}
