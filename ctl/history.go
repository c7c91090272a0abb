package ctl

import (
	"flag"
	"strings"
)

var historyCommand = readRow{
	words: "history", arg: "CONTAINER", purpose: "list what changed in a container, the newest first", list: true, span: true,
	notes:    amountsNote + "\nQUANTITY is that of the stack after the change; WHAT says what else changed: a hold, an instance, a place.",
	examples: [2]string{"history users/42 -limit 20", "history bag/7 -class sword -from 2026-01-01 -to 2026-01-31 -order oldest -all -o csv"},
	path:     "/v1/read/container/*/history",
	fields:   "global_seq committed_at op class key change quantity what",
	csv: "global_seq committed_at operation_index op class_id class key change quantity hold_id held_change held " +
		"instance_id slot_index x y rotation name",
	filters: []filter{{"class", "class_id", classValue, "only changes of this `CLASS`"},
		{"key", "key", keyValue, "only changes of this `KEY` of classes"},
		{"instance", "instance_id", idValue, "only changes of this `INSTANCE`"},
		{"order", "order", func() flag.Value { return &choice{of: []string{"newest", "oldest"}} }, "`ORDER`: newest first, or oldest first (default newest)"}},
}.command()

// changed describes what an entry of a history has besides its amounts.
func (c *call) changed(e entry) (string, error) {
	var words []string
	raw := func(name string) string { return string(e[name]) }
	if hold := raw("hold_id"); hold != "" {
		change, err := c.cell(e, "held_change")
		if err != nil {
			return "", err
		}
		held, err := c.cell(e, "held")
		if err != nil {
			return "", err
		}
		words = append(words, "hold "+hold+" "+change+", held "+held)
	}
	if instance := raw("instance_id"); instance != "" {
		words = append(words, "instance "+instance)
	}
	switch {
	case raw("slot_index") != "":
		words = append(words, "slot "+raw("slot_index"))
	case raw("x") != "":
		words = append(words, "cell "+raw("x")+","+raw("y")+" rotation "+raw("rotation"))
	}
	if name := e["name"]; name != nil {
		shown, err := c.cell(e, "name")
		if err != nil {
			return "", err
		}
		words = append(words, "name "+shown)
	}
	if words == nil {
		return none, nil
	}
	return strings.Join(words, " "), nil
}
