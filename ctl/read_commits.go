package ctl

import (
	"flag"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

var readCommitsCommand = command{
	Words:    "read commits",
	Purpose:  "list the commits in the order they were made",
	Examples: [2]string{"read commits -after 100 -limit 20", "read commits -all -o json"},
	Setup: func(set *flag.FlagSet) action {
		f := &commitsFlags{after: anyKey()}
		f.list.declare(set)
		set.Var(&f.after, "after", "only commits after this `SEQ`")
		return f.run
	},
}

type commitsFlags struct {
	list  listFlags
	after number
}

func (f *commitsFlags) run(c *call) error {
	filters := url.Values{}
	f.after.query(filters, "after")
	t := c.newTable(numeric("global_seq"), numeric("batch_seq"), text("committed_at"), text("operations"))
	return f.list.show(c, "/v1/read/commits", filters, t, func(a *answer) error {
		var page struct {
			Data struct{ Commits []commitData }
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		for _, d := range page.Data.Commits {
			ops, err := summary(d.Operations)
			if err != nil {
				return err
			}
			t.row(strconv.FormatInt(d.GlobalSeq, 10), strconv.FormatInt(d.BatchSeq, 10), shortTime(d.CommittedAt), ops)
		}
		return nil
	})
}

// shortTime is a time of a table: to the millisecond. What is cut off is in
// read commit, and in JSON.
func shortTime(exact string) string {
	if t, err := time.Parse(time.RFC3339Nano, exact); err == nil {
		return t.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return exact
}

// summary is the only operation, or the first and how many more there are.
func summary(ops []operation) (string, error) {
	if len(ops) == 0 {
		return "-", nil
	}
	words, err := ops[0].words()
	if len(ops) > 1 {
		words += fmt.Sprintf(" (and %d more)", len(ops)-1)
	}
	return words, err
}
