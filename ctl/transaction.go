package ctl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
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
func (o *opFlags) Repeatable()        {}

type txFlags struct {
	file     string
	ops      opFlags
	key      string
	metadata string
	dryRun   bool
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
	set.Var((*keyFlag)(&t.key), "key", "idempotency `KEY`: a command repeated with the same key commits once")
}

// keyFlag is an idempotency key that can be sent in a header.
type keyFlag string

func (k *keyFlag) Set(s string) error {
	if s != "" && !ledger.ValidIdempotencyKey(s) || s != strings.TrimSpace(s) {
		return fmt.Errorf("it must be 1 to %d bytes of printable ASCII, without a space at either end", ledger.MaxKeyLength)
	}
	*k = keyFlag(s)
	return nil
}

func (k *keyFlag) String() string { return string(*k) }

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

func (c *call) readInput(name string) ([]byte, error) {
	in, err := c.openInput(name)
	if err != nil {
		return nil, err
	}
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

// openInput opens a file, or standard input for "-". It stays open until ledgerctl ends.
func (c *call) openInput(name string) (io.Reader, error) {
	if name == "-" {
		return c.in, nil
	}
	return os.Open(name)
}
