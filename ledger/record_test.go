package ledger

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sampleRecords returns a record for each part of format version 1.
func sampleRecords(t *testing.T) (names []string, records []Record) {
	add := func(name, body string, out Outcome, principal string) {
		tx, err := parseOne(body)
		if err != nil {
			t.Fatal(name, err)
		}
		tx.scratch = nil
		if principal != "" {
			tx.Principal = []byte(principal)
		}
		names = append(names, name)
		records = append(records, Record{Tx: tx, Out: out})
	}
	add("one transfer", oneTransfer, Outcome{}, "")
	add("key and metadata", keyedTransfer, Outcome{}, "")
	add("principal", oneTransfer, Outcome{}, "shop")
	add("null owner, large numbers", `{"operations":[{"op":"CreateContainer","args":{"container_id":9223372036854775807,"kind":"Grid","owner":null,"grid_height":1024}}]}`, Outcome{}, "")
	add("minted and attached", `{"operations":[`+mint+`,`+mint+`,{"op":"Attach","args":{"instance_id":{"minted":1},"parent_id":{"minted":0}}}]}`,
		Outcome{FirstMinted: 300, Minted: 2}, "")
	add("decisions", `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":2,"key":3,"quantity":4}},
		{"op":"AddFungible","args":{"container_id":1,"class_id":2,"key":4,"quantity":4,"x":1,"y":2,"rotation":90}},
		{"op":"MergeStacks","args":{"container_id":1,"class_id":2,"from_key":4,"to_key":3}},
		{"op":"AddFungible","args":{"container_id":1,"class_id":2,"key":5,"quantity":4}}]}`,
		Outcome{Decisions: []Decision{{Op: 0, Placed: true, X: 1, Y: 200}, {Op: 2, Quantity: 4}, {Op: 3, Placed: true, X: 1023, Turned: true}}}, "")

	var class Transaction
	if err := ParseRegistration([]byte(`{"class_id":1,"name":"Göld","fungible":false}`), EndpointRegisterClass, &class, ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	class.scratch = nil
	return append(names, "class registered"), append(records, Record{Tx: class})
}

func TestRecordGolden(t *testing.T) {
	names, records := sampleRecords(t)
	var got strings.Builder
	for i, r := range records {
		fmt.Fprintf(&got, "%s\n%x\n\n", names[i], AppendRecord(nil, &r.Tx, &r.Out))
	}
	golden(t, "record_v1.golden", got.String())
}

// golden compares got with a file in testdata, which -update rewrites.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (%v); got\n%s", path, err, got)
	}
}

// TestRecordGolden2 checks a record of version 2 for each operation that needs
// it.
func TestRecordGolden2(t *testing.T) {
	s := newWorld(t)
	accept(t, s, "AddFungible container_id=2 class_id=1 key=0 quantity=9")
	var got strings.Builder
	for _, ops := range []string{
		"CreateContainer container_id=9 kind=Standard name=users/9", "CreateContainer kind=Slots owner=null name=x",
		"RegisterClass class_id=9 name=Göld code=AU", "RegisterClass name=Euro code=EUR",
		"RenameContainer container_id=x name=y", "RenameContainer container_id=y name=null", "RenameContainer container_id=1 name=z",
		"RenameClass class_id=EUR name=Cent", "RenameClass class_id=EUR name=Euro code=null", "RenameClass class_id=1 code=g",
		"RequireBalance container_id=users/9 class_id=g key=0 at_least=0 at_most=5; RequireUnchanged container_id=1 since_seq=300; RequireInstance instance_id=1 container_id=3 slot_index=1",
		"HoldFungible hold_id=300 container_id=2 class_id=g key=0 quantity=9 expires_at=2000000000", "SettleHold hold_id=300 to_container=users/9 quantity=2 keep=true",
		"ReleaseHold hold_id=300", "SplitStack container_id=z class_id=g from_key=0 to_key=7 quantity=1",
	} {
		tx, out := asTx(t, ops), Outcome{}
		noErrors(t, s.Apply(tx, 0, &out))
		record := AppendRecord(nil, tx, &out)
		fmt.Fprintf(&got, "%s\n%x\n\n", ops, record)
		if err := new(Record).Decode(record); err != nil || record[0] != recordVersion2 {
			t.Errorf("%s: version %d, want 2 (%v)", ops, record[0], err)
		}
	}
	golden(t, "record_v2.golden", got.String())
}

// sameRecord compares two records, but not their Facts and Reverses; nil and empty
// slices are equal.
func sameRecord(a, b *Record) bool {
	if len(a.Out.Decisions)+len(b.Out.Decisions) > 0 && !reflect.DeepEqual(a.Out.Decisions, b.Out.Decisions) {
		return false
	}
	return a.Tx.Endpoint == b.Tx.Endpoint && reflect.DeepEqual(a.Tx.Ops, b.Tx.Ops) && a.Tx.Hash == b.Tx.Hash &&
		bytes.Equal(a.Tx.Key, b.Tx.Key) && bytes.Equal(a.Tx.Metadata, b.Tx.Metadata) && bytes.Equal(a.Tx.Principal, b.Tx.Principal) &&
		a.Out.FirstMinted == b.Out.FirstMinted && a.Out.Minted == b.Out.Minted
}

func TestRecordRoundTrip(t *testing.T) {
	_, records := sampleRecords(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		r := Record{Tx: Transaction{Ops: randomOps(rng)}}
		for i, op := range r.Tx.Ops {
			if op.Kind == HoldFungible && op.Given(HoldExpiresIn) { // as Apply leaves it
				r.Tx.Ops[i].Has, r.Tx.Ops[i].Args[HoldExpiresIn] = op.Has&^(1<<HoldExpiresIn), 0
			}
			if op.Kind == MintInstance {
				r.Out.Minted++
				r.Out.FirstMinted = 1 + rng.Int64N(1000)
			}
			if d, ok := part2Decision(rng, &r.Tx.Ops[i], int32(i)); ok {
				r.Out.Decisions = append(r.Out.Decisions, d)
			} else if rng.IntN(3) == 0 {
				d := Decision{Op: int32(i), Quantity: rng.Int64()}
				if rng.IntN(2) == 0 {
					d = Decision{Op: int32(i), Placed: true, X: uint16(rng.IntN(MaxSide)), Y: uint16(rng.IntN(MaxSide)), Turned: rng.IntN(2) == 0}
				}
				r.Out.Decisions = append(r.Out.Decisions, d)
			}
		}
		records = append(records, r)
	}
	var got Record // reused, so that leftovers are detected
	for _, want := range records {
		b := AppendRecord([]byte("before"), &want.Tx, &want.Out)[len("before"):]
		if err := got.Decode(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if !sameRecord(&got, &want) {
			t.Fatalf("%x:\n%+v, want\n%+v", b, got, want)
		}
	}
}

// part2Decision returns a decision that only version 2 has, if the operation
// needs one.
func part2Decision(rng *rand.Rand, op *Op, i int32) (Decision, bool) {
	d := Decision{Op: i}
	switch {
	case newIDArg[op.Kind]&^op.Has != 0:
		d.ID = FirstAssigned + rng.Int64N(1000)
		op.setAssigned(d.ID)
	case op.Kind == RenameContainer:
		d.Renamed, d.Was = true, []string{"", "users/1"}[rng.IntN(2)]
	case op.Kind == RenameClass:
		was := []string{}
		if op.Has&(1<<RenameClassName) != 0 {
			was = append(was, randomName(rng))
		}
		if op.Has&(1<<RenameClassCode) != 0 {
			was = append(was, []string{"", "EUR"}[rng.IntN(2)])
		}
		d.Renamed, d.Was = true, strings.Join(was, "\n")
	default:
		return d, false
	}
	return d, true
}

// TestRecordCutOrExtended checks that every truncated or extended record is rejected.
func TestRecordCutOrExtended(t *testing.T) {
	names, records := sampleRecords(t)
	var got Record
	for i, r := range records {
		b := AppendRecord(nil, &r.Tx, &r.Out)
		for n := range b {
			if err := got.Decode(b[:n]); err == nil {
				t.Errorf("%s: %d bytes of %d are accepted", names[i], n, len(b))
			}
		}
		if err := got.Decode(append(b, 0)); err == nil {
			t.Errorf("%s: an extra byte is accepted", names[i])
		}
	}
}

func TestRecordRefusals(t *testing.T) {
	const version, commit = 1, 0
	remove := []byte{byte(RemoveContainer), 1, 5} // container_id=5
	head := func(rest ...byte) []byte { return append([]byte{version, commit}, rest...) }
	op := func(bytes ...byte) []byte { return head(append([]byte{0, 1}, bytes...)...) }
	tests := []struct {
		name   string
		record []byte
		want   string // "" if it is valid
	}{
		{"good", op(remove...), ""},
		{"version 0", []byte{0, 0, 0, 1, 2, 1, 5}, "at byte 0 of 7: version 0"},
		{"version 2 without need", []byte{2, 0, 0, 1, 2, 1, 5}, "version 2, which does not fit"},
		{"version 1 too low", op(byte(RenameContainer), 3, 5, 1, 'a'), "version 1, which does not fit"},
		{"version 3", []byte{3, 0, 0, 1, 2, 1, 5}, "version 3; this program supports versions 1 to 2"},
		{"version 1 with a hold", op(byte(ReleaseHold), 1, 5), "version 1, which does not fit"},
		{"version 2 with a hold", []byte{2, 0, 0, 1, byte(ReleaseHold), 1, 5}, ""},
		{"expires_in", []byte{2, 0, 0, 1, byte(HoldFungible), 0x3f, 5, 1, 1, 0, 9, 60}, "should have been replaced by expires_at"},
		{"expires_at", []byte{2, 0, 0, 1, byte(HoldFungible), 0x5f, 5, 1, 1, 0, 9, 60}, ""},
		{"endpoint", []byte{1, 4, 0, 1, 2, 1, 5}, "unknown endpoint 4"},
		{"a reversal of nothing", []byte{2, 3, 0, 1, byte(ReleaseHold), 1, 5}, "a reversal of no commit"},
		{"a reversal", []byte{2, 3, 16, 9, 1, 2, 1, 5}, ""},
		{"it reverses 0", []byte{2, 3, 16, 0, 1, 2, 1, 5}, "commit 0"},
		{"a reversal of version 1", []byte{1, 3, 16, 9, 1, 2, 1, 5}, "does not fit"},
		{"facts", []byte{2, 0, 32, 1, byte(Detach), 1, 5, 1, 0, 3, 9}, ""},
		{"no facts", []byte{2, 0, 32, 1, byte(Detach), 1, 5, 0}, "no facts"},
		{"a fact of another form", []byte{2, 0, 32, 1, byte(Detach), 1, 5, 1, 0, 4, 9, 9}, "a form that the operation can't have"},
		{"a fact too large", []byte{2, 0, 32, 1, byte(RemoveFromGrid), 3, 5, 5, 1, 0, 1, 0xff, 0x3f, 0}, "more than 1023"},
		{"more facts than operations", []byte{2, 0, 32, 1, byte(Detach), 1, 5, 2, 0, 3, 9, 0, 3, 9}, "more than 1"},
		{"flags", head(64, 1, 2, 1, 5), "unknown flags 0x40"},
		{"empty key", head(1, 0), "not printable"},
		{"bad key", append(head(1, 1, 7), make([]byte, 16)...), "not printable"},
		{"empty metadata", head(2, 0, 1, 2, 1, 5), "not a JSON object"},
		{"metadata", head(2, 2, '[', ']', 1, 2, 1, 5), "not a JSON object"},
		{"long metadata", head(2, 0x81, 0x80, 0x01), "more than 16384"},
		{"empty principal", head(4, 0, 1, 2, 1, 5), "principal is empty"},
		{"minted 0", head(8, 0, 1, 1, 8, 1, 5), "minted ids out of range"},
		{"minted none", head(8, 1, 0, 1, 2, 1, 5), "minted ids out of range"},
		{"minted too high", head(8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 2), "minted ids out of range"},
		{"minted more than asked", head(8, 1, 2, 1, 8, 1, 5), "2 ids were minted by 1 operations"},
		{"minted fewer than asked", op(8, 1, 5), "0 ids were minted by 1 operations"},
		{"no operations", head(0, 0), "without operations"},
		{"too many operations", head(0, 0x91, 0x4e), "more than 10000"},
		{"kind 0", op(0, 1, 5), "the kind 0"},
		{"the next kind", op(byte(NumOpKinds), 1, 5), "unknown kind 29"},
		{"kind 63", op(63, 1, 5), "unknown kind 63"},
		{"mask too wide", op(2, 3, 5, 5), "more than 1"},
		{"mask without what is required", op(byte(BurnInstance), 0), "needs 0x1"},
		{"long form", op(2, 1, 0x85, 0), "not in its shortest form"},
		{"too large", op(2, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "beyond 2^63-1"},
		{"id 0", op(2, 1, 0), "at byte 6 of 7: operation 0: container_id is 0"},
		{"quantity 0", op(byte(RemoveFungible), 15, 1, 1, 0, 0), "quantity is 0"},
		{"rotation", op(byte(PlaceInGrid), 19, 1, 1, 45), "rotation is 45"},
		{"kind of container", op(byte(CreateContainer), 3, 1, 4), "kind is 4"},
		{"boolean", op(byte(RegisterClass), 7, 1, 1, 'a', 2), "fungible is 2"},
		{"name", op(byte(RegisterClass), 3, 1, 1, 7), "not a valid name"},
		{"name not UTF-8", op(byte(RegisterClass), 3, 1, 1, 0xff), "not a valid name"},
		{"empty masks", op(2|0x80, 1, 0, 0, 5), "masks"},
		{"null for an id", op(2|0x80, 1, 1, 0), "masks"},
		{"null not given", op(byte(CreateContainer)|0x80, 3, 4, 0, 1, 1), "more than 3"},
		{"null owner", op(byte(CreateContainer)|0x80, 7, 4, 0, 1, 1), ""},
		{"reference for an id", op(2|0x80, 1, 0, 1, 0), "masks"},
		{"reference to nothing", op(byte(BurnInstance)|0x80, 1, 0, 1, 0), "instance_id is 0"},
		{"decision", op(2|0x40, 1, 5, 63), "unknown decision 63"},
		{"decision beyond a grid", op(2|0x40, 1, 5, 1, 0x80, 8, 0), "x is 1024"},
		{"another operation for a class", []byte{1, 1, 0, 1, 2, 1, 5}, "registration of a class"},
		{"another operation for a shape", []byte{1, 2, 0, 1, 2, 1, 5}, "registration of a shape"},
	}
	var r Record
	for _, tt := range tests {
		err := r.Decode(tt.record)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		newer := strings.Contains(tt.want, "unknown") || strings.Contains(tt.want, "this program supports")
		if errors.Is(err, ErrNewer) != newer {
			t.Errorf("%s: %v, want an error about a newer version: %t", tt.name, err, newer)
		}
	}
}

func TestAppendRecordRefusesDecisionsOutOfOrder(t *testing.T) {
	tx, _ := parseOne(oneTransfer)
	defer func() {
		if recover() == nil {
			t.Error("decisions out of order were accepted")
		}
	}()
	AppendRecord(nil, &tx, &Outcome{Decisions: []Decision{{Op: 0, Quantity: 1}, {Op: 0, Quantity: 2}}})
}

func TestDecodeAllocatesNothing(t *testing.T) {
	_, records := sampleRecords(t)
	r, decision := &records[1], &records[5]
	a, b := AppendRecord(nil, &r.Tx, &r.Out), AppendRecord(nil, &decision.Tx, &decision.Out)
	var got Record
	decode := func() {
		if err := got.Decode(a); err != nil {
			t.Fatal(err)
		}
		if err := got.Decode(b); err != nil {
			t.Fatal(err)
		}
	}
	decode()
	if n := testing.AllocsPerRun(100, decode); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzRecord(f *testing.F) {
	for _, text := range []string{oneTransfer, keyedTransfer} {
		tx, _ := parseOne(text)
		f.Add(AppendRecord(nil, &tx, &Outcome{}))
	}
	f.Add([]byte{1, 0, 8, 5, 2, 3, 8, 1, 1, 8, 1, 1, 10 | 0x80 | 0x40, 3, 0, 3, 1, 0, 2, 1, 1})
	f.Add([]byte{2, 0, 0, 2, 1 | 0x40, 66, 1, 1, 'a', 4, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 8, 20 | 0x80 | 0x40, 3, 2, 0, 1, 5, 1, 'a'})
	f.Add([]byte{2, 0, 0, 1, 21 | 0x40, 7, 1, 1, 'n', 1, 'c', 5, 4, 'o', 'l', 'd', '\n'})
	f.Add([]byte{1, 1, 4, 1, 'p', 1, 18, 7, 1, 2, 0xc3, 0xa9, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Record
		if r.Decode(b) != nil {
			return
		}
		if again := AppendRecord(nil, &r.Tx, &r.Out); !bytes.Equal(again, b) {
			t.Fatalf("%x is decoded and written as %x", b, again)
		}
	})
}
