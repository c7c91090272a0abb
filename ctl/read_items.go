package ctl

import (
	"flag"
	"strings"
)

// An itemRead is a command that reads one thing. Its path has a * where the
// argument goes.
type itemRead struct {
	words, arg, purpose, notes string
	examples                   [2]string
	path                       string
	fields                     view
}

func (r itemRead) command() command {
	return command{Words: r.words, Args: r.arg, Purpose: r.purpose, Notes: r.notes, Examples: r.examples,
		Setup: func(set *flag.FlagSet) action {
			return itemAction(set, r.arg, r.path, func(c *call, a *answer) error { return c.showItem(a, r.fields) })
		}}
}

// itemAction is the action of a read of one thing, named by its only argument.
func itemAction(set *flag.FlagSet, arg, path string, render func(c *call, a *answer) error) action {
	f := &readFlags{}
	f.declare(set)
	return func(c *call) error {
		ref, err := c.ref(0, arg)
		if err != nil {
			return err
		}
		return f.show(c, strings.Replace(path, "*", ref, 1), func(a *answer) error { return render(c, a) })
	}
}

// amountsNote is of tables with amounts.
const amountsNote = "The table shows quantities with the decimals of their class, JSON the minor units."

var (
	readContainerCommand = itemRead{
		words: "read container", arg: "CONTAINER", purpose: "show a container: kind, owner, size",
		examples: [2]string{"read container users/42", "read container 1 -min-seq 12 -o json"},
		path:     "/v1/read/container/*",
		fields:   "container_id name? kind owner slot_count? grid_width? grid_height? stacks instances created_seq updated_seq",
	}.command()

	readClassCommand = itemRead{
		words: "read class", arg: "CLASS", purpose: "show a class of assets",
		examples: [2]string{"read class EUR", "read class 1 -o json"},
		path:     "/v1/read/class/*",
		fields:   "class_id code? name fungible decimals registered_seq",
	}.command()

	readStatsCommand = itemRead{
		words: "read stats", arg: "CLASS", purpose: "show the totals of a class", notes: amountsNote,
		examples: [2]string{"read stats EUR", "read stats 1 -min-seq 12 -o json"},
		path:     "/v1/read/class/*/stats",
		fields: "class_id total_quantity total_held? total_added total_removed stacks containers " +
			"instances_minted instances_burned instances_live",
	}.command()

	readHoldCommand = itemRead{
		words: "read hold", arg: "HOLD", purpose: "show a hold: of what, how much, until when", notes: amountsNote,
		examples: [2]string{"read hold 17", "read hold 17 -o json"},
		path:     "/v1/read/hold/*",
		fields:   "hold_id container_id class_id class key quantity held_seq expires_at",
	}.command()
)

var readShapesCommand = command{
	Words:    "read shapes",
	Args:     "CLASS",
	Purpose:  "list the shapes of a class",
	Notes:    "The key \"any\" is the shape of all keys that have none of their own.",
	Examples: [2]string{"read shapes sword", "read shapes 2 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "CLASS", "/v1/read/class/*/shapes", func(c *call, a *answer) error {
			t := c.listTable("key width height")
			err := c.addEntries(t, a)
			t.flush()
			return err
		})
	},
}
