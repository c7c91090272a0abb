package ctl

import (
	"flag"
	"net/http"
	"strconv"
)

var preflightCommand = command{
	Words:   "preflight",
	Args:    operationArgs,
	Purpose: "ask whether a transaction would be taken, and change nothing",
	Notes:   "It is judged against the ledger as it is now; a commit that follows may meet another.",
	Examples: [2]string{
		"preflight RemoveFungible container_id=users/42 class_id=EUR key=0 quantity=5",
		"preflight -f transaction.json && ledgerctl commit -f transaction.json",
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
	return c.preflight(body, t.key)
}

// preflight asks whether a transaction would be accepted, and shows the answer.
func (c *call) preflight(body []byte, key string) error {
	a, err := c.ask(request{method: http.MethodPost, base: c.writeURL, path: "/v1/commit/preflight", body: body, key: key})
	if err != nil {
		return err
	}
	var verdict struct {
		Valid  bool
		AtSeq  int64   `json:"at_seq"`
		Minted []int64 `json:"minted_instances"`
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
	out := c.newTable()
	c.addMade(out)
	out.row("valid", "yes")
	out.row("at_seq", strconv.FormatInt(verdict.AtSeq, 10))
	if len(verdict.Minted) > 0 {
		out.row("minted_instances", joinInts(verdict.Minted))
	}
	out.flush()
	return nil
}
