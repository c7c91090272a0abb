package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assetledger/server/servertest/longtest"
)

// formLines are transactions that have a form.
var formLines = []string{
	oneTransfer,
	`{"operations":[{"op":"TransferFungible","args":{"from_container":1,"to_container":2,"class_id":1,"key":0,"quantity":5}}],"idempotency_key":"6ba7-b810"}`,
	`{"idempotency_key" : "k 1" , "operations" : [ { "args" : { "quantity" : 5 , "key" : 0 , "class_id" : 1 , "container_id" : 7 } , "op" : "AddFungible" } ] } `,
	`{"operations":[{"op":"RequireBalance","args":{"container_id":3,"class_id":1,"key":0,"at_most":10}},{"op":"AddFungible","args":{"container_id":3,"class_id":1,"key":0,"quantity":5,"y":1,"x":2}}]}`,
	`{"operations":[{"op":"CreateContainer","args":{"container_id":9,"kind":"Grid","owner":null,"grid_height":4,"grid_width":2}}]}`,
	`{"operations":[{"op":"MintInstance","args":{"class_id":1,"key":0,"container_id":5,"slot_index":3}},{"op":"BurnInstance","args":{"instance_id":8}}]}`,
	`{"operations":[{"op":"RegisterClassShape","args":{"request":{"class_id":1,"key":2,"width":3,"height":4}}}]}`,
	`{"operations":[{"op":"SettleHold","args":{"hold_id":7,"to_container":2,"keep":true,"quantity":3,"x":0,"y":1}},{"op":"ReleaseHold","args":{"hold_id":7}}]}`,
	`{"operations":[{"op":"HoldFungible","args":{"hold_id":7,"container_id":1,"class_id":1,"key":0,"quantity":5,"expires_in":60}}]}`,
}

// Transactions without a form.
var formlessLines = []string{
	keyedTransfer,
	oneTransfer[:len(oneTransfer)-1] + `,"metadata":{"a":"b"}}`,
	`{"metadata":{"key":7},"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":5}}]}`,
	`{"operations":[{"op":"TransferFungible","args":{"from_container":"a/1","to_container":2,"class_id":1,"key":0,"quantity":5}}]}`,
	`{"operations":[{"op":"MintInstance","args":{"class_id":1}},{"op":"BurnInstance","args":{"instance_id":{"minted":0}}}]}`,
	`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":5,"x":1,"y":1,"rotation":90}}]}`,
	`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":-5}}]}`,
	`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"\u006bey":0,"quantity":5}}]}`,
	`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":5}}],"idempotency_key":"\u006b"}`,
	`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":5}}],"reverses":4}`,
	`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold 1"}}}]}`,
	`{"operations":[{"op":"RenameContainer","args":{"container_id":1,"name":null}}` + strings.Repeat(" ", formBytes) + `]}`,
}

// parseTwo parses two lines, as lines of a stream and as a batch. If the first line has
// a form, the second one is tried with it. parseTwo compares the results with those of
// the parser without forms, and reports whether the second line had the form.
func parseTwo(t *testing.T, first, second []byte, lim ParseLimits) (had bool) {
	t.Helper()
	var lines BatchRequest
	for i, line := range [][]byte{first, second} {
		score := lines.parser.form.score
		lines.ParseLine(line, lim)
		had = lines.parser.form.score > score
		var alone Transaction
		err := ParseTransaction(line, &alone, lim)
		if alone.scratch = nil; err != nil {
			alone = Transaction{}
		}
		if !reflect.DeepEqual(err, lines.Errs[i]) || !reflect.DeepEqual(alone, lines.Txs[i]) {
			t.Fatalf("%s\nafter %s\ngives %+v (%v), without forms %+v (%v)", line, first, lines.Txs[i], lines.Errs[i], alone, err)
		}
	}
	if n := len(lines.Txs[0].Ops) + len(lines.Txs[1].Ops); n != len(lines.parser.ops) {
		t.Fatalf("%s\nafter %s\ntakes the memory of %d operations, want %d", second, first, len(lines.parser.ops), n)
	}
	body := slices.Concat([]byte(`{"transactions":[`), first, []byte(","), second, []byte("]}"))
	var batch BatchRequest
	if wellFormed(body, DefaultNesting) && ParseBatch(body, &batch, ParseLimits{}) == nil {
		compareWithSingle(t, body, &batch)
	}
	return had
}

func TestForms(t *testing.T) {
	for _, line := range formLines {
		other := []byte(line)
		for i, c := range other {
			if c-'0' < 9 {
				other[i]++
			}
		}
		if !parseTwo(t, []byte(line), other, ParseLimits{}) {
			t.Errorf("%s does not have the form of %s", other, line)
		}
	}
	for _, line := range formlessLines {
		if parseTwo(t, []byte(line), []byte(line), ParseLimits{}) {
			t.Errorf("%s has a form, want none", line)
		}
	}
}

// Text that replaces a byte or a number, or is inserted anywhere.
var formMutations = []string{
	"0", "00", "01", "-0", "-1", "1.0", "1e3", "1E3", ".5", "65536", "65537", "1024", "1025", "315360001", "999999999999999999", "1000000000000000000",
	"9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551617", "100000000000000000000000000000000000001",
	"null", "true", "false", `"a"`, `"1"`, `{"minted":0}`, "{}", "[]", "", " ", "\t", "\r", ",", ":", `"`, `\`, `\"`, `\u0031`, "\x00", "\x1f", "\x7f", "\xff", "é", "{", "}",
	strings.Repeat("k", 255), strings.Repeat("k", 256), `,"key":0`, `,"idempotency_key":"k"`, `,"metadata":{"a":1}`, `,"reverses":1`,
}

// mutate changes the line in one to three places.
func mutate(r *rand.Rand, line string) []byte {
	b := []byte(line)
	for range 1 + r.IntN(3) {
		text := []byte(formMutations[r.IntN(len(formMutations))])
		from := r.IntN(len(b) + 1)
		to := from
		switch r.IntN(4) {
		case 0: // a byte
			to = min(from+1, len(b))
		case 1, 2: // a number, or digits of an idempotency key
			for from > 0 && from < len(b) && b[from]-'0' > 9 {
				from--
			}
			for to = from; to < len(b) && b[to]-'0' <= 9; {
				to++
			}
		}
		b = slices.Concat(b[:from], text, b[to:])
	}
	return b
}

// TestFormsOfMutatedLines checks that a line is parsed as it would be without forms,
// whatever form came before.
func TestFormsOfMutatedLines(t *testing.T) {
	t.Parallel()
	rounds := 1000
	if !longtest.Form(t, "six of ten mutated lines") {
		rounds = 400
	}
	r := rand.New(rand.NewPCG(12, 34))
	had := 0
	for _, line := range slices.Concat(formLines, formlessLines) {
		for range rounds {
			if parseTwo(t, []byte(line), bytes.TrimSpace(mutate(r, line)), ParseLimits{}) {
				had++
			}
		}
	}
	if had < rounds/4 {
		t.Errorf("%d lines had the form of the previous one, want at least %d", had, rounds/4)
	}
}

// TestFormsAndLimits checks that a form is not used with limits other than those that
// it was learned with.
func TestFormsAndLimits(t *testing.T) {
	condition := []byte(`{"operations":[{"op":"RequireBalance","args":{"container_id":3,"class_id":1,"key":0,"at_most":10}}]}`)
	for _, lims := range [][2]ParseLimits{{{Conditions: true}, {}}, {{}, {Nesting: 3}}} {
		var b BatchRequest
		for _, line := range []string{string(condition), oneTransfer} {
			b.Reset()
			b.ParseLine([]byte(line), lims[0])
			b.ParseLine([]byte(line), lims[1])
			var alone Transaction
			if err := ParseTransaction([]byte(line), &alone, lims[1]); !reflect.DeepEqual(err, b.Errs[1]) {
				t.Errorf("%s with %+v: %v, without forms %v", line, lims[1], b.Errs[1], err)
			}
		}
	}
}

// TestFormsAreGivenUp checks that a form that does not fit is given up, and that forms
// that never fit are seldom tried.
func TestFormsAreGivenUp(t *testing.T) {
	var b BatchRequest
	parse := func(line string) (learned bool) {
		before := string(b.parser.form.text)
		b.Reset()
		if b.ParseLine([]byte(line), ParseLimits{}); b.Errs[0] != nil {
			t.Fatal(b.Errs[0])
		}
		return before != string(b.parser.form.text)
	}
	learned := 0
	for i := range 10_000 {
		if parse(fmt.Sprintf(`{"operations":[{"op":"ReleaseHold","args":{"hold_id":%s7}}]}`, strings.Repeat(" ", i%100))) {
			learned++
		}
	}
	if learned == 0 || learned > 40 {
		t.Errorf("%d forms were learned from 10,000 different lines, want 1 to 40", learned)
	}
	for i := range 3 * formPause {
		parse(formLines[i/formPause%2])
	}
	if f := &b.parser.form; f.score != formScore || string(f.text) != formLines[0] {
		t.Errorf("after many lines, the form has score %d: %s; want %d: %s", f.score, f.text, formScore, formLines[0])
	}
}

func FuzzForms(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, line := range slices.Concat(formLines, formlessLines) {
		f.Add([]byte(line), []byte(line))
		f.Add([]byte(line), mutate(r, line))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		parseTwo(t, first, second, ParseLimits{})
	})
}
