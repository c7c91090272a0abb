package ctl

import (
	"flag"
	"strconv"
	"unicode/utf8"

	"assetledger/ledger"
)

var registerClassCommand = command{
	Words:    "register class",
	Args:     "CLASS_ID NAME",
	Purpose:  "register a class of assets",
	Notes:    "A fungible class has quantities; another has instances, each with an id of its own.",
	Examples: [2]string{"register class 1 gold -decimals 2", "register class 2 sword -fungible=false -key class-2"},
	Setup: func(set *flag.FlagSet) action {
		r := &classFlags{decimals: number{least: 0, most: ledger.MaxDecimals}}
		set.BoolVar(&r.fungible, "fungible", true, "the class has quantities; =false: it has instances")
		set.Var(&r.decimals, "decimals", "`DIGITS` after the point when quantities are shown to people, 0 to 18")
		declareKey(set, &r.key)
		return r.register
	},
}

type classFlags struct {
	fungible bool
	decimals number
	key      string
}

func (r *classFlags) register(c *call) error {
	id, err := c.id(0, "CLASS_ID")
	if err != nil {
		return err
	}
	name := c.args[1]
	if !utf8.ValidString(name) {
		return usagef("NAME must be UTF-8, and is %q", name)
	}
	if err := checkKey(r.key); err != nil {
		return err
	}
	body := strconv.AppendInt([]byte(`{"class_id":`), id, 10)
	body = ledger.AppendString(append(body, `,"name":`...), name)
	if !r.fungible {
		body = append(body, `,"fungible":false`...)
	}
	if r.decimals.given {
		body = append(append(body, `,"decimals":`...), r.decimals.String()...)
	}
	return c.commitAt("/v1/register/class", append(body, '}'), r.key, r.key != "")
}
