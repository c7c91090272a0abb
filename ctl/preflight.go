package ctl

import (
	"flag"
	"net/http"
)

var preflightCommand = command{
	Words:   "preflight",
	Args:    operationArgs,
	Purpose: "ask whether a transaction would be taken, and change nothing",
	Notes:   "It is judged against the ledger as it is now; a commit that follows may meet another.",
	Examples: [2]string{
		"preflight RemoveFungible container_id=users/42 class_id=EUR key=0 quantity=5",
		"preflight transaction.json && ledgerctl commit transaction.json",
	},
	Setup: func(set *flag.FlagSet) action {
		var tx txFlags
		tx.declare(set)
		return tx.preflight
	},
}

func (t *txFlags) preflight(c *call) error {
	body, err := t.body(c)
	if err != nil {
		return err
	}
	return c.preflight(preflightPath, body, t.key)
}

const preflightPath = "/v1/commit/preflight"

// declareDryRun declares -dry-run.
func declareDryRun(set *flag.FlagSet) *bool {
	return set.Bool("dry-run", false, "show the operations and whether they would be accepted, and change nothing")
}

// preflight checks whether a transaction would be accepted, and shows the result.
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
		Operations []operation // of a reversal
	}
	if err := a.decode(&verdict); err != nil {
		return err
	}
	if !verdict.Valid { // a refusal has another status
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
