package ctl

import (
	"flag"
	"net/url"
)

// A readRow is a command that reads one thing or a list. If it has an argument, path has
// a * in its place.
type readRow struct {
	words, arg, purpose, notes string
	examples                   [2]string
	path                       string
	fields                     view // of the table
	csv                        view // of CSV, if different
	list                       bool
	past                       bool // has -at
	span                       bool // has the flags of span
	ofCommits                  bool // it lists commits: it has the flags of span for their numbers, and -last
	commits                    bool // the table shows fields from the commits of its entries
	filters                    []filter
	render                     func(c *call, a *answer) error                       // shows one thing; nil: show its fields
	draw                       func(c *call, a *answer, q url.Values) (bool, error) // draws a list, and reports whether it could; nil: show a table
}

// A filter is a flag that sets a parameter of the query.
type filter struct {
	flag, param string
	value       func() flag.Value
	usage       string
}

func idValue() flag.Value    { n := anyID(); return &n }
func keyValue() flag.Value   { n := anyKey(); return &n }
func textValue() flag.Value  { return new(textFlag) }
func classValue() flag.Value { return &reference{kind: "CLASS"} }

func (row readRow) command() command {
	return command{Words: row.words, Args: row.arg, Purpose: row.purpose, Notes: row.notes, Examples: row.examples, List: row.list, Setup: row.setup}
}

const amountsNote = "The table shows quantities with the decimals of their class, JSON in minor units."

var (
	stackKeyFilter  = filter{"stack-key", "key", keyValue, "only stacks or instances with this `KEY`"}
	containerFilter = filter{"container", "container_id", func() flag.Value { return &reference{kind: "CONTAINER"} }, "only those in this `CONTAINER`"}
)

// readRows lists the reads that need nothing but a row.
var readRows = []readRow{{
	words: "read container", arg: "CONTAINER", purpose: "show a container: kind, owner, size", past: true,
	examples: [2]string{"read container users/42", "read container 1 -at 12 -o json"},
	path:     "/v1/read/container/*",
	fields:   "container_id name? kind owner slot_count? grid_width? grid_height? stacks instances created_seq updated_seq",
}, {
	words: "read balances", arg: "CONTAINER", purpose: "list a container's stacks", notes: amountsNote, list: true, past: true,
	examples: [2]string{"read balances users/42", "read balances 1 -class-id EUR -at 2026-01-31"},
	path:     "/v1/read/container/*/balances",
	fields:   "class_id class key quantity held",
	filters:  []filter{{"class-id", "class_id", classValue, "only stacks of this `CLASS`"}, stackKeyFilter},
}, {
	words: "read holds", arg: "CONTAINER", purpose: "list the holds on a container's stacks", notes: amountsNote, list: true, past: true,
	examples: [2]string{"read holds users/42", "read holds 1 -all -o ndjson"},
	path:     "/v1/read/container/*/holds",
	fields:   "hold_id class_id class key quantity held_seq expires_at",
}, {
	words: "read hold", arg: "HOLD", purpose: "show a hold: its stack, quantity and expiry", notes: amountsNote,
	examples: [2]string{"read hold 17", "read hold 17 -o json"},
	path:     "/v1/read/hold/*",
	fields:   "hold_id container_id container? class_id class key quantity held_seq expires_at",
}, {
	words: "read class", arg: "CLASS", purpose: "show a class of assets",
	notes:    "read holders lists the containers that hold a fungible class. read instances lists the instances of any other.",
	examples: [2]string{"read class EUR", "read class 1 -o json"},
	path:     "/v1/read/class/*",
	fields:   "class_id code? name fungible decimals registered_seq",
}, {
	words: "read classes", purpose: "list the classes of assets", list: true,
	examples: [2]string{"read classes", "read classes -all -o csv"},
	path:     "/v1/read/classes",
	fields:   "class_id code name fungible decimals registered_seq",
}, {
	words: "read shapes", arg: "CLASS", purpose: "list the shapes of a class", list: true,
	notes:    "The shape with the key \"any\" is for all keys without a shape of their own.",
	examples: [2]string{"read shapes sword", "read shapes 2 -o json"},
	path:     "/v1/read/class/*/shapes",
	fields:   "key width height",
}, {
	words: "read stats", arg: "CLASS", purpose: "show the totals of a class", notes: amountsNote,
	examples: [2]string{"read stats EUR", "read stats 1 -min-seq 12 -o json"},
	path:     "/v1/read/class/*/stats",
	fields: "class_id total_quantity total_held? total_added total_removed stacks containers " +
		"instances_minted instances_burned instances_live",
}, {
	words: "read holders", arg: "CLASS", purpose: "list the containers that have stacks of a class", notes: amountsNote, list: true,
	examples: [2]string{"read holders EUR", "read holders 1 -stack-key 0 -all -o csv"},
	path:     "/v1/read/class/*/holders",
	fields:   "container_id container key quantity held",
	csv:      "container_id key quantity held", // without a request for each name
	filters:  []filter{stackKeyFilter},
}, {
	words: "read instances", arg: "CLASS", purpose: "list the instances of a class and where they are", list: true,
	examples: [2]string{"read instances sword", "read instances 2 -container bag/7 -all"},
	path:     "/v1/read/class/*/instances",
	fields:   "instance_id key location minted_seq",
	filters:  []filter{stackKeyFilter, containerFilter},
}, {
	words: "read containers", purpose: "list the containers, or those with a name prefix", list: true,
	examples: [2]string{"read containers -kind Grid", "read containers -prefix users/ -all -o csv"},
	path:     "/v1/read/containers",
	fields:   "container_id name kind owner",
	filters: []filter{{"owner", "owner", idValue, "only containers of this `OWNER`"},
		{"kind", "kind", func() flag.Value { return &choice{of: kindNames} }, "only containers of this `KIND`: Standard, Slots or Grid"},
		{"prefix", "prefix", textValue, "only containers whose name begins with this `PREFIX`, ordered by name"}},
}, {
	words: "read slots", arg: "CONTAINER", purpose: "list the occupied slots of a container", list: true, past: true,
	examples: [2]string{"read slots 3", "read slots 3 -limit 10000 -o json"},
	path:     "/v1/read/container/*/slots",
	fields:   "slot_index instance_id class_id class key",
	csv:      "slot_index instance_id class_id key",
}}

func readCommands() (list []command) {
	for _, r := range readRows {
		list = append(list, r.command())
	}
	return list
}
