package ctl

import (
	"flag"
	"net/url"
	"strings"
)

// A listRead is a command that reads a list. Its path has a * where the
// argument goes, if it takes one.
type listRead struct {
	words, arg, purpose, notes string
	examples                   [2]string
	path                       string
	fields                     view
	filters                    []filter
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

// declareFilters declares the flags, and returns what they ask for.
func declareFilters(set *flag.FlagSet, filters []filter) func() url.Values {
	values := make([]flag.Value, len(filters))
	for i, f := range filters {
		values[i] = f.value()
		set.Var(values[i], f.flag, f.usage)
	}
	return func() url.Values {
		q := url.Values{}
		for i, f := range filters {
			setQuery(q, f.param, values[i])
		}
		return q
	}
}

func (r listRead) command() command {
	return command{Words: r.words, Args: r.arg, Purpose: r.purpose, Notes: r.notes, Examples: r.examples,
		Setup: func(set *flag.FlagSet) action {
			list := &listFlags{}
			list.declare(set)
			query := declareFilters(set, r.filters)
			return func(c *call) error {
				path := r.path
				if r.arg != "" {
					ref, err := c.ref(0, r.arg)
					if err != nil {
						return err
					}
					path = strings.Replace(path, "*", ref, 1)
				}
				t := c.listTable(r.fields)
				return list.show(c, path, query(), t, func(a *answer) error { return c.addEntries(t, a) })
			}
		}}
}

var (
	stackKeyFilter = filter{"stack-key", "key", keyValue, "only of this `KEY`"}

	readBalancesCommand = listRead{
		words: "read balances", arg: "CONTAINER", purpose: "list a container's stacks", notes: amountsNote,
		examples: [2]string{"read balances users/42", "read balances 1 -class-id EUR -min-seq 12"},
		path:     "/v1/read/container/*/balances",
		fields:   "class_id class key quantity held",
		filters:  []filter{{"class-id", "class_id", classValue, "only stacks of this `CLASS`"}, stackKeyFilter},
	}.command()

	readHoldsCommand = listRead{
		words: "read holds", arg: "CONTAINER", purpose: "list what is held of a container's stacks", notes: amountsNote,
		examples: [2]string{"read holds users/42", "read holds 1 -all -o ndjson"},
		path:     "/v1/read/container/*/holds",
		fields:   "hold_id class_id class key quantity held_seq expires_at",
	}.command()

	readHoldersCommand = listRead{
		words: "read holders", arg: "CLASS", purpose: "list the containers that have stacks of a class", notes: amountsNote,
		examples: [2]string{"read holders EUR", "read holders 1 -stack-key 0 -all"},
		path:     "/v1/read/class/*/holders",
		fields:   "container_id key quantity held",
		filters:  []filter{stackKeyFilter},
	}.command()

	readInstancesCommand = listRead{
		words: "read instances", arg: "CLASS", purpose: "list the instances of a class and where they are",
		examples: [2]string{"read instances sword", "read instances 2 -container bag/7 -all"},
		path:     "/v1/read/class/*/instances",
		fields:   "instance_id key location minted_seq",
		filters: []filter{stackKeyFilter, {"container", "container_id", func() flag.Value { return &reference{kind: "CONTAINER"} },
			"only those in this `CONTAINER`"}},
	}.command()

	readClassesCommand = listRead{
		words: "read classes", purpose: "list the classes of assets",
		examples: [2]string{"read classes", "read classes -all -o json"},
		path:     "/v1/read/classes",
		fields:   "class_id code name fungible decimals registered_seq",
	}.command()

	readContainersCommand = listRead{
		words: "read containers", purpose: "list the containers, or the named ones by name",
		examples: [2]string{"read containers -kind Grid", "read containers -prefix users/ -all"},
		path:     "/v1/read/containers",
		fields:   "container_id name kind owner",
		filters: []filter{{"owner", "owner", idValue, "only containers of this `OWNER`"},
			{"kind", "kind", func() flag.Value { return &choice{of: kindNames()} }, "only containers of this `KIND`: Standard, Slots or Grid"},
			{"prefix", "prefix", textValue, "only containers whose name begins with this `PREFIX`, by name"}},
	}.command()
)
