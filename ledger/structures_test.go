package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// node and forest are a tree for testing the tree code.
type node struct {
	rank rank
	tree links
}

func (n *node) freeLink() *uint32 { return &n.tree.left }

type forest struct{ nodes slab[node, *node] }

func (f *forest) links(ref uint32) *links { return &f.nodes.at(ref).tree }
func (f *forest) rank(ref uint32) rank    { return f.nodes.at(ref).rank }

func TestTreeAgainstSortedSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var f forest
	var root uint32
	var model []rank
	refs := map[rank]uint32{}
	byRank := func(a, b rank) int {
		if a.less(b) {
			return -1
		}
		if b.less(a) {
			return 1
		}
		return 0
	}
	for range 20_000 {
		at := rank{r.Int64N(30) - 1, r.Int64N(30)}
		i, there := slices.BinarySearchFunc(model, at, byRank)
		if there != (treeFind(&f, root, at) != 0) {
			t.Fatalf("treeFind finds %v: %t, want %t", at, !there, there)
		}
		want := func(i int) (r rank) {
			if i < 0 || i >= len(model) {
				return rank{-9, -9}
			}
			return model[i]
		}
		got := func(ref uint32) rank {
			if ref == 0 {
				return rank{-9, -9}
			}
			return f.rank(ref)
		}
		next := i
		if there {
			next++
		}
		if g := got(treeNext(&f, root, at)); g != want(next) {
			t.Fatalf("next of %v is %v, want %v", at, g, want(next))
		}
		if g := got(treeFloor(&f, root, at)); g != want(next-1) {
			t.Fatalf("floor of %v is %v, want %v", at, g, want(next-1))
		}
		if there {
			treeRemove(&f, &root, refs[at])
			f.nodes.release(refs[at])
			model = slices.Delete(model, i, i+1)
		} else {
			ref, n := f.nodes.alloc()
			n.rank = at
			refs[at] = ref
			treeInsert(&f, &root, ref)
			model = slices.Insert(model, i, at)
		}
		if r.IntN(200) == 0 {
			var walked []rank
			treeWalk(&f, root, at, func(ref uint32) bool { walked = append(walked, f.rank(ref)); return true })
			after, _ := slices.BinarySearchFunc(model, rank{at.major, at.minor + 1}, byRank)
			if !slices.Equal(walked, model[after:]) {
				t.Fatalf("walk after %v: %v, want %v", at, walked, model[after:])
			}
		}
	}
	if f.nodes.live() != len(model) {
		t.Errorf("%d live nodes, want %d", f.nodes.live(), len(model))
	}
}

// TestTreeShapeIgnoresHistory checks that the shape of a tree does not depend on the order
// in which ranks are inserted, and that the tree is not deep.
func TestTreeShapeIgnoresHistory(t *testing.T) {
	depth := func(order []int) (depths []int) {
		var f forest
		var root uint32
		for _, i := range order {
			ref, n := f.nodes.alloc()
			n.rank = rank{minor: int64(i)}
			treeInsert(&f, &root, ref)
		}
		var walk func(ref uint32, d int)
		walk = func(ref uint32, d int) {
			if ref != 0 {
				walk(f.links(ref).left, d+1)
				depths = append(depths, d)
				walk(f.links(ref).right, d+1)
			}
		}
		walk(root, 0)
		return depths
	}
	order := make([]int, 100_000)
	for i := range order {
		order[i] = i
	}
	sorted := depth(order)
	if deepest := slices.Max(sorted); deepest > 60 {
		t.Errorf("100,000 ranks in order make a tree of depth %d, want at most 60", deepest)
	}
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	if !slices.Equal(sorted, depth(order)) {
		t.Error("the shape depends on the order of insertion")
	}
}

// TestIndexAgainstMap uses hashes that collide completely and partly, and that
// wrap around the end of a shard.
func TestIndexAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var x index
	model := map[uint64][]uint32{}
	n := 0
	for i := range 50_000 {
		hash := uint64(r.IntN(3))<<56 | uint64(1+r.IntN(2))<<40 | uint64(uint32(r.IntN(300)-150))
		if refs := model[hash]; len(refs) > 0 && r.IntN(2) == 0 {
			ref := refs[len(refs)-1]
			if model[hash] = refs[:len(refs)-1]; !x.remove(hash, ref) {
				t.Fatalf("%x: %d is missing, so it can't be removed", hash, ref)
			}
			n--
		} else {
			ref := uint32(i + 1)
			x.add(hash, ref)
			model[hash] = append(refs, ref)
			n++
		}
		if x.remove(hash, 1<<31) {
			t.Fatal("removed an entry that was never added")
		}
		var found []uint32
		for p := x.probe(hash); ; {
			ref := p.next()
			if ref == 0 {
				break
			}
			found = append(found, ref)
		}
		for _, ref := range model[hash] {
			if !slices.Contains(found, ref) {
				t.Fatalf("%x: %d is lost, found %v", hash, ref, found)
			}
		}
		if x.len() != n {
			t.Fatalf("%d entries, want %d", x.len(), n)
		}
	}
	var empty index
	if p := empty.probe(5); p.next() != 0 || empty.remove(5, 1) {
		t.Error("found something in an empty index")
	}
}

func TestSlabKeepsAddresses(t *testing.T) {
	var s slab[node, *node]
	ref, first := s.alloc()
	for range 3 * chunkLen {
		s.alloc()
	}
	if s.at(ref) != first {
		t.Error("a record was moved")
	}
	first.rank.major = 9
	s.release(ref)
	if again, n := s.alloc(); again != ref || *n != (node{}) {
		t.Errorf("after %d was released, alloc returns %d with %+v, want the same number with a zero record", ref, again, *n)
	}
}

// TestMixing pins the hash from which the digests in the log are computed.
func TestMixing(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"four zeroes", mix4Words(0, 0, 0, 0, 0), goldenMix[0]},
		{"four words", mix4Words(1, 2, 3, 4, 5), goldenMix[1]},
		{"another tag", mix4Words(2, 2, 3, 4, 5), goldenMix[2]},
		{"large words", mix4Words(19, ^uint64(0), 1<<63, 1<<32, ^uint64(0)), goldenMix[3]},
		{"stack item", stackItem(stackIdentity(1, 2, 3), 4), goldenMix[4]},
		{"no bytes", mixBytes(nil), goldenMix[5]},
		{"8 bytes", mixBytes([]byte("12345678")), goldenMix[6]},
		{"20 bytes", mixBytes([]byte("12345678901234567890")), goldenMix[7]},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#016x, want %#016x", c.name, c.got, c.want)
		}
	}
	s := NewState(Config{})
	if got := s.Digest(); got != goldenEmpty {
		t.Errorf("empty ledger: %#016x, want %#016x", got, uint64(goldenEmpty))
	}
	s = newWorld(t)
	if got := s.Digest(); got != goldenWorld {
		t.Errorf("world: %#016x, want %#016x", got, uint64(goldenWorld))
	}
}

// TestMixingSpreads counts how many bits of the result change if one bit of a word
// changes. On average, about half of them must change.
func TestMixingSpreads(t *testing.T) {
	words := [5]uint64{3, 1, 2, 3, 4}
	base := mix4Words(words[0], words[1], words[2], words[3], words[4])
	for w := 1; w < 5; w++ {
		turned := 0
		for bit := range 64 {
			v := words
			v[w] ^= 1 << bit
			d := base ^ mix4Words(v[0], v[1], v[2], v[3], v[4])
			for ; d != 0; d &= d - 1 {
				turned++
			}
		}
		if turned < 64*26 || turned > 64*38 {
			t.Errorf("word %d: %d of %d bits changed, want %d to %d", w, turned, 64*64, 64*26, 64*38)
		}
	}
}

var goldenMix = [...]uint64{
	0xfef086ac9d8d0339, 0x3c4ad752fe879b66, 0xc7f133b73b92a176, 0xdd704b32d4dfd8a8,
	0xcc996b90117e1bd7, 0x4156baaf6874bb7e, 0x6096959a534f244a, 0x1cb1f40387abcd3d,
}

const goldenEmpty, goldenWorld = 0x6737fcb6b63c97f1, 0x9215fe2f2b690663
