package ctl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
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
		if given["quantity"], err = c.minorUnits(amount, given); err == nil {
			err = c.sameLedger(r.tx.dryRun)
		}
		if err != nil {
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
	var made struct{ Operations []operation }
	json.Unmarshal(body, &made) // what bodyOf has encoded
	words, err := made.Operations[0].words(argValue)
	if err != nil {
		return err
	}
	c.made = []string{words}
	if r.verb.path == "" || r.tx.dryRun {
		return r.tx.send(c, "/v1/commit", body)
	}
	var args struct{ Request json.RawMessage }
	json.Unmarshal(made.Operations[0].Args, &args)
	if body, err = r.tx.appendMetadata(bytes.TrimSuffix(args.Request, []byte("}")), ","); err != nil {
		return err
	}
	return r.tx.send(c, r.verb.path, append(body, '}'))
}

// arguments returns the operation's arguments, from the flags and the words.
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
		names, other, either := strings.Cut(names, "|")
		separator, want := "x", "two integers, such as 2x3" // WIDTHxHEIGHT
		if either {
			separator, want = ",", "a slot's number or a cell as X,Y"
			if !isInteger(word) {
				names = other
			}
		}
		list, parts := strings.Split(names, ","), []string{word}
		if len(list) > 1 {
			parts = strings.Split(word, separator)
		}
		if len(parts) != len(list) || slices.Contains(parts, "") {
			return nil, usagef("%s is %q, but must be %s", shown, word, want)
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

// operation returns the operation of the first kind whose required arguments are all given.
func (r *verbRun) operation(given map[string]string) (op ledger.Op, err error) {
	r.verb.defaults(given)
	kind := r.verb.kinds[max(0, slices.IndexFunc(r.verb.kinds, func(k ledger.OpKind) bool { return allRequired(k, given) }))]
	words := []string{kind.String()}
	for _, arg := range kind.Args() {
		value, ok := given[arg.Name]
		if !ok {
			continue
		}
		word := arg.Name + "=" + spelled(arg.Type, value)
		if !ledger.ValidWord(kind, word) {
			return op, usagef("%s is %q, but must be %s", r.shown(arg.Name), value, cmp.Or(verbValues[arg.Type], arg.Type.Values()))
		}
		words = append(words, word)
		delete(given, arg.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		return op, usagef("%s is %q, which can't be combined with the other arguments; see ledgerctl %s -h", r.shown(name), given[name], r.verb.word)
	}
	if op, err = ledger.ParseOpList(words); err != nil {
		name, why, missing := strings.Cut(err.Error(), " is missing: ")
		if !missing {
			return op, usagef("%v", err)
		}
		return op, usagef("%s is missing: %s; see ledgerctl %s -h", r.shown(name), why, r.verb.word)
	}
	return op, nil
}

// shown returns the flag or word for an argument of the operation.
func (r *verbRun) shown(argument string) string {
	word, f := r.verb.wordOf(argument), r.flags[argument]
	if f != nil && (word == "" || isGiven(f)) {
		return "-" + f.Name
	}
	return word
}

func isGiven(f *flag.Flag) bool { return f != nil && f.Value.String() != f.DefValue }

// verbValues describes the values of types that verbs spell differently than operations.
var verbValues = map[ledger.ArgType]string{
	ledger.ArgPeriod:   "a length of time such as 15m, or a number of seconds up to 315360000",
	ledger.ArgTime:     "a time such as 2027-01-31T12:00:00Z, or a number of seconds since 1970",
	ledger.ArgInstance: "the number of an instance",
	ledger.ArgQuantity: "an integer, because with -minor it counts the smallest units",
}

// defaults adds arguments that are optional for the verb, but required by its operation:
// the key 0, the code as the name, and the kind that the size of a container implies.
func (v *verb) defaults(given map[string]string) {
	kind := ledger.Standard
	if given["slot_count"] != "" {
		kind = ledger.Slots
	} else if given["grid_width"] != "" || given["grid_height"] != "" {
		kind = ledger.Grid
	}
	implied := map[string]string{"key": "0", "kind": kind.String(), "name": given["code"]}
	for _, arg := range v.kinds[0].Args() {
		if value := implied[arg.Name]; value != "" && arg.Required && given[arg.Name] == "" {
			given[arg.Name] = value
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
	if d, err := time.ParseDuration(value); t == ledger.ArgPeriod && err == nil && d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10)
	}
	if at, err := time.Parse(time.RFC3339, value); t == ledger.ArgTime && err == nil {
		return strconv.FormatInt(at.Unix(), 10)
	}
	return value
}

// minorUnits converts an amount to the smallest units of the given class, or of the class
// of the given hold.
func (c *call) minorUnits(amount string, given map[string]string) (string, error) {
	whole, fraction, point := strings.Cut(amount, ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole == "" || point && fraction == "" {
		return "", usagef("AMOUNT is %q, but must be a positive number such as 25 or 25.50", amount)
	}
	class, ref, err := c.classOf(given)
	if client.Code(err) == string(ledger.ClassNotFound) {
		return "", fmt.Errorf("%w%s", err, c.nearClass(ref))
	} else if exitCode(err) == exitUsage {
		return "", err
	} else if err != nil {
		return "", fmt.Errorf("%w (the decimals of the class are needed; with -minor, AMOUNT is in smallest units and no read is needed)", err)
	}
	c.unit = class
	if len(fraction) > class.Decimals {
		return "", usagef("%s has %s, and class %s has %d", amount, count(len(fraction), "decimal"), ref, class.Decimals)
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", class.Decimals-len(fraction)), "0")
	_, err = strconv.ParseInt(digits, 10, 64)
	switch {
	case digits == "":
		return "", usagef("AMOUNT is %q, but must be at least %s", amount, withDecimals("1", class.Decimals))
	case err != nil:
		return "", usagef("AMOUNT is %q, but must be at most %s", amount, withDecimals(strconv.Itoa(math.MaxInt64), class.Decimals))
	}
	return digits, nil
}

// classOf returns the class of an amount: that of the arguments, or that of their hold.
func (c *call) classOf(given map[string]string) (class *classData, ref string, err error) {
	ref = given["class_id"]
	if ref == "" {
		if err := checkRef("HOLD", given["hold_id"]); err != nil {
			return nil, ref, usagef("HOLD is %q, but %v", given["hold_id"], err)
		}
		var hold entry
		if err := c.readFresh("/v1/read/hold/"+given["hold_id"], &hold); err != nil {
			return nil, ref, err
		}
		ref = string(hold["class_id"])
	}
	if err := checkRef("CLASS", ref); err != nil {
		return nil, ref, usagef("CLASS is %q, but %v", ref, err)
	}
	class, err = c.class(ref)
	return class, ref, err
}

func (c *call) nearClass(code string) string {
	var page struct{ Classes []classData }
	if c.read("/v1/read/classes", nil, &page) != nil {
		return ""
	}
	var codes []string
	for _, class := range page.Classes {
		if strings.EqualFold(class.Code, code) {
			return didMean(class.Code)
		}
		codes = append(codes, class.Code)
	}
	return cmp.Or(didYouMean(code, codes), ": ledgerctl read classes lists them")
}
