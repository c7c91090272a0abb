package ctl

import (
	"cmp"
	"flag"
	"regexp"
	"slices"
	"strings"

	"assetledger/ledger"
)

// A verb is a command for people that commits one operation. Its flags come from the
// table of operations.
type verb struct {
	word string
	// args has words as WORD=ARGUMENT, where ARGUMENT is an argument of the operation. With
	// a|b, an integer is argument a, and anything else is b. With b,c the word has two
	// parts, separated by a comma if there is also a |, and otherwise by an x.
	args           string
	kinds          []ledger.OpKind // the first one whose required arguments are all given is used
	purpose, notes string
	examples       [2]string
	path           string              // endpoint of a registration, whose body has the arguments at its top level; "" for others
	flags          map[string]verbFlag // by argument: flags that differ from verbFlags, and flags for arguments that are also words
}

type verbFlag struct{ name, usage string }

var verbs = []verb{
	{word: "create", args: "NAME=container_id|name", kinds: []ledger.OpKind{ledger.CreateContainer}, purpose: "create a container",
		notes: "NAME is a name or an id. With a name, the ledger assigns the id. The kind is Standard, which holds quantities. With\n" +
			"-slot-count it is Slots, such as a bag. With -grid-width and -grid-height it is Grid, such as a shelf.",
		examples: [2]string{"create wallet/7 -owner 7", "create shelf/1 -grid-width 6 -grid-height 3"},
		flags:    map[string]verbFlag{"name": {"", "`NAME` of a container that is given by id"}}},
	{word: "rename", args: "CONTAINER=container_id NAME=name", kinds: []ledger.OpKind{ledger.RenameContainer}, purpose: "rename a container",
		notes: "NAME null removes the name. To rename a class, use ledgerctl commit RenameClass.", examples: [2]string{"rename wallet/7 users/7", "rename wallet/7 null"}},
	{word: "delete", args: "CONTAINER=container_id", kinds: []ledger.OpKind{ledger.RemoveContainer}, purpose: "delete an empty container",
		examples: [2]string{"delete shelf/1", "delete wallet/7 -dry-run"}},
	{word: "add", args: "CONTAINER=container_id AMOUNT=quantity CLASS=class_id", kinds: []ledger.OpKind{ledger.AddFungible},
		purpose: "add an amount that comes from outside the ledger", notes: amountNote,
		examples: [2]string{"add wallet/7 100.00 EUR -key card-88123", "add shelf/1 40 crate -x 0 -y 0"}},
	{word: "remove", args: "CONTAINER=container_id AMOUNT=quantity CLASS=class_id", kinds: []ledger.OpKind{ledger.RemoveFungible},
		purpose: "remove an amount that leaves the ledger", notes: amountNote,
		examples: [2]string{"remove wallet/7 20.00 EUR", "remove shelf/1 8 crate -stack-key 3 -dry-run"}},
	{word: "transfer", args: "FROM=from_container TO=to_container AMOUNT=quantity CLASS=class_id", kinds: []ledger.OpKind{ledger.TransferFungible},
		purpose: "transfer an amount between containers", notes: amountNote,
		examples: [2]string{"transfer wallet/7 shop 25.50 EUR -key order-17", "transfer 1 2 2550 1 -minor"}},
	{word: "split", args: "CONTAINER=container_id AMOUNT=quantity CLASS=class_id FROM=from_key TO=to_key", kinds: []ledger.OpKind{ledger.SplitStack},
		purpose: "move a part of a stack to another key", notes: "FROM and TO are keys of the class. In a grid a new stack is placed at -x and -y, or in the first place where it fits.\n" + amountNote,
		examples: [2]string{"split shelf/1 8 crate 0 3", "split shelf/1 8 crate 0 3 -x 2 -y 0"}},
	{word: "merge", args: "CONTAINER=container_id CLASS=class_id FROM=from_key TO=to_key", kinds: []ledger.OpKind{ledger.MergeStacks},
		purpose: "move a whole stack into another of its class", notes: "FROM and TO are keys of the class. ledgerctl commit ConsolidateStacks merges all of its stacks.",
		examples: [2]string{"merge shelf/1 crate 3 0", "merge shelf/1 crate 3 0 -dry-run"}},
	{word: "hold", args: "HOLD=hold_id CONTAINER=container_id AMOUNT=quantity CLASS=class_id", kinds: []ledger.OpKind{ledger.HoldFungible},
		purpose: "set an amount aside: settle or release it later", notes: "HOLD is a number that you choose, such as the order number.\n" + amountNote,
		examples: [2]string{"hold 17 wallet/7 25.50 EUR -expires-in 15m", "hold 18 shelf/1 4 crate"}},
	{word: "settle", args: "HOLD=hold_id TO=to_container [AMOUNT]=quantity", kinds: []ledger.OpKind{ledger.SettleHold},
		purpose: "transfer a held quantity, or a part of it", notes: "The rest is released or, with -keep, stays held.\n" +
			"A commit that settles can't be reversed: to undo it, transfer the amount back.\n" + amountNote,
		examples: [2]string{"settle 17 shop", "settle 17 shop 20.00 -keep"}},
	{word: "release", args: "HOLD=hold_id", kinds: []ledger.OpKind{ledger.ReleaseHold}, purpose: "end a hold",
		examples: [2]string{"release 17", "release 17 -dry-run"}},
	{word: "mint", args: "CLASS=class_id", kinds: []ledger.OpKind{ledger.MintInstance}, purpose: "mint a new instance",
		examples: [2]string{"mint sword -in bag/7 -slot 3", "mint machine -in shelf/1 -x 0 -y 2"}},
	{word: "place", args: "INSTANCE=instance_id CONTAINER=container_id", kinds: []ledger.OpKind{ledger.PlaceInSlot, ledger.PlaceInGrid},
		purpose: "put an instance that is nowhere into a slot or a grid", notes: "With -slot the instance is placed in that slot, otherwise in a grid: at -x and -y, or in the first place where it fits.",
		examples: [2]string{"place 17 bag/7 -slot 3", "place 17 shelf/1 -x 4 -y 0 -rotation 90"}},
	{word: "take", args: "CONTAINER=container_id", kinds: []ledger.OpKind{ledger.RemoveFromSlot, ledger.RemoveFromGrid},
		purpose: "take an instance out of a slot or a grid", notes: "It takes the instance out of -slot, or -instance out of a grid. The instance is then nowhere: place puts it elsewhere.",
		examples: [2]string{"take bag/7 -slot 3", "take shelf/1 -instance 17"}},
	{word: "move", args: "CONTAINER=container_id FROM=slot_a|x,y TO=slot_b|to_x,to_y", kinds: []ledger.OpKind{ledger.MoveInGrid, ledger.SwapSlots},
		purpose: "move what is at a cell of a grid, or swap two slots", notes: "FROM and TO are cells, as X,Y, or slot numbers; -other-container is the container of slot TO, if it is another one.",
		examples: [2]string{"move shelf/1 0,0 3,1 -rotation 90", "move bag/7 3 5"}},
	{word: "attach", args: "INSTANCE=instance_id PARENT=parent_id", kinds: []ledger.OpKind{ledger.Attach},
		purpose: "attach an instance that is nowhere to another", notes: "PARENT is also an instance. An attached instance moves with it.",
		examples: [2]string{"attach 18 17", "attach 18 17 -dry-run"}},
	{word: "detach", args: "INSTANCE=instance_id", kinds: []ledger.OpKind{ledger.Detach}, purpose: "detach an instance from the one it is attached to",
		examples: [2]string{"detach 18", "detach 18 -dry-run"}},
	{word: "burn", args: "INSTANCE=instance_id", kinds: []ledger.OpKind{ledger.BurnInstance}, purpose: "destroy an instance",
		examples: [2]string{"burn 17", "burn 17 -key scrap-17"}},
}

var registrations = []verb{
	{word: "register class", args: "CLASS=class_id|code [NAME]=name", kinds: []ledger.OpKind{ledger.RegisterClass}, path: "/v1/register/class",
		purpose: "register a class of assets",
		notes: "CLASS is a code, such as EUR, or an id. With a code, the ledger assigns the id. Without a NAME the code is\n" +
			"also the name. A fungible class has quantities; any other has instances, each with its own id.",
		examples: [2]string{"register class EUR -name Euro -decimals 2", "register class sword -fungible=false -key class-2"},
		flags: map[string]verbFlag{
			"class_id": {"id", "`ID` of a class that is given by code (default: the ledger assigns one)"},
			"code":     {"", "`CODE` of a class that is given by id"},
			"name":     {"", "`NAME` for people"}}},
	{word: "register shape", args: "CLASS=class_id WIDTHxHEIGHT=width,height", kinds: []ledger.OpKind{ledger.RegisterClassShape}, path: "/v1/register/class-shape",
		purpose:  "register the shape of a class in grids",
		notes:    "Without -shape-key, the shape is for all keys without one of their own.",
		examples: [2]string{"register shape sword 1x3", "register shape 2 2x2 -shape-key 7 -key shape-2-7"},
		flags:    map[string]verbFlag{"key": {"shape-key", "the shape of this `KEY` of the class only"}}},
}

const amountNote = "AMOUNT has the class's decimals, so the class is read first. With -minor it counts the smallest units."

// verbFlags has the names and descriptions of flags of verbs, by argument. An empty name
// means that the flag has the name of the argument.
var verbFlags = map[string]verbFlag{
	"key":                {"stack-key", "`KEY` of the stack or instance within its class (default 0)"},
	"slot_index":         {"slot", "`SLOT`, counted from 0"},
	"instance_id":        {"instance", "`INSTANCE` in a grid"},
	"container_id":       {"in", "`CONTAINER` to put the instance into"},
	"other_container_id": {"other-container", "`CONTAINER` of the second slot"},
	"owner":              {"", "`OWNER`: a number that you choose, such as a user id"},
	"kind":               {"", "`KIND`: Standard, Slots or Grid (default: Slots or Grid if a size is given, else Standard)"},
	"slot_count":         {"", "number of `SLOTS` of a container of kind Slots (default 64)"},
	"grid_width":         {"", "`CELLS` in a row of a container of kind Grid (default 16)"},
	"grid_height":        {"", "`CELLS` in a column of a container of kind Grid (default 16)"},
	"x":                  {"", "`COLUMN` of a grid, from 0"},
	"y":                  {"", "`ROW` of a grid, from 0"},
	"rotation":           {"", "`DEGREES`: 0, or 90 to swap width and height"},
	"expires_in":         {"", "`TIME` after which the hold expires, such as 15m, or a number of seconds"},
	"expires_at":         {"", "`TIME` when the hold expires, such as 2027-01-31T12:00:00Z"},
	"keep":               {"", "keep holding the rest"},
	"fungible":           {"", "the class has quantities; =false: it has instances"},
	"decimals":           {"", "`DIGITS` after the point when quantities are shown to people, 0 to 18"},
}

// argumentNames matches the arguments of the operation in the args of a verb.
var argumentNames = regexp.MustCompile(`=\S+`)

func verbCommands(verbs []verb) []command {
	list := make([]command, len(verbs))
	for i := range verbs {
		v := &verbs[i]
		args := argumentNames.ReplaceAllString(v.args, "")
		list[i] = command{Words: v.word, Args: args, Purpose: v.purpose, Notes: v.notes, Examples: v.examples, Setup: v.setup}
	}
	return list
}

// wordOf returns the word for an argument of the operation, or "" if there is none.
func (v *verb) wordOf(argument string) string {
	for _, spec := range strings.Fields(v.args) {
		word, names, _ := strings.Cut(spec, "=")
		if slices.Contains(strings.Split(strings.ReplaceAll(names, "|", ","), ","), argument) {
			return strings.Trim(word, "[]")
		}
	}
	return ""
}

// setup declares a flag for each of the operation's arguments that can be given by flag.
func (v *verb) setup(set *flag.FlagSet) action {
	r := &verbRun{verb: v, flags: map[string]*flag.Flag{}}
	for _, kind := range v.kinds {
		for _, arg := range kind.Args() {
			if _, too := v.flags[arg.Name]; r.flags[arg.Name] == nil && (too || v.wordOf(arg.Name) == "") {
				r.flags[arg.Name] = v.declare(set, arg)
			}
		}
	}
	if strings.Contains(v.args, "AMOUNT") {
		set.BoolVar(&r.minor, "minor", false, "AMOUNT counts the smallest units of the class")
	}
	r.tx.declareForVerb(set)
	return r.run
}

// declare declares the flag for an argument of the operation.
func (v *verb) declare(set *flag.FlagSet, arg ledger.Arg) *flag.Flag {
	known := cmp.Or(v.flags[arg.Name], verbFlags[arg.Name])
	name := cmp.Or(known.name, strings.ReplaceAll(arg.Name, "_", "-"))
	switch arg.Type {
	case ledger.ArgFlag, ledger.ArgBool:
		set.Bool(name, arg.Type == ledger.ArgBool, known.usage)
	case ledger.ArgKind, ledger.ArgRotation:
		set.Var(&choice{of: argValues(arg.Type)}, name, known.usage)
	default:
		set.Var(new(textFlag), name, known.usage)
	}
	return set.Lookup(name)
}
