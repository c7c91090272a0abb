package ctl

import (
	"flag"
	"fmt"
	"strconv"
	"time"
)

var readCommitsCommand = command{
	Words:    "read commits",
	Purpose:  "list the commits in the order they were made, or the newest first",
	List:     true,
	Examples: [2]string{"read commits -last 20", "read commits -idempotency-key order-17 -o json"},
	Setup: func(set *flag.FlagSet) action {
		list := &listFlags{}
		list.declare(set)
		last := number{least: 1, most: maxListLimit}
		set.Var(&last, "last", "the newest `N` commits, or those before -before, newest first")
		query := declareFilters(set, []filter{
			{"after", "after", keyValue, "only commits after this `SEQ`"},
			{"before", "before", idValue, "only commits before this `SEQ`"},
			{"idempotency-key", "idempotency_key", textValue, "the commit of this idempotency `KEY`, while it is remembered"},
		})
		return func(c *call) error {
			q := query()
			if last.given {
				if list.paged() {
					return usagef("-last N is a page of its own: leave out -limit, -cursor and -all")
				}
				q.Set("order", "newest")
				q.Set("limit", last.String())
				list.whole = true
			}
			t := c.newTable(numeric("global_seq"), numeric("batch_seq"), text("committed_at"), text("operations"))
			return list.show(c, "/v1/read/commits", q, t, func(a *answer) error { return c.addCommits(t, a) })
		}
	},
}

func (c *call) addCommits(t *table, a *answer) error {
	var page struct {
		Data struct{ Commits []commitData }
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	for _, d := range page.Data.Commits {
		ops, err := c.summary(d.Operations)
		if err != nil {
			return err
		}
		t.row(strconv.FormatInt(d.GlobalSeq, 10), strconv.FormatInt(d.BatchSeq, 10), c.timeCell(d.CommittedAt), ops)
	}
	return nil
}

// timeCell is a time of a table: to the millisecond. What is cut off is in
// read commit, in JSON and in CSV.
func (c *call) timeCell(exact string) string {
	if t, err := time.Parse(time.RFC3339Nano, exact); err == nil && !c.csv() {
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return exact
}

// summary is the only operation, or the first and how many more there are.
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
