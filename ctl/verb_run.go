package ctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetledger/ledger"
)

// A verbRun is one use of a verb.
type verbRun struct {
	verb   *verb
	set    *flag.FlagSet
	flags  map[string]flag.Value // by argument of the operation
	tx     txFlags
	minor  bool
	dryRun bool
}

func (r *verbRun) run(c *call) error {
	if err := checkKey(r.tx.key); err != nil {
		return err
	}
	given, err := r.arguments(c.args)
	if err != nil {
		return err
	}
	if amount, ok := given["quantity"]; ok && !r.minor {
		if given["quantity"], err = c.minorUnits(amount, given); err != nil {
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
	if c.made, err = wordsOf(op); err != nil {
		return err
	}
	if r.dryRun {
		return c.preflight(body, r.tx.key)
	}
	return c.commitAt("/v1/commit", body, r.tx.key, r.tx.key != "")
}

// arguments are the arguments of the operation by name, from words and flags.
func (r *verbRun) arguments(words []string) (map[string]string, error) {
	given := map[string]string{}
	for name, value := range r.flags {
		if s := value.String(); s != "" && s != "false" {
			given[name] = s
		}
	}
	specs := strings.Fields(r.verb.args)
	if len(words) > len(specs) {
		return nil, usagef("%s does not take %q; see ledgerctl %s -h", r.verb.word, words[len(specs)], r.verb.word)
	}
	for i, word := range words {
		shown, names, _ := strings.Cut(specs[i], "=")
		number, other, either := strings.Cut(names, "|")
		if either && !isInteger(word) {
			number = other
		}
		list := strings.Split(number, ",")
		parts := []string{word}
		if len(list) > 1 {
			parts = strings.Split(word, ",")
		}
		if len(parts) != len(list) {
			return nil, usagef("%s is %q, and must be a slot's number or a cell as X,Y", shown, word)
		}
		for j, name := range list {
			if _, twice := given[name]; twice {
				return nil, usagef("%s is given twice, as %s and as -%s", name, word, flagName(name))
			}
			given[name] = parts[j]
		}
	}
	return given, nil
}

// operation makes the operation of the verb that the arguments are of.
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
	for _, arg := range kind.Args() {
		if value, ok := given[arg.Name]; ok {
			words = append(words, arg.Name+"="+spelled(arg.Type, value))
			delete(given, arg.Name)
		}
	}
	if len(given) > 0 {
		rest := slices.Sorted(maps.Keys(given))
		return ledger.Op{}, usagef("%s makes %s here, which takes no %s; see ledgerctl %s -h", r.verb.word, kind, strings.Join(rest, ", "), r.verb.word)
	}
	op, err := ledger.ParseOpList(words)
	if err != nil {
		return ledger.Op{}, usagef("%v", err)
	}
	return op, nil
}

// defaults adds what a verb may leave out and its operation may not: the key 0,
// and the kind that the size of a new container is of.
func (v *verb) defaults(given map[string]string) {
	for _, arg := range v.kinds[0].Args() {
		if _, ok := given[arg.Name]; ok || !arg.Required {
			continue
		}
		switch arg.Type {
		case ledger.ArgKey:
			given[arg.Name] = "0"
		case ledger.ArgKind:
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

// spelled is a value as operations have it: a length of time in seconds, a time
// in seconds since 1970.
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

// wordsOf is an operation as -op takes it.
func wordsOf(op ledger.Op) (string, error) {
	var shown []operation
	if err := json.Unmarshal(ledger.AppendOperations(nil, []ledger.Op{op}), &shown); err != nil {
		return "", err
	}
	return shown[0].words()
}

// minorUnits is an amount in the smallest units of its class: of the class that
// is given, or of the hold that is.
func (c *call) minorUnits(amount string, given map[string]string) (string, error) {
	const inMinor = "-minor gives it in smallest units, without a read"
	if strings.Trim(strings.Replace(amount, ".", "", 1), "0123456789") != "" || strings.Trim(amount, ".") != amount || amount == "" {
		return "", usagef("AMOUNT is %q, and must be a number such as 25 or 25.50", amount)
	}
	ref, ok := given["class_id"]
	if !ok {
		var err error
		if ref, err = c.classOfHold(given["hold_id"]); err != nil {
			return "", fmt.Errorf("%w (the class of %s is needed for its decimals; %s)", err, amount, inMinor)
		}
	}
	if err := checkRef("CLASS", ref); err != nil {
		return "", usagef("CLASS is %q, and %v", ref, err)
	}
	class, err := c.class(ref)
	if err != nil {
		return "", fmt.Errorf("%w (class %s is needed for its decimals; %s)", err, ref, inMinor)
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	if len(fraction) > class.Decimals {
		return "", usagef("%s has %s, and class %s has %d", amount, count(len(fraction), "decimal"), ref, class.Decimals)
	}
	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", class.Decimals-len(fraction)), "0")
	if digits == "" {
		digits = "0"
	}
	return digits, nil
}

func (c *call) classOfHold(id string) (string, error) {
	if err := checkRef("HOLD", id); err != nil {
		return "", usagef("HOLD is %q, and %v", id, err)
	}
	a, err := c.readFresh("/v1/read/hold/" + id)
	if err != nil {
		return "", err
	}
	var page struct{ Data entry }
	err = a.decode(&page)
	return string(page.Data["class_id"]), err
}
