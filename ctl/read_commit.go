package ctl

import (
	"encoding/json"
	"fmt"
)

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
	Operations  []operation
}

// An operation as a commit shows it.
type operation struct {
	Op   string
	Args json.RawMessage
}

func showCommit(c *call, a *answer) error {
	var d commitData
	if err := a.data(&d); err != nil {
		return err
	}
	if d.GlobalSeq < 1 {
		return a.lacks("global_seq")
	}
	t := c.newTable()
	t.row("global_seq", d.GlobalSeq)
	t.row("batch_seq", d.BatchSeq)
	t.row("committed_at", d.CommittedAt)
	t.row("minted_instances", joinInts(d.Minted))
	t.row("metadata", string(d.Metadata))
	if d.Principal != "" {
		t.row("principal", d.Principal)
	}
	if d.Reverses != 0 {
		t.row("reverses", d.Reverses)
	}
	if d.ReversedBy != 0 {
		t.row("reversed_by", d.ReversedBy)
	}
	t.flush()
	fmt.Fprintln(c.out)
	ops := c.newTable(numeric("n"), text("operation"))
	for i, op := range d.Operations {
		words, err := c.wordsOf(&op)
		if err != nil {
			return err
		}
		ops.row(i, words)
	}
	ops.flush()
	return nil
}
