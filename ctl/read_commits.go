package ctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"time"
)

var readCommitsCommand = command{
	Words:    "read commits",
	Purpose:  "list the commits, oldest or newest first",
	List:     true,
	Examples: [2]string{"read commits -last 20", "read commits -idempotency-key order-17 -o json"},
	Setup: func(set *flag.FlagSet) action {
		list := &listFlags{}
		list.readFlags.declare(set)
		list.declare(set)
		last := number{least: 1, most: maxListLimit}
		set.Var(&last, "last", "the newest `N` commits, or the newest before -before or up to -to, newest first")
		var within span
		within.declare(set, true)
		query := declareFilters(set, []filter{
			{"idempotency-key", "idempotency_key", textValue, "the commit of this idempotency `KEY`, while it is remembered"},
		})
		return func(c *call) error {
			if err := within.settle(); err != nil {
				return err
			}
			q := query()
			if from := within.from.seq; from.given {
				q.Set("after", strconv.FormatInt(max(from.value-1, 0), 10))
			}
			if to := within.to.seq; to.given {
				q.Set("before", strconv.FormatInt(max(to.value, to.value+1), 10))
			}
			if last.given {
				if list.paged() {
					return usagef("-last can't be combined with -limit, -cursor or -all")
				}
				q.Set("order", "newest")
				q.Set("limit", last.String())
				list.whole = true
			}
			return list.showTable(c, "/v1/read/commits", q, "global_seq batch_seq committed_at operations")
		}
	},
}

// timeCell returns a time in milliseconds for a table, or unchanged for CSV.
func (c *call) timeCell(exact string) string {
	if t, err := time.Parse(time.RFC3339Nano, exact); err == nil && !c.csv() {
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return exact
}

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
	Operations  []operation
}

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
