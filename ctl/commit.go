package ctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"assetledger/ctl/client"
)

// operationArgs are the arguments of commands that take operations in words.
const operationArgs = "[FILE|OPERATION]…"

var commitCommand = command{
	Words:   "commit",
	Args:    operationArgs,
	Purpose: "submit a transaction: all of its operations, or none",
	Notes: "An operation is its name, then argument=value for each argument; several have a + between them. FILE, or -\n" +
		"for standard input, is the transaction as JSON; a name without a dot or slash goes with -f.\n\n" +
		"It ends when the commit is on stable storage. With a key, it is tried again until -timeout after a lost\n" +
		"connection or an answer of 500 or more; without one nothing is tried twice.",
	Examples: [2]string{
		"commit -key order-17 TransferFungible from_container=users/42 to_container=shop class_id=EUR key=0 quantity=2550",
		"commit transaction.json -o json",
	},
	Setup: func(set *flag.FlagSet) action {
		var tx txFlags
		tx.declare(set)
		return tx.commit
	},
}

func (t *txFlags) commit(c *call) error {
	body, err := t.body(c)
	if err != nil {
		return err
	}
	return c.commitAt("/v1/commit", body, t.key)
}

// commitAt submits a transaction or a registration and shows the result.
func (c *call) commitAt(path string, body []byte, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	keyed := key != "" || hasKey(body)
	a, err := c.submit(request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body, Key: key}, keyed)
	if err != nil {
		return err
	}
	var result commitResult
	if err := a.decode(&result); err != nil || result.GlobalSeq < 1 {
		return mayBeCommitted(fmt.Errorf("the answer of %s is not the result of a commit", a.URL), keyed)
	}
	result.Replayed = a.Header.Get("X-Asset-Idempotency") == "hit"
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not hide the outcome
	if c.json() {
		c.showRaw(a)
	} else {
		if strings.HasSuffix(path, "/reverse") {
			c.made = c.operationsOf(result.GlobalSeq)
		}
		result.show(c)
	}
	if err := c.out.Flush(); err != nil {
		return exitf(exitFailure, "the transaction was committed: its global_seq is %d; the result could not be written: %v", result.GlobalSeq, err)
	}
	return nil
}

// commitResult is the ledger's result for an accepted transaction.
type commitResult struct {
	client.Result
	Class entry `json:"class"` // of a registration
}

func (r *commitResult) show(c *call) {
	t := c.newTable()
	c.addMade(t)
	t.row("global_seq", r.GlobalSeq)
	t.row("batch_seq", r.BatchSeq)
	if code := r.Class["code"]; code != nil {
		t.row("class_id", string(r.Class["class_id"]))
	}
	if len(r.Minted) > 0 {
		t.row("minted_instances", joinInts(r.Minted))
	}
	key, metadata, err := partMetadata(r.Metadata)
	var name string
	if err != nil || key != nil && json.Unmarshal(key, &name) != nil {
		name, metadata = "", r.Metadata
	}
	if name != "" {
		t.row("idempotency_key", name)
	}
	if metadata != nil {
		t.row("metadata", string(metadata))
	}
	if r.Replayed {
		t.row("replayed", replayed)
	}
	t.flush()
}

const replayed = "yes: this key was committed before"

// addMade adds the operations that a verb created.
func (c *call) addMade(t *table) {
	for _, words := range c.made {
		t.row("operation", words)
	}
}

// operationsOf returns the operations of a commit in words, none if they can't
// be read.
func (c *call) operationsOf(seq int64) (list []string) {
	n := strconv.FormatInt(seq, 10)
	var d commitData
	if c.read("/v1/read/commit/"+n, url.Values{"min_seq": {n}}, &d) != nil {
		return nil
	}
	list, _ = c.wordsOfAll(d.Operations)
	return list
}

// wordsOfAll returns operations in words.
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

// joinInts returns integers separated by spaces, "-" for none.
func joinInts(values []int64) string {
	if len(values) == 0 {
		return "-"
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(words, " ")
}
