package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestValidNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"users/42/wallet": true, "7f3a-11": true, "shelf:A.3": true, "a": true, "0x": true, "a@b+c-d_e": true,
		strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"": false, "0": false, "123": false, "-a": false, "/a": false, "_a": false, "a b": false, "ä": false, "a\n": false, "a\x00": false, "a,b": false, ".a": false,
	} {
		if got := ValidContainerName(name); got != valid {
			t.Errorf("ValidContainerName(%q) is %t, want %t", name, got, valid)
		}
		if got := ValidClassCode([]byte(name)); got != (valid && len(name) <= 32) {
			t.Errorf("ValidClassCode(%q) is %t, want %t", name, got, !got)
		}
	}
	if !ValidClassCode(strings.Repeat("x", 32)) || ValidClassCode(strings.Repeat("x", 33)) {
		t.Error("ValidClassCode rejects 32 characters or accepts 33")
	}
}

func TestNamesAndCodes(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `CreateContainer kind=Standard name=users/42; CreateContainer container_id=5 kind=Standard name=shop
		RegisterClass name=Euro code=EUR; AddFungible container_id=users/42 class_id=EUR key=0 quantity=300
		TransferFungible from_container=users/42 to_container=shop class_id=EUR key=0 quantity=250`)
	c, err := s.Container(FirstAssigned)
	noErrors(t, err)
	k, err := s.Class(FirstAssigned)
	noErrors(t, err)
	if c.Name != "users/42" || k.Code != "EUR" || k.Name != "Euro" {
		t.Errorf("container %+v and class %+v, want users/42 and EUR, Euro", c, k)
	}
	balances, _, _, err := s.Balances(nil, 5, BalanceFilter{}, nil, 10)
	noErrors(t, err)
	expect(t, "the shop's balances", []Balance{{ClassID: FirstAssigned, Quantity: 250}}, balances)

	out := accept(t, s, "RenameContainer container_id=shop name=market; RenameClass class_id=EUR name=Cent code=null; RenameContainer container_id=market name=null")
	expect(t, "what was replaced", []Decision{{Op: 0, Renamed: true, Was: "shop"}, {Op: 1, Renamed: true, Was: "Euro\nEUR"}, {Op: 2, Renamed: true, Was: "market"}}, out.Decisions)
	if c, _ := s.Container(5); c.Name != "" || c.UpdatedSeq != 2 {
		t.Errorf("the shop is %+v, want no name and updated_seq 2", c)
	}
	if k, _ := s.Class(FirstAssigned); k.Code != "" || k.Name != "Cent" || k.RegisteredSeq != 1 {
		t.Errorf("the class is %+v, want no code, the name Cent and registered_seq 1", k)
	}
	// A container or class can be given its current name again. A removed container
	// frees its name.
	accept(t, s, `RenameContainer container_id=users/42 name=users/42; RenameClass class_id=4503599627370496 code=EUR; RenameClass class_id=EUR code=EUR
		CreateContainer container_id=6 kind=Standard name=market; RemoveContainer container_id=market; RenameContainer container_id=5 name=market`)
}

func TestAssignedIDs(t *testing.T) {
	s := NewState(Config{})
	const first = FirstAssigned
	accept(t, s, fmt.Sprintf("CreateContainer container_id=%d kind=Standard; CreateContainer container_id=%d kind=Standard", first+1, first+2))
	named := func(name string, want int64) {
		t.Helper()
		out := accept(t, s, "CreateContainer kind=Standard name="+name)
		expect(t, name, []Decision{{ID: want}}, out.Decisions)
	}
	named("a", first)
	named("b", first+3)
	// Assigned ids continue after the last one, even if that one was removed.
	accept(t, s, "RemoveContainer container_id=b")
	named("c", first+4)
	// After a rejection, the same id is assigned next.
	refuse(t, s, "CreateContainer kind=Standard name=d; RemoveContainer container_id=99")
	named("e", first+5)
	// A state from a checkpoint assigns the same ids.
	loaded := loadCheckpoint(t, checkpointOf(t, s), 0)
	check(t, loaded)
	for _, s := range []*State{s, loaded} {
		out := accept(t, s, "CreateContainer kind=Standard name=f; RegisterClass name=n code=K")
		expect(t, "after a checkpoint", []Decision{{ID: first + 6}, {Op: 1, ID: first}}, out.Decisions)
	}
}

// TestFreeIDs compares freeIDs with a search from the beginning. Half of the
// transactions that search are rejected.
func TestFreeIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := freeIDs{from: 1, upto: 1}
	used := map[int64]bool{}
	final, low := int64(1), int64(1)
	set := func(id int64, use bool) {
		if used[id] == use {
			return
		}
		if used[id] = use; use {
			f.used(id)
		} else {
			f.freed(id)
		}
	}
	for i := range 200_000 {
		set(final+r.Int64N(60), r.IntN(3) > 0)
		if r.IntN(8) > 0 {
			continue
		}
		want := low
		for used[want] {
			want++
		}
		if got := f.next(final, low, func(id int64) bool { return used[id] }); got != want {
			t.Fatalf("step %d: %d, want %d", i, got, want)
		}
		switch r.IntN(3) {
		case 0: // the transaction is rejected
			low = final
		case 1: // the transaction continues
			set(want, true)
			low = want + 1
		default: // the transaction is accepted
			set(want, true)
			low = want + 1
			final = low
		}
	}
}

// TestFreeIDsForget checks that what is remembered about freed ids is limited.
func TestFreeIDsForget(t *testing.T) {
	f := freeIDs{from: 1, upto: 1}
	live := map[int64]bool{}
	for id := int64(1); id < 3*maxHoles; id++ {
		f.used(id)
		live[id] = true
	}
	for id := int64(1); id < 3*maxHoles-1; id++ {
		f.freed(id)
		delete(live, id)
	}
	if f.count > maxHoles {
		t.Errorf("%d holes, want at most %d", f.count, maxHoles)
	}
	for low := int64(1); low < 5; low++ {
		if got := f.next(1, low, func(id int64) bool { return live[id] }); got != low {
			t.Errorf("the lowest free id from %d is %d, want %d", low, got, low)
		}
	}
}

func TestOrdered(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var o ordered
	at := func(want uint32) position { return func(ref uint32) int { return int(ref) - int(want) } }
	in := map[uint32]bool{}
	for i := range 60_000 {
		ref := 1 + r.Uint32N(3000)
		if grow := i/15_000%2 == 0; in[ref] == grow && r.IntN(4) > 0 {
			continue
		}
		if in[ref] {
			o.remove(at(ref))
		} else {
			o.insert(ref, at(ref))
		}
		in[ref] = !in[ref]
		if i%500 != 0 {
			continue
		}
		var want, got []uint32
		from := r.Uint32N(3000)
		for ref := range in {
			if in[ref] && ref >= from {
				want = append(want, ref)
			}
		}
		slices.Sort(want)
		o.walk(at(from), func(ref uint32) bool { got = append(got, ref); return true })
		if !slices.Equal(want, got) {
			t.Fatalf("step %d: %v, want %v", i, got, want)
		}
		for _, page := range o.pages {
			if len(page) == 0 || len(page) > pageLen {
				t.Fatalf("a page has %d entries, want 1 to %d", len(page), pageLen)
			}
		}
		if n := len(got); from == 0 && len(o.pages) > 1+n/(pageLen*3/8)+1 {
			t.Fatalf("%d pages for %d entries, want at most %d", len(o.pages), n, 1+n/(pageLen*3/8)+1)
		}
	}
}

// TestNameMemory checks that a name takes at most 100 bytes of memory in addition to
// its own length.
func TestNameMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: it measures memory")
	}
	const n = 30_000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, length := range []int{8, 31, 32, 128} {
		s := NewState(Config{})
		tx := Transaction{Ops: make([]Op, 1)}
		for id := range int64(n) {
			tx.Ops[0] = Op{Kind: CreateContainer, Has: 7, Args: [MaxArgs]int64{1 + id, int64(Standard), 7}}
			noErrors(t, s.Apply(&tx, 0, &Outcome{}))
		}
		before, bytes := heap(), 0
		for id := range int64(n) {
			name := fmt.Sprintf("u%07d%s", id*7919%n, strings.Repeat("x", length-8))
			bytes += len(name)
			tx.Ops[0] = Op{Kind: RenameContainer, Has: 3, Name: name, Args: [MaxArgs]int64{1 + id}}
			noErrors(t, s.Apply(&tx, 0, &Outcome{}))
		}
		each := float64(heap()-before-int64(bytes)) / n
		t.Logf("names of %d bytes: %.1f additional bytes each", length, each)
		if each > 100 {
			t.Errorf("names of %d bytes take %.1f additional bytes each, want at most 100", length, each)
		}
		runtime.KeepAlive(s)
	}
}

func TestNamedContainers(t *testing.T) {
	s := NewState(Config{})
	r := rand.New(rand.NewPCG(5, 6))
	var all []ContainerInfo
	for i := range int64(700) {
		text := fmt.Sprintf("CreateContainer container_id=%d kind=%s", i+1, ContainerKind(1+r.IntN(3)))
		if owner := r.IntN(4); owner > 0 {
			text += fmt.Sprintf(" owner=%d", owner)
		}
		if r.IntN(5) > 0 {
			text += fmt.Sprintf(" name=%c/%d/%s", "abAB"[r.IntN(4)], r.IntN(30), strings.Repeat("x", r.IntN(40))+fmt.Sprint(i))
		}
		noErrors(t, s.Apply(asTx(t, text), 0, &Outcome{}))
		if c, _ := s.Container(i + 1); c.Name != "" {
			all = append(all, c)
		}
	}
	check(t, s)
	slices.SortFunc(all, func(a, b ContainerInfo) int { return strings.Compare(a.Name, b.Name) })
	for _, prefix := range []string{"", "a", "a/1", "a/1/", "b/29/x", "nobody", "z", "A/0/"} {
		for kind := ContainerKind(0); kind < 4; kind++ {
			for _, owners := range [][]int64{nil, {}, {1}, {2, 3}, {1, 2, 3, 9}} {
				for owner := int64(0); owner < 3; owner++ {
					var want, got []ContainerInfo
					for _, c := range all {
						if strings.HasPrefix(c.Name, prefix) && (kind == 0 || c.Kind == kind) && (owner == 0 || c.Owner == owner) &&
							(owners == nil || slices.Contains(owners, c.Owner)) {
							want = append(want, c)
						}
					}
					after, limit := "", 1+r.IntN(40)
					for more := true; more; {
						var page []ContainerInfo
						page, after, more = s.NamedContainers(nil, prefix, ContainerFilter{Owner: owner, Kind: kind}, owners, after, limit)
						if len(page) > limit || more && len(page) == 0 {
							t.Fatalf("a page of %d with limit %d, more: %t; want 1 to the limit while there is more", len(page), limit, more)
						}
						got = append(got, page...)
					}
					expect(t, fmt.Sprintf("prefix %q kind %d owners %v owner %d limit %d", prefix, kind, owners, owner, limit), want, got)
				}
			}
		}
	}
	if _, _, more := s.NamedContainers(nil, "", ContainerFilter{}, nil, "", 0); !more {
		t.Error("with limit 0 there are no more containers, want more")
	}
}

// TestCheckpointNamesRefused checks that a checkpoint is rejected if a name in it is
// duplicated, invalid, changed, missing or in the wrong place, or if an item is of an
// unknown kind.
func TestCheckpointNamesRefused(t *testing.T) {
	load := func(change func(items []byte) []byte) error {
		s := NewState(Config{})
		accept(t, s, `RegisterClass class_id=1 name=gold code=AU; CreateContainer container_id=1 kind=Standard name=aa
			CreateContainer container_id=2 kind=Standard name=bb; AddFungible container_id=1 class_id=1 key=0 quantity=1`)
		b := checkpointOf(t, s)
		items := change(bytes.Clone(b[checkpointHeader+checkpointBlock : len(b)-checkpointTrailer]))
		b = slices.Concat(b[:checkpointHeader+checkpointBlock], items, b[len(b)-checkpointTrailer:])
		b[checkpointHeader+4] = byte(len(items))
		_, _, err := ReadCheckpoint(bytes.NewReader(remade(t, b, func([]byte) {})), Config{})
		return err
	}
	swap := func(old, new string) func([]byte) []byte {
		return func(items []byte) []byte {
			if !bytes.Contains(items, []byte(old)) {
				t.Fatalf("%q is not in %q", old, items)
			}
			return bytes.Replace(items, []byte(old), []byte(new), 1)
		}
	}
	if err := load(func(items []byte) []byte { return items }); err != nil {
		t.Fatalf("an unchanged checkpoint: %v", err)
	}
	for want, change := range map[string]func([]byte) []byte{
		"occurs twice":              swap("\x09\x02bb", "\x09\x02aa"),
		"is invalid":                swap("\x09\x02bb", "\x09\x02b!"),
		"out of place":              swap("\x09\x02bb", "\x09\x02bb\x09\x02cc"),
		"not the first item":        swap("\x03\x01", "\x0a\x00\x00\x03\x01"),
		"unknown kind 63":           swap("\x09\x02bb", "\x3f\x02bb"),
		errDigest.Error():           swap("\x09\x02bb", "\x09\x02bc"),
		"does not match its header": swap("\x09\x02AU", ""),
	} {
		if err := load(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNamesLeaveNoTrace checks that names raise the version of a checkpoint to 2, and
// that removed names leave no trace in the digest.
func TestNamesLeaveNoTrace(t *testing.T) {
	plain, named := NewState(Config{}), NewState(Config{})
	accept(t, plain, "CreateContainer container_id=1 kind=Standard; RegisterClass class_id=1 name=gold")
	accept(t, named, "CreateContainer container_id=1 kind=Standard name=x; RegisterClass class_id=1 name=gold code=AU")
	if plain.Digest() == named.Digest() {
		t.Error("the digest does not cover names")
	}
	accept(t, plain, "CreateContainer container_id=2 kind=Standard")
	if v := checkpointOf(t, plain)[8]; v != checkpointVersion1 {
		t.Errorf("a checkpoint without names has version %d, want 1", v)
	}
	if v := checkpointOf(t, named)[8]; v != checkpointVersion2 {
		t.Errorf("a checkpoint with names has version %d, want 2", v)
	}
	accept(t, named, "CreateContainer container_id=2 kind=Standard; RenameClass class_id=1 code=null; RemoveContainer container_id=1; CreateContainer container_id=1 kind=Standard")
	accept(t, plain, "RemoveContainer container_id=1; CreateContainer container_id=1 kind=Standard")
	for _, s := range []*State{plain, named} {
		for s.Seq() < 5 {
			accept(t, s, "RemoveContainer container_id=1; CreateContainer container_id=1 kind=Standard; RemoveContainer container_id=2; CreateContainer container_id=2 kind=Standard")
		}
	}
	if plain.Digest() != named.Digest() {
		t.Errorf("digest %016x without names, %016x once they are removed", plain.Digest(), named.Digest())
	}
}
