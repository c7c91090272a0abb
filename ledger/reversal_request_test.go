package ledger

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestReverseWithinOwners checks which commits a token limited to owners can reverse.
// The errors reveal nothing about commits that concern others.
func TestReverseWithinOwners(t *testing.T) {
	const hold = "HoldFungible hold_id=5 container_id=1 class_id=1 key=0 quantity=5"
	for _, c := range []struct {
		commit string
		then   string // operations before the reversal
		code   Code
	}{
		{"AddFungible container_id=1 class_id=1 key=0 quantity=5", "", ""},
		{"AddFungible container_id=2 class_id=1 key=0 quantity=5", "", Forbidden},
		{"TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=5", "", Forbidden},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "", ""},
		{"ConsolidateStacks container_id=1 class_id=1", "", NotReversible},
		{"ConsolidateStacks container_id=2 class_id=1", "", Forbidden},
		{"CreateContainer container_id=9 kind=Standard owner=8", "", Forbidden},
		{"CreateContainer container_id=9 kind=Standard owner=7", "", ""},
		{"BurnInstance instance_id=4", "", Forbidden},
		// A condition is not reversed, so the owner of its container does not matter.
		{"RequireUnchanged container_id=2 since_seq=9; AddFungible container_id=1 class_id=1 key=0 quantity=5", "", ""},
		{hold, "", ""},
		{hold, "ReleaseHold hold_id=5", NotReversible},
		{hold, "ReleaseHold hold_id=5; HoldFungible hold_id=5 container_id=2 class_id=1 key=0 quantity=5", NotReversible},
	} {
		s := NewState(Config{})
		accept(t, s, reversalWorld)
		rec := committed(t, s, asTx(t, c.commit))
		if c.then != "" {
			accept(t, s, c.then)
		}
		limited := &Permit{Owners: []int64{7}}
		_, err := reverse(s, rec, 2, &Outcome{}, limited)
		if c.code == "" && err != nil || c.code != "" && (err == nil || err.Code != c.code) {
			t.Errorf("%s: %v, want %q", c.commit, err, c.code)
		}
		if c.code != Forbidden || slices.Contains(irreversible, rec.Tx.Ops[0].Kind) {
			continue
		}
		if _, err := reverse(s, rec, 2, &Outcome{}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := reverse(s, rec, 2, &Outcome{}, limited); err == nil || err.Code != Forbidden {
			t.Errorf("%s, reversed before: %v, want Forbidden", c.commit, err)
		}
	}
}

// TestReverseTellsNothingOfOthers checks that a token limited to owners always gets
// the same rejection when it tries to reverse a commit that concerns others, whatever
// the commit did. The rejection names nothing but that commit.
func TestReverseTellsNothingOfOthers(t *testing.T) {
	for _, c := range []struct{ commit, then string }{
		{"AddFungible container_id=2 class_id=1 key=0 quantity=5", ""},
		{"CreateContainer container_id=9 kind=Standard owner=8", ""},
		{"CreateContainer container_id=9 kind=Standard; RemoveContainer container_id=9", ""},
		{"MintInstance class_id=3", ""},
		{"MintInstance class_id=3", "Attach instance_id=5 parent_id=4"},
		{"BurnInstance instance_id=4", ""},
		{"RenameClass class_id=1 name=other", ""},
		{"RegisterClass class_id=9 name=new", ""},
		{"RegisterClassShape class_id=1 key=7 width=2 height=2", ""},
		{"HoldFungible hold_id=5 container_id=2 class_id=1 key=0 quantity=5", ""},
		{"HoldFungible hold_id=5 container_id=2 class_id=1 key=0 quantity=5; ReleaseHold hold_id=5", ""},
		{"HoldFungible hold_id=5 container_id=1 class_id=1 key=0 quantity=5; ReleaseHold hold_id=5", ""},
		{"ConsolidateStacks container_id=2 class_id=1", ""},
		{"Detach instance_id=3", ""},
		// The parent now belongs to another owner. Only the record has the parent's id.
		{"Detach instance_id=3; PlaceInSlot container_id=3 slot_index=1 instance_id=3",
			"CreateContainer container_id=5 kind=Slots slot_count=1 owner=8; RemoveFromSlot container_id=3 slot_index=0; PlaceInSlot container_id=5 slot_index=0 instance_id=1"},
	} {
		s := NewState(Config{})
		accept(t, s, reversalWorld)
		rec := committed(t, s, asTx(t, c.commit))
		if c.then != "" {
			accept(t, s, c.then)
		}
		_, err := reverse(s, rec, 2, &Outcome{}, &Permit{Owners: []int64{7}})
		if err == nil || err.Code != Forbidden || err.Message != "There is no commit 2 that this token may reverse." ||
			err.OpIndex != NoOperation || len(err.Details) != 1 || detail(err, "global_seq") != "2" {
			t.Errorf("%s: %+v, want Forbidden with no detail but global_seq 2", c.commit, err)
		}
	}
}

// TestReversesOfImports checks transactions that state which commit they reverse, as
// those of an import do.
func TestReversesOfImports(t *testing.T) {
	s := newVault(t)
	accept(t, s, "AddFungible container_id=1 class_id=1 key=5 quantity=1")
	const body = `{"operations":[{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":5,"quantity":1}}],"reverses":%d,"idempotency_key":"k"}`
	parse := func(n int) *Transaction {
		tx, err := parseOne(fmt.Sprintf(body, n))
		noErrors(t, err)
		return &tx
	}
	if parse(1).Hash == parse(2).Hash {
		t.Error("the hash does not cover reverses")
	}
	forbidden := parse(2)
	if forbidden.ForbidReverses(); s.Apply(forbidden, 0, &Outcome{}).Code != Forbidden {
		t.Error("a transaction that states reverses is not rejected with Forbidden")
	}
	for n, code := range map[int]Code{3: CommitNotFound, 4: CommitNotFound} {
		if err := s.Apply(parse(n), 0, &Outcome{}); err == nil || err.Code != code || err.OpIndex != NoOperation {
			t.Errorf("reverses %d: %v, want %s", n, err, code)
		}
	}
	plain := s.Digest()
	noErrors(t, s.Apply(parse(2), 0, &Outcome{}))
	check(t, s)
	linked := s.Digest()
	s.Undo()
	if _, ok := s.ReversedBy(2); ok || s.Digest() != plain {
		t.Error("after undo the link is still there")
	}
	accept(t, s, "RemoveFungible container_id=1 class_id=1 key=5 quantity=1")
	if s.Digest() == linked {
		t.Error("the digest does not cover the link")
	}
	for _, bad := range []string{"0", "-1", "1.5", `"2"`, "null", "9223372036854775808"} {
		_, err := parseOne(strings.Replace(body, "%d", bad, 1))
		if err == nil || err.Code != InvalidRequest || detail(err, "field") != "reverses" {
			t.Errorf("reverses %s: %v, want InvalidRequest in reverses", bad, err)
		}
	}
}

func TestParseReversal(t *testing.T) {
	hash := map[[16]byte]string{}
	for _, c := range []struct {
		body string
		seq  uint64
	}{{`{"idempotency_key":"k"}`, 7}, {`{"idempotency_key":"k"}`, 8}, {`{"metadata":{"why":"wrong"},"idempotency_key":"k"}`, 7}} {
		var tx Transaction
		noErrors(t, ParseReversal([]byte(c.body), c.seq, &tx, ParseLimits{}))
		if tx.Reverses != c.seq || tx.Endpoint != EndpointReverse || string(tx.Key) != "k" || hash[tx.Hash] != "" {
			t.Errorf("%s: %+v, want a reversal of commit %d with key k and a hash of its own", c.body, tx, c.seq)
		}
		hash[tx.Hash] = c.body
	}
	for _, c := range []struct {
		body string
		code Code
	}{{"{}", ""}, {"", MalformedJSON}, {"[]", InvalidRequest}, {`{"operations":[]}`, InvalidRequest}, {`{"reverses":1}`, InvalidRequest},
		{`{"metadata":1}`, InvalidRequest}, {`{"idempotency_key":""}`, InvalidRequest}, {`{}x`, MalformedJSON}} {
		var tx Transaction
		err := ParseReversal([]byte(c.body), 1, &tx, ParseLimits{})
		if (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
			t.Errorf("%s: %v, want %q", c.body, err, c.code)
		}
	}
}

// TestReversalRecordBytes checks the bytes of records of version 2, which must never
// change.
func TestReversalRecordBytes(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, reversalWorld)
	for _, c := range []struct{ ops, want string }{
		{"HoldFungible hold_id=5 container_id=1 class_id=1 key=0 quantity=9 expires_at=60", "02 00 00 01 19 5f 05 01 01 00 09 3c"},
		{"SettleHold hold_id=5 to_container=2 quantity=4 keep=true", "02 00 00 01 1a 0f 05 02 04 01"},
		{"SplitStack container_id=1 class_id=1 from_key=0 to_key=9 quantity=4", "02 00 00 01 1c 1f 01 01 00 09 04"},
		{"Detach instance_id=3", "02 00 20 01 0b 01 03 01 00 03 01"},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "02 00 20 01 0e 07 03 00 01 01 00 04 00 01"},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=1", "02 00 20 01 04 0f 04 01 00 01 01 00 02"},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=9", "02 00 20 01 04 0f 04 01 00 09 01 00 01 05 06"},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=2 to_y=0 rotation=90", "02 00 20 01 11 3f 04 00 01 02 00 5a 01 00 05 00 00 02"},
	} {
		tx, out := asTx(t, c.ops), Outcome{}
		noErrors(t, s.Apply(tx, 0, &out))
		if got := fmt.Sprintf("% x", AppendRecord(nil, tx, &out)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.ops, got, c.want)
		}
	}
	rec := committed(t, s, asTx(t, "AddFungible container_id=1 class_id=1 key=0 quantity=1"))
	var out Outcome
	tx, err := reverse(s, rec, s.Seq(), &out, nil)
	noErrors(t, err)
	const want = "02 03 14 07 73 6f 6d 65 6f 6e 65 0a 01 04 0f 01 01 00 01"
	if got := fmt.Sprintf("% x", AppendRecord(nil, tx, &out)); got != want {
		t.Errorf("a reversal:\ngot  %s\nwant %s", got, want)
	}
}

// TestInverseSize compares InverseSize with the memory that an inverse takes. The size
// must be an upper limit and, apart from inverseFixed, at most twice the memory.
func TestInverseSize(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard; AddFungible container_id=1 class_id=1 key=0 quantity=9000")
	for _, n := range []int{1, 2, 100, 3000, MaxOperations} {
		for what, op := range map[string]func(i int) Op{
			"adding":  func(int) Op { return op(AddFungible, 1, 1, 0, 1) },
			"holding": func(i int) Op { return op(HoldFungible, 1+int64(i), 1, 1, 0, 1) },
			"renaming": func(i int) Op {
				return Op{Kind: RenameContainer, Has: 3, Name: fmt.Sprintf("%0*dx", MaxContainerName-1, i), Args: [MaxArgs]int64{1}}
			},
			"irreversible": func(int) Op { return op(ConsolidateStacks, 1, 1) },
		} {
			if what == "holding" && n > 9000 {
				continue
			}
			var out Outcome
			tx := Transaction{}
			for i := range n {
				tx.Ops = append(tx.Ops, op(i))
			}
			noErrors(t, s.Apply(&tx, 0, &out))
			var rec Record
			if err := rec.Decode(AppendRecord(nil, &tx, &out)); err != nil {
				t.Fatal(err)
			}
			s.Undo()
			var before, after runtime.MemStats
			var back Transaction
			runtime.ReadMemStats(&before)
			back.Invert(&rec, 9)
			runtime.ReadMemStats(&after)
			made, size := int64(after.TotalAlloc-before.TotalAlloc), InverseSize(&rec)
			if what == "renaming" {
				made += int64(n * MaxContainerName) // the inverse keeps the names of the record in memory
			}
			if made > size || made < (size-inverseFixed)/2 {
				t.Errorf("%s, %d operations: InverseSize is %d, but %d bytes were allocated", what, n, size, made)
			}
		}
	}
}

// TestReversalMemory checks that the link of a reversal takes 24 bytes, even if the
// reversal is itself reversed.
func TestReversalMemory(t *testing.T) {
	const n = 50_000
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard; AddFungible container_id=1 class_id=1 key=0 quantity=9")
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var out Outcome
	for seq := range uint64(n) {
		tx := Transaction{Reverses: 1 + seq, Ops: []Op{op(AddFungible, 1, 1, 0, 1)}}
		noErrors(t, s.Apply(&tx, 0, &out))
	}
	each := float64(heap()-before) / n
	t.Logf("%.1f bytes each", each)
	if each < 24 || each > 27 { // the last chunk is not full
		t.Errorf("a reversal takes %.1f bytes, want 24 to 27", each)
	}
	if by, ok := s.ReversedBy(n); !ok || by != n+1 {
		t.Error("the last link is missing")
	}
}
