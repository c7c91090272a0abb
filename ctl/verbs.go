package ctl

import (
	"flag"
	"slices"
	"strings"

	"assetledger/ledger"
)

// A verb is a command for people that makes one operation. Its flags, and which of
// its kinds it makes, come from the operations' own table.
type verb struct {
	word string
	// args are its arguments: WORD=argument of the operation. With a|b, a takes an
	// integer and b anything else; with b,c it has two parts separated by a comma.
	args           string
	kinds          []ledger.OpKind // the first whose required arguments were all given
	purpose, notes string
	examples       [2]string
}

var verbs = []verb{
	{word: "create", args: "NAME=container_id|name", kinds: []ledger.OpKind{ledger.CreateContainer}, purpose: "create a container",
		notes: "NAME is a name, to which the ledger assigns an id, or an id. The kind is Standard, which holds quantities;\n" +
			"Slots with -slot-count, such as a bag; Grid with -grid-width and -grid-height, such as a shelf.",
		examples: [2]string{"create wallet/7 -owner 7", "create shelf/1 -grid-width 6 -grid-height 3"}},
	{word: "rename", args: "CONTAINER=container_id NAME=name", kinds: []ledger.OpKind{ledger.RenameContainer}, purpose: "give a container another name",
		notes: "NAME null takes the name away. A class is renamed with ledgerctl commit RenameClass.", examples: [2]string{"rename wallet/7 users/7", "rename wallet/7 null"}},
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
		purpose: "move a part of a stack to another key", notes: "FROM and TO are keys of the class. In a grid a new stack is placed at -x and -y, or where it fits first.\n" + amountNote,
		examples: [2]string{"split shelf/1 8 crate 0 3", "split shelf/1 8 crate 0 3 -x 2 -y 0"}},
	{word: "merge", args: "CONTAINER=container_id CLASS=class_id FROM=from_key TO=to_key", kinds: []ledger.OpKind{ledger.MergeStacks},
		purpose: "move all of a stack into another of its class", notes: "FROM and TO are keys of the class. ledgerctl commit ConsolidateStacks merges all of its stacks.",
		examples: [2]string{"merge shelf/1 crate 3 0", "merge shelf/1 crate 3 0 -dry-run"}},
	{word: "hold", args: "HOLD=hold_id CONTAINER=container_id AMOUNT=quantity CLASS=class_id", kinds: []ledger.OpKind{ledger.HoldFungible},
		purpose: "set an amount aside: settle or release it later", notes: "HOLD is a number of yours, such as that of the order.\n" + amountNote,
		examples: [2]string{"hold 17 wallet/7 25.50 EUR -expires-in 15m", "hold 18 shelf/1 4 crate"}},
	{word: "settle", args: "HOLD=hold_id TO=to_container [AMOUNT]=quantity", kinds: []ledger.OpKind{ledger.SettleHold},
		purpose: "transfer what a hold holds, or a part of it", notes: "What is not settled is released, or with -keep stays held.\n" +
			"A commit that settles can't be reversed: to undo it, transfer the amount back.\n" + amountNote,
		examples: [2]string{"settle 17 shop", "settle 17 shop 20.00 -keep"}},
	{word: "release", args: "HOLD=hold_id", kinds: []ledger.OpKind{ledger.ReleaseHold}, purpose: "end a hold",
		examples: [2]string{"release 17", "release 17 -dry-run"}},
	{word: "mint", args: "CLASS=class_id", kinds: []ledger.OpKind{ledger.MintInstance}, purpose: "make a new instance",
		examples: [2]string{"mint sword -in bag/7 -slot 3", "mint machine -in shelf/1 -x 0 -y 2"}},
	{word: "place", args: "INSTANCE=instance_id CONTAINER=container_id", kinds: []ledger.OpKind{ledger.PlaceInSlot, ledger.PlaceInGrid},
		purpose: "put an instance that is nowhere into a slot or a grid", notes: "With -slot it goes into that slot, else into a grid: at -x and -y, or where it fits first.",
		examples: [2]string{"place 17 bag/7 -slot 3", "place 17 shelf/1 -x 4 -y 0 -rotation 90"}},
	{word: "take", args: "CONTAINER=container_id", kinds: []ledger.OpKind{ledger.RemoveFromSlot, ledger.RemoveFromGrid},
		purpose: "take an instance out of a slot or a grid", notes: "It takes what is in -slot, or -instance out of a grid. The instance is nowhere then: place puts it elsewhere.",
		examples: [2]string{"take bag/7 -slot 3", "take shelf/1 -instance 17"}},
	{word: "move", args: "CONTAINER=container_id FROM=slot_a|x,y TO=slot_b|to_x,to_y", kinds: []ledger.OpKind{ledger.MoveInGrid, ledger.SwapSlots},
		purpose: "move what is at a cell of a grid, or swap two slots", notes: "FROM and TO are cells, as X,Y, or the numbers of slots; -other-container says where slot TO is, if elsewhere.",
		examples: [2]string{"move shelf/1 0,0 3,1 -rotation 90", "move bag/7 3 5"}},
	{word: "attach", args: "INSTANCE=instance_id PARENT=parent_id", kinds: []ledger.OpKind{ledger.Attach},
		purpose: "attach an instance that is nowhere to another", notes: "PARENT is an instance too: what is attached to it goes where it goes.",
		examples: [2]string{"attach 18 17", "attach 18 17 -dry-run"}},
	{word: "detach", args: "INSTANCE=instance_id", kinds: []ledger.OpKind{ledger.Detach}, purpose: "detach an instance from the one it is attached to",
		examples: [2]string{"detach 18", "detach 18 -dry-run"}},
	{word: "burn", args: "INSTANCE=instance_id", kinds: []ledger.OpKind{ledger.BurnInstance}, purpose: "destroy an instance",
		examples: [2]string{"burn 17", "burn 17 -key scrap-17"}},
}

const amountNote = "AMOUNT has the class's decimals, for which the class is read; with -minor it counts smallest units."

// verbFlags are the names and descriptions of verbs' flags that differ from the
// argument's name.
var verbFlags = map[string]struct{ name, usage string }{
	"key":                {"stack-key", "`KEY` of the stack or instance within its class (default 0)"},
	"slot_index":         {"slot", "`SLOT`, counted from 0"},
	"instance_id":        {"instance", "`INSTANCE` in a grid"},
	"container_id":       {"in", "`CONTAINER` to put it into"},
	"other_container_id": {"other-container", "`CONTAINER` of the second slot"},
	"owner":              {"", "`OWNER`: a number of yours, such as a user's id"},
	"kind":               {"", "`KIND`: Standard, Slots or Grid (default: Slots or Grid if a size is given, else Standard)"},
	"slot_count":         {"", "number of `SLOTS` of a container of kind Slots (default 64)"},
	"grid_width":         {"", "`CELLS` in a row of a container of kind Grid (default 16)"},
	"grid_height":        {"", "`CELLS` in a column of a container of kind Grid (default 16)"},
	"name":               {"", "`NAME` of a container whose id is given"},
	"x":                  {"", "`COLUMN` of a grid, from 0"},
	"y":                  {"", "`ROW` of a grid, from 0"},
	"rotation":           {"", "`DEGREES`: 0, or 90 with width and height exchanged"},
	"expires_in":         {"", "`TIME` after which it ends by itself, such as 15m, or a number of seconds"},
	"expires_at":         {"", "`TIME` when it ends by itself, such as 2027-01-31T12:00:00Z"},
	"keep":               {"", "what is not settled stays held"},
}

// flagName returns the name of the flag for an argument of an operation.
func flagName(argument string) string {
	if known := verbFlags[argument].name; known != "" {
		return known
	}
	return strings.ReplaceAll(argument, "_", "-")
}

// verbCommands returns the commands of the verbs.
func verbCommands() []command {
	list := make([]command, len(verbs))
	for i := range verbs {
		v := &verbs[i]
		var args []string
		for _, spec := range strings.Fields(v.args) {
			word, _, _ := strings.Cut(spec, "=")
			args = append(args, word)
		}
		list[i] = command{Words: v.word, Args: strings.Join(args, " "), Purpose: v.purpose, Notes: v.notes, Examples: v.examples, Setup: v.setup}
	}
	return list
}

// takesWord reports whether an argument of the operation is one of the words.
func (v *verb) takesWord(argument string) bool {
	for _, spec := range strings.Fields(v.args) {
		_, names, _ := strings.Cut(spec, "=")
		if slices.Contains(argumentsOf(names), argument) && (argument != "name" || names == "name") {
			return true
		}
	}
	return false
}

// argumentsOf returns the arguments of the operation that a word may stand for.
func argumentsOf(names string) []string {
	return strings.FieldsFunc(names, func(r rune) bool { return r == '|' || r == ',' })
}

// setup declares a flag for each argument of the operation that is not a word.
func (v *verb) setup(set *flag.FlagSet) action {
	r := &verbRun{verb: v, set: set, flags: map[string]flag.Value{}}
	for _, kind := range v.kinds {
		for _, arg := range kind.Args() {
			if r.flags[arg.Name] == nil && !v.takesWord(arg.Name) {
				r.declare(arg)
			}
		}
	}
	if strings.Contains(v.args, "AMOUNT") {
		set.BoolVar(&r.minor, "minor", false, "AMOUNT counts the smallest units of the class")
	}
	r.dryRun = declareDryRun(set)
	set.StringVar(&r.tx.metadata, "metadata", "", "`JSON` object to keep with the commit")
	declareKey(set, &r.tx.key)
	return r.run
}

func (r *verbRun) declare(arg ledger.Arg) {
	name, usage := flagName(arg.Name), verbFlags[arg.Name].usage
	switch arg.Type {
	case ledger.ArgFlag:
		r.set.Bool(name, false, usage)
		r.flags[arg.Name] = r.set.Lookup(name).Value
		return
	case ledger.ArgKind, ledger.ArgRotation:
		r.flags[arg.Name] = &choice{of: argValues(arg.Type)}
	default:
		r.flags[arg.Name] = new(textFlag)
	}
	r.set.Var(r.flags[arg.Name], name, usage)
}
