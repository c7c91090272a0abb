package ctl

import (
	"flag"
	"fmt"
	"strings"
	"unicode/utf8"

	"assetledger/ledger"
)

var registerClassCommand = command{
	Words:   "register class",
	Args:    "CLASS [NAME]",
	Purpose: "register a class of assets",
	Notes: "CLASS is a code, such as EUR, and the ledger assigns an id; or CLASS is an id. Without a NAME the code is\n" +
		"the name too. A fungible class has quantities; another has instances, each with an id of its own.",
	Examples: [2]string{"register class EUR -name Euro -decimals 2", "register class sword -fungible=false -key class-2"},
	Setup: func(set *flag.FlagSet) action {
		r := &classFlags{id: anyID(), decimals: number{least: 0, most: ledger.MaxDecimals}}
		set.Var(&r.id, "id", "`ID` of a class whose code is given first, instead of the next one")
		set.Var(&r.code, "code", "`CODE` of a class whose id is given first")
		set.Var(&r.name, "name", "`NAME` for people")
		set.BoolVar(&r.fungible, "fungible", true, "the class has quantities; =false: it has instances")
		set.Var(&r.decimals, "decimals", "`DIGITS` after the point when quantities are shown to people, 0 to 18")
		declareKey(set, &r.key)
		return r.register
	},
}

type classFlags struct {
	id, decimals number
	code, name   textFlag
	fungible     bool
	key          string
}

func (r *classFlags) arguments(words []string) error {
	if checkRef("ID", words[0]) == nil {
		if r.id.given {
			return usagef("the id is given twice, as %s and as -id %s", words[0], &r.id)
		}
		r.id.Set(words[0])
	} else if err := checkRef("CLASS", words[0]); err != nil {
		return usagef("CLASS is %q, and %v", words[0], err)
	} else if r.code != "" {
		return usagef("the code is given twice, as %s and as -code %s", words[0], &r.code)
	} else {
		r.code = textFlag(words[0])
	}
	if len(words) == 2 {
		if r.name != "" {
			return usagef("the name is given twice, as %q and as -name %q", words[1], &r.name)
		}
		r.name = textFlag(words[1])
	}
	if r.name == "" {
		r.name = r.code
	}
	switch {
	case r.name == "":
		return usagef("a class needs a name: register class %s NAME, or -name NAME", words[0])
	case !utf8.ValidString(string(r.name)):
		return usagef("NAME must be UTF-8, and is %q", &r.name)
	case r.code != "" && !ledger.ValidClassCode(string(r.code)):
		return usagef("-code is %q, and it must be 1 to 32 of the characters A-Z a-z 0-9 . _ : / @ + -, beginning with a letter or digit, and not only digits", &r.code)
	}
	return nil
}

func (r *classFlags) register(c *call) error {
	if err := r.arguments(c.args); err != nil {
		return err
	}
	body := []byte(`{`)
	if r.id.given {
		body = append(append(append(body, `"class_id":`...), r.id.String()...), ',')
	}
	body = ledger.AppendString(append(body, `"name":`...), string(r.name))
	if !r.fungible {
		body = append(body, `,"fungible":false`...)
	}
	if r.decimals.given {
		body = append(append(body, `,"decimals":`...), r.decimals.String()...)
	}
	if r.code != "" {
		body = ledger.AppendString(append(body, `,"code":`...), string(r.code))
	}
	return c.commitAt("/v1/register/class", append(body, '}'), r.key)
}

var registerShapeCommand = command{
	Words:    "register shape",
	Args:     "CLASS WIDTHxHEIGHT",
	Purpose:  "register how many cells of a grid a class takes up",
	Notes:    "Without -shape-key the shape is that of all keys which have none of their own.",
	Examples: [2]string{"register shape sword 1x3", "register shape 2 2x2 -shape-key 7 -key shape-2-7"},
	Setup: func(set *flag.FlagSet) action {
		r := &shapeFlags{shapeKey: anyKey()}
		set.Var(&r.shapeKey, "shape-key", "the shape of this `KEY` of the class only")
		declareKey(set, &r.key)
		return r.register
	},
}

type shapeFlags struct {
	shapeKey number
	key      string
}

func (r *shapeFlags) register(c *call) error {
	class := c.args[0]
	if err := checkRef("CLASS", class); err != nil {
		return usagef("CLASS is %q, and %v", class, err)
	}
	if !isInteger(class) {
		class = `"` + class + `"`
	}
	width, height := side(), side()
	w, h, _ := strings.Cut(c.args[1], "x")
	if width.Set(w) != nil || height.Set(h) != nil {
		return usagef("WIDTHxHEIGHT is %q, and must be two integers from 1 to %d, such as 2x3", c.args[1], ledger.MaxSide)
	}
	body := fmt.Appendf(nil, `{"class_id":%s`, class)
	if r.shapeKey.given {
		body = fmt.Appendf(body, `,"key":%d`, r.shapeKey.value)
	}
	body = fmt.Appendf(body, `,"width":%d,"height":%d}`, width.value, height.value)
	return c.commitAt("/v1/register/class-shape", body, r.key)
}

func side() number { return number{least: 1, most: ledger.MaxSide} }
