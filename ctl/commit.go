package ctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// operationArgs are the arguments of commands that take operations in words.
const operationArgs = "[OPERATION]…"

var commitCommand = command{
	Words:   "commit",
	Args:    operationArgs,
	Purpose: "submit a transaction: all of its operations, or none",
	Notes: "An operation is its name, then argument=value for each argument; several have a + between them. One word\n" +
		"with a dot or slash in it is a file.\n\n" +
		"It ends when the commit is on stable storage. With a key, a lost connection or a daemon that is not\n" +
		"ready is tried again until -timeout; without one nothing is tried twice.",
	Examples: [2]string{
		"commit -key order-17 TransferFungible from_container=users/42 to_container=shop class_id=EUR key=0 quantity=2550",
		"commit -f transaction.json -o json",
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
	return c.commitAt("/v1/commit", body, t.key, t.keyed(body))
}

// commitAt submits a transaction or a registration and shows the result.
func (c *call) commitAt(path string, body []byte, key string, keyed bool) error {
	a, err := c.submit(request{method: http.MethodPost, base: c.writeURL, path: path, body: body, key: key}, keyed)
	if err != nil {
		return err
	}
	var result commitResult
	if err := a.decode(&result); err != nil || result.GlobalSeq < 1 {
		return mayBeCommitted(fmt.Errorf("the answer of %s is not the result of a commit", a.url), keyed)
	}
	result.Replayed = a.header.Get("X-Asset-Idempotency") == "hit"
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not hide the outcome
	if c.json() {
		c.showRaw(a)
	} else {
		result.show(c)
	}
	if err := c.out.Flush(); err != nil {
		return exitf(exitFailure, "the transaction was committed: its global_seq is %d; the result could not be written: %v", result.GlobalSeq, err)
	}
	return nil
}

// commitResult is what the ledger says of a transaction that it took.
type commitResult struct {
	GlobalSeq int64           `json:"global_seq"`
	BatchSeq  int64           `json:"batch_seq"`
	Minted    []int64         `json:"minted_instances"`
	Metadata  json.RawMessage `json:"metadata"`
	Replayed  bool            `json:"replayed"`
	Class     entry           `json:"class"` // of a registration
}

func (r *commitResult) show(c *call) {
	t := c.newTable()
	c.addMade(t)
	t.row("global_seq", strconv.FormatInt(r.GlobalSeq, 10))
	t.row("batch_seq", strconv.FormatInt(r.BatchSeq, 10))
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
		t.row("replayed", "yes: this key was committed before")
	}
	t.flush()
}

// addMade adds the operation that a verb made.
func (c *call) addMade(t *table) {
	if c.made != "" {
		t.row("operation", c.made)
	}
}

// joinInts shows integers with a space between, "-" for none.
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
