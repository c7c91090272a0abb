package ctl

import (
	"encoding/json"
	"flag"
	"net/url"
	"strconv"
)

var readBalancesCommand = command{
	Words:    "read balances",
	Args:     "CONTAINER_ID",
	Purpose:  "list a container's stacks",
	Notes:    "The table shows quantities with the decimals of their class, JSON the minor units.",
	Examples: [2]string{"read balances 1", "read balances 1 -class-id 7 -min-seq 12"},
	Setup: func(set *flag.FlagSet) action {
		b := &balances{classID: anyID(), key: anyKey()}
		b.list.declare(set)
		set.Var(&b.classID, "class-id", "only stacks of this `CLASS`")
		set.Var(&b.key, "stack-key", "only stacks of this `KEY`")
		return b.run
	},
}

type balances struct {
	list         listFlags
	classID, key number
}

func (b *balances) run(c *call) error {
	if _, err := c.id(0, "CONTAINER_ID"); err != nil {
		return err
	}
	filters := url.Values{}
	b.classID.query(filters, "class_id")
	b.key.query(filters, "key")
	t := c.newTable(numeric("class_id"), numeric("key"), numeric("quantity"))
	return b.list.show(c, "/v1/read/container/"+c.args[0]+"/balances", filters, t, func(a *answer) error {
		return addBalances(c, a, t)
	})
}

// balanceData is one stack.
type balanceData struct {
	ClassID  int64       `json:"class_id"`
	Key      int64       `json:"key"`
	Quantity json.Number `json:"quantity"`
}

func addBalances(c *call, a *answer, t *table) error {
	var page struct {
		Balances []balanceData
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	for _, b := range page.Balances {
		quantity, err := c.quantity(b.ClassID, b.Quantity)
		if err != nil {
			return err
		}
		t.row(strconv.FormatInt(b.ClassID, 10), strconv.FormatInt(b.Key, 10), quantity)
	}
	return nil
}
