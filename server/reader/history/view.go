package history

import (
	"encoding/binary"
	"math"
	"sort"
)

// A View is the index of one container at one moment. It needs no lock.
type View struct {
	x         *Index
	container int64
	files     []*file
	covered   uint64 // by the files
	gens      []memory
	last      uint64 // last commit
	base      uint64 // what happened up to this commit is not known one by one; 0: all is
}

// memory is a generation as a view sees it.
type memory struct {
	first, last   uint64
	things, lives chain
	batches       []batch
}

func (m *memory) of(key uint64) chain {
	if key&lifeMark != 0 {
		return m.lives
	}
	return m.things
}

// Base is the commit up to which the index has no history, only what was then; 0: it has all.
func (v *View) Base() uint64 { return v.base }

// newest calls fn for the entries of a key up to commit to, newest first. Files
// of another daemon may go on beyond what this one has applied.
func (v *View) newest(key, to uint64, fn func(entry []byte) bool) error {
	to = min(to, v.last)
	for i := len(v.gens) - 1; i >= 0; i-- {
		g := &v.gens[i]
		if g.first > to || g.last <= v.covered {
			continue
		}
		on := g.of(key).newest(func(entry []byte) bool {
			seq := entrySeq(entry)
			return seq <= v.covered || seq > to || fn(entry)
		})
		if !on {
			return nil
		}
	}
	for i := len(v.files) - 1; i >= 0; i-- {
		f := v.files[i]
		if f.first > to {
			continue
		}
		on, err := f.newest(key, to, fn)
		if err != nil {
			return v.x.damaged(err)
		}
		if !on {
			return nil
		}
	}
	return nil
}

// oldest calls fn for the entries of a key from commit from on, oldest first.
func (v *View) oldest(key, from uint64, fn func(entry []byte) bool) error {
	applied := func(entry []byte) bool { return entrySeq(entry) <= v.last && fn(entry) }
	for _, f := range v.files {
		if f.last < from {
			continue
		}
		on, err := f.oldest(key, from, applied)
		if err != nil {
			return v.x.damaged(err)
		}
		if !on {
			return nil
		}
	}
	from = max(from, v.covered+1)
	var places []uint32
	for i := range v.gens {
		c := v.gens[i].of(key)
		places = c.places(from, places[:0])
		for _, at := range places {
			if !fn(c.at(at)) {
				return nil
			}
		}
	}
	return nil
}

// decoded makes fn, which takes entries, take their bytes; its error is in err.
func (v *View) decoded(err *error, fn func(*Entry) bool) func([]byte) bool {
	var e Entry
	return func(b []byte) bool {
		if *err = e.decode(b, v.container); *err != nil { // its block's checksum is right: a defect
			return false
		}
		return fn(&e)
	}
}

// Newest calls fn for what happened to the container up to commit to, newest
// first, until it returns false. The entry is valid during the call alone.
func (v *View) Newest(to uint64, fn func(*Entry) bool) error {
	var bad error
	err := v.newest(uint64(v.container), to, v.decoded(&bad, fn))
	if err == nil {
		err = bad
	}
	return err
}

// Oldest is Newest from commit from on, oldest first.
func (v *View) Oldest(from uint64, fn func(*Entry) bool) error {
	var bad error
	err := v.oldest(uint64(v.container), from, v.decoded(&bad, fn))
	if err == nil {
		err = bad
	}
	return err
}

// Lives calls fn for what made, renamed and removed the container up to commit
// to, newest first.
func (v *View) Lives(to uint64, fn func(*Entry) bool) error {
	var bad error
	err := v.newest(lifeKey(v.container), to, v.decoded(&bad, fn))
	if err == nil {
		err = bad
	}
	return err
}

// Time is when the commit was made, in Unix nanoseconds; 0 for a commit that
// the index does not have.
func (v *View) Time(seq uint64) (int64, error) {
	if seq > v.covered {
		for i := len(v.gens) - 1; i >= 0; i-- {
			if g := &v.gens[i]; g.first <= seq {
				t, _ := timeIn(g.batches, seq)
				return t, nil
			}
		}
		return 0, nil
	}
	i := sort.Search(len(v.files), func(i int) bool { return v.files[i].last >= seq })
	f, t := v.files[i], int64(0)
	_, err := f.newest(batchKey, seq, func(entry []byte) bool {
		_, t = batchOf(entry)
		return false
	})
	return t, v.x.damaged(err)
}

func batchOf(entry []byte) (first uint64, time int64) {
	first, n := binary.Uvarint(entry)
	if n <= 0 || len(entry) != n+8 {
		return 0, 0
	}
	return first, int64(binary.LittleEndian.Uint64(entry[n:]))
}

// SeqAt is the last commit made at or before a time, 0 if all were later.
func (v *View) SeqAt(time int64) (uint64, error) {
	seq, err := v.seqAt(time)
	return min(seq, v.last), err
}

func (v *View) seqAt(time int64) (uint64, error) {
	for i := len(v.gens) - 1; i >= 0; i-- {
		g := &v.gens[i]
		if g.last <= v.covered {
			break
		}
		j := sort.Search(len(g.batches), func(j int) bool { return g.batches[j].time > time })
		if j == len(g.batches) {
			return g.last, nil
		}
		if j > 0 && g.batches[j].first-1 > v.covered {
			return g.batches[j].first - 1, nil
		}
	}
	i := sort.Search(len(v.files), func(i int) bool { return v.files[i].end.Time > time })
	if i == len(v.files) {
		return v.covered, nil
	}
	f := v.files[i]
	seq, err := f.seqAt(time)
	return seq, v.x.damaged(err)
}

// seqAt is SeqAt in a file that ends later.
func (f *file) seqAt(time int64) (uint64, error) {
	var bad error
	start := max(f.after(batchKey, 0)-1, 0)
	n := sort.Search(f.blocks()-start, func(i int) bool {
		later := false
		bad = firstError(bad, f.batches(start+i, func(_ uint64, t int64) bool {
			later = t > time
			return false
		}))
		return later
	})
	seq := f.first - 1
	for i := max(start+n-1, start); i < f.blocks() && bad == nil; i++ {
		over := false
		bad = f.batches(i, func(first uint64, t int64) bool {
			if seq = first - 1; t > time {
				over = true
			}
			return !over
		})
		if over {
			return seq, bad
		}
	}
	return f.last, bad
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// batches calls fn for the batches in a block, oldest first.
func (f *file) batches(i int, fn func(first uint64, time int64) bool) error {
	group, _, err := f.group(i, batchKey, nil)
	if err != nil {
		return err
	}
	var all []batch
	for len(group) > 0 {
		entry, rest, err := lastEntry(group)
		if err != nil {
			return err
		}
		first, time := batchOf(entry)
		all = append(all, batch{first, time})
		group = rest
	}
	for j := len(all) - 1; j >= 0; j-- {
		if !fn(all[j].first, all[j].time) {
			return nil
		}
	}
	return nil
}

// forever is a commit after all others.
const forever = math.MaxUint64
