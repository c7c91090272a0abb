package ctl

import (
	"flag"
	"fmt"
	"strings"

	"assetledger/ledger"
)

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

// side returns a width or height in cells.
func side() number { return number{least: 1, most: ledger.MaxSide} }
