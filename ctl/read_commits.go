package ctl

import (
	"cmp"
	"encoding/json"
	"fmt"
)

var readCommitsCommand = readRow{
	words: "read commits", purpose: "list the commits, oldest or newest first", list: true, ofCommits: true,
	examples: [2]string{"read commits -last 20", "read commits -idempotency-key order-17 -o json"},
	path:     "/v1/read/commits",
	fields:   "global_seq batch_seq committed_at operations",
	filters:  []filter{{"idempotency-key", "idempotency_key", textValue, "the commit of this idempotency `KEY`, while it is remembered"}},
}.command()

// summary returns the first operation, and the number of the others if there are any.
func (c *call) summary(ops []operation) (string, error) {
	if len(ops) == 0 {
		return none, nil
	}
	words, err := c.wordsOf(&ops[0])
	if len(ops) > 1 {
		words += fmt.Sprintf(" (and %d more)", len(ops)-1)
	}
	return words, err
}

var readCommitCommand = readRow{
	words: "read commit", arg: "GLOBAL_SEQ", purpose: "show a commit as it was made",
	notes:    "Quantities are in minor units, as in the transaction. Containers and classes have their present names; -o json has their ids.",
	examples: [2]string{"read commit 12", "read commit 12 -o json"},
	path:     "/v1/read/commit/*",
	render:   showCommit,
}.command()

type commitData struct {
	commitResult
	CommittedAt string `json:"committed_at"`
	Principal   string
	Reverses    int64
	ReversedBy  int64 `json:"reversed_by"`
}

type operation struct {
	Op   string
	Args json.RawMessage
}

func showCommit(c *call, a *answer) error {
	var d commitData
	e, err := a.item()
	err = cmp.Or(err, a.data(&d))
	if err == nil && d.GlobalSeq < 1 {
		err = a.lacks("global_seq")
	}
	if err != nil {
		return err
	}
	if err := c.showItem(e, "global_seq batch_seq committed_at minted_instances metadata principal? reverses? reversed_by?"); err != nil {
		return err
	}
	fmt.Fprintln(c.out)
	words, err := c.wordsOfAll(d.Operations)
	ops := c.listTable("n operation")
	for i, op := range words {
		ops.row(i, op)
	}
	ops.flush()
	return err
}
