package ctl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

type verbRun struct {
	verb  *verb
	flags map[string]*flag.Flag // by argument of the operation
	tx    txFlags
	minor bool
}

func (r *verbRun) run(c *call) error {
	given, err := r.arguments(c.args)
	if err != nil {
		return err
	}
	if amount, ok := given["quantity"]; ok && !r.minor {
		if given["quantity"], err = c.minorUnits(amount, given); err != nil {
			return err
		}
		if err = c.sameLedger(r.tx.dryRun); err != nil {
			return err
		}
	}
	op, err := r.operation(given)
	if err != nil {
		return err
	}
	body, err := r.tx.bodyOf([]ledger.Op{op})
	if err != nil {
		return err
	}
	var made struct {
		Operations []operation
	}
	if err := json.Unmarshal(body, &made); err != nil {
		return err
	}
	words, err := made.Operations[0].words()
	if err != nil {
		return err
	}
	c.made = []string{words}
	if r.verb.path == "" || r.tx.dryRun {
		return r.tx.send(c, "/v1/commit", body)
	}
	var args struct{ Request json.RawMessage }
	if err := json.Unmarshal(made.Operations[0].Args, &args); err != nil {
		return err
	}
	if body, err = r.tx.appendMetadata(bytes.TrimSuffix(args.Request, []byte("}")), ","); err != nil {
		return err
	}
	return r.tx.send(c, r.verb.path, append(body, '}'))
}

func (r *verbRun) arguments(words []string) (map[string]string, error) {
	given := map[string]string{}
	for name, f := range r.flags {
		if isGiven(f) {
			given[name] = f.Value.String()
		}
	}
	specs := strings.Fields(r.verb.args)
	for i, word := range words {
		shown, names, _ := strings.Cut(specs[i], "=")
		number, other, either := strings.Cut(names, "|")
		if either && !isInteger(word) {
			number = other
		}
		list := strings.Split(number, ",")
		parts := []string{word}
		switch {
		case len(list) > 1 && !either: // WIDTHxHEIGHT
			parts = strings.Split(word, "x")
		case len(list) > 1:
			parts = strings.Split(word, ",")
		}
		if len(parts) != len(list) && either {
			return nil, usagef("%s is %q, but must be a slot's number or a cell as X,Y", shown, word)
		} else if len(parts) != len(list) || slices.Contains(parts, "") {
			return nil, usagef("%s is %q, but must be two integers, such as 2x3", shown, word)
		}
		for j, name := range list {
			if _, twice := given[name]; twice {
				return nil, usagef("%s is given twice, as %s and as %s", name, word, r.shown(name))
			}
			given[name] = parts[j]
		}
	}
	return given, nil
}

func (r *verbRun) operation(given map[string]string) (ledger.Op, error) {
	r.verb.defaults(given)
	kind := r.verb.kinds[0]
	for _, k := range r.verb.kinds {
		if allRequired(k, given) {
			kind = k
			break
		}
	}
	words := []string{kind.String()}
	var op ledger.Op
	for _, arg := range kind.Args() {
		value, ok := given[arg.Name]
		if !ok {
			continue
		}
		word := arg.Name + "=" + spelled(arg.Type, value)
		if !ledger.ValidWord(kind, word) {
			return op, usagef("%s is %q, but must be %s", r.shown(arg.Name), value, valuesOf(arg))
		}
		words = append(words, word)
		delete(given, arg.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return op, usagef("%s is %q, which can't be combined with the other arguments; see ledgerctl %s -h", r.shown(name), given[name], r.verb.word)
	}
	op, err := ledger.ParseOpList(words)
	if err != nil {
		name, why, missing := strings.Cut(err.Error(), " is missing: ")
		if !missing {
			return op, usagef("%v", err)
		}
		if len(r.verb.kinds) > 1 {
			why += "; see ledgerctl " + r.verb.word + " -h"
		}
		return op, usagef("%s is missing: %s", r.shown(name), why)
	}
	return op, nil
}

// shown returns the flag or word for an argument of the operation.
func (r *verbRun) shown(argument string) string {
	word := r.verb.wordOf(argument)
	if word != "" && !isGiven(r.flags[argument]) {
		return word
	}
	name, _ := r.verb.flag(argument)
	return "-" + name
}

func isGiven(f *flag.Flag) bool { return f != nil && f.Value.String() != f.DefValue }

func valuesOf(arg ledger.Arg) string {
	switch arg.Type {
	case ledger.ArgPeriod:
		return "a length of time such as 15m, or a number of seconds up to 315360000"
	case ledger.ArgTime:
		return "a time such as 2027-01-31T12:00:00Z, or a number of seconds since 1970"
	case ledger.ArgInstance:
		return "the number of an instance"
	}
	switch arg.Name {
	case "hold_id":
		return "a number that you choose, such as 18: " + arg.Type.Values()
	case "quantity":
		return "an integer, because with -minor it counts the smallest units"
	}
	return arg.Type.Values()
}

// defaults adds arguments that are optional for the verb, but required by its operation:
// the key 0, the code as the name, and the kind that the size of a container implies.
func (v *verb) defaults(given map[string]string) {
	for _, arg := range v.kinds[0].Args() {
		if _, ok := given[arg.Name]; ok || !arg.Required {
			continue
		}
		switch {
		case arg.Name == "key":
			given[arg.Name] = "0"
		case arg.Type == ledger.ArgName && given["code"] != "":
			given[arg.Name] = given["code"]
		case arg.Type == ledger.ArgKind:
			kind := ledger.Standard
			if given["slot_count"] != "" {
				kind = ledger.Slots
			} else if given["grid_width"] != "" || given["grid_height"] != "" {
				kind = ledger.Grid
			}
			given[arg.Name] = kind.String()
		}
	}
}

func allRequired(kind ledger.OpKind, given map[string]string) bool {
	return !slices.ContainsFunc(kind.Args(), func(arg ledger.Arg) bool {
		_, ok := given[arg.Name]
		return arg.Required && !ok
	})
}

// spelled converts a value to the form of operations: durations and times in seconds.
func spelled(t ledger.ArgType, value string) string {
	switch t {
	case ledger.ArgPeriod:
		if d, err := time.ParseDuration(value); err == nil && d%time.Second == 0 {
			return strconv.FormatInt(int64(d/time.Second), 10)
		}
	case ledger.ArgTime:
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return strconv.FormatInt(at.Unix(), 10)
		}
	}
	return value
}

// minorUnits converts an amount to the smallest units of the class, or of the class of the
// hold.
func (c *call) minorUnits(amount string, given map[string]string) (string, error) {
	const inMinor = "with -minor, AMOUNT is in smallest units and no read is needed"
	if strings.Trim(strings.Replace(amount, ".", "", 1), "0123456789") != "" || strings.Trim(amount, ".") != amount || amount == "" {
		return "", usagef("AMOUNT is %q, but must be a positive number such as 25 or 25.50", amount)
	}
	ref, ok := given["class_id"]
	if !ok {
		var err error
		if ref, err = c.classOfHold(given["hold_id"]); err != nil {
			return "", fmt.Errorf("%w (the class of %s is needed for its decimals; %s)", err, amount, inMinor)
		}
	}
	if err := checkRef("CLASS", ref); err != nil {
		return "", usagef("CLASS is %q, but %v", ref, err)
	}
	class, err := c.class(ref)
	if client.Code(err) == string(ledger.ClassNotFound) {
		return "", fmt.Errorf("%w%s", err, c.nearClass(ref))
	}
	if err != nil {
		return "", fmt.Errorf("%w (class %s is needed for its decimals; %s)", err, ref, inMinor)
	}
	c.unit = class
	whole, fraction, _ := strings.Cut(amount, ".")
	if len(fraction) > class.Decimals {
		return "", usagef("%s has %s, and class %s has %d", amount, count(len(fraction), "decimal"), ref, class.Decimals)
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", class.Decimals-len(fraction)), "0")
	const most = "9223372036854775807"
	switch _, err := strconv.ParseInt(digits, 10, 64); {
	case digits == "":
		return "", usagef("AMOUNT is %q, but must be at least %s", amount, withDecimals("1", class.Decimals))
	case err != nil:
		return "", usagef("AMOUNT is %q, but must be at most %s", amount, withDecimals(most, class.Decimals))
	}
	return digits, nil
}

func (c *call) nearClass(code string) string {
	var page struct{ Classes []classData }
	if c.read("/v1/read/classes", nil, &page) != nil {
		return ""
	}
	var codes []string
	for _, class := range page.Classes {
		if strings.EqualFold(class.Code, code) {
			return fmt.Sprintf(" (did you mean %q?)", class.Code)
		}
		codes = append(codes, class.Code)
	}
	return cmp.Or(didYouMean(code, codes), ": ledgerctl read classes lists them")
}

func (c *call) classOfHold(id string) (string, error) {
	if err := checkRef("HOLD", id); err != nil {
		return "", usagef("HOLD is %q, but %v", id, err)
	}
	a, err := c.readFresh("/v1/read/hold/" + id)
	if err != nil {
		return "", err
	}
	var hold entry
	err = a.data(&hold)
	return string(hold["class_id"]), err
}
