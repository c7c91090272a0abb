package history

import (
	"encoding/binary"
	"slices"
	"sort"
)

// A View is a snapshot of the index of one container. It needs no lock.
type View struct {
	x         *Index
	container int64
	files     []*file
	covered   uint64 // last commit that the files cover
	gens      []memory
	last      uint64   // last commit
	times     struct { // the block of batches that Time read last
		f       *file
		block   int
		batches []batch
	}
	base uint64 // the changes up to this commit are not known individually; 0 if all are known
}

// memory is a generation as seen by a view.
type memory struct {
	first, last uint64
	chain       chain
	batches     []batch
}

// Base returns the commit at which the index begins. The index has only the state
// at that commit, and no history before it. 0 means that the index is complete.
func (v *View) Base() uint64 { return v.base }

// A step says how to continue after an entry.
type step int

const (
	goOn   step = iota
	before      // continue with the previous file or generation
	stop
)

// newest calls fn for the entries of a key with seq <= to, newest first, until fn
// returns stop. It skips entries after v.last: files written by another daemon may
// extend beyond the commits that this one has applied.
func (v *View) newest(key, to uint64, fn func(entry []byte) step) error {
	return v.newestIn(key, to, false, func(_ int, entry []byte) step { return fn(entry) })
}

// newestIn does the same as newest, and passes fn the number of the file or
// generation. With last set, it may skip an entry if a newer one is about the same
// stack.
func (v *View) newestIn(key, to uint64, last bool, fn func(part int, entry []byte) step) error {
	to = min(to, v.last)
	for i := len(v.gens) - 1; i >= 0; i-- {
		g := &v.gens[i]
		if g.first > to || g.last <= v.covered {
			continue
		}
		next := g.chain.newest(key, to, last, func(entry []byte) step {
			if entrySeq(entry) <= v.covered {
				return before
			}
			return fn(len(v.files)+i, entry)
		})
		if next == stop {
			return nil
		}
	}
	for i := len(v.files) - 1; i >= 0; i-- {
		f := v.files[i]
		if f.first > to {
			continue
		}
		next, err := f.newest(key, to, func(entry []byte) step { return fn(i, entry) })
		if err != nil {
			return v.x.damaged(err)
		}
		if next == stop {
			return nil
		}
	}
	return nil
}

// oldest calls fn for the entries of a key with seq >= from, oldest first.
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
	for i := range v.gens {
		if !v.gens[i].chain.oldest(key, from, fn) {
			return nil
		}
	}
	return nil
}

// decoded turns fn, which takes decoded entries, into a function that takes their
// bytes and skips carried ones. That function stores any decoding error in err.
func (v *View) decoded(err *error, fn func(*Entry) bool) func([]byte) bool {
	var e Entry
	return func(b []byte) bool {
		if isCarried(b) {
			return true
		}
		if *err = e.decode(b, v.container); *err != nil { // the checksum of its block is right, so this is a defect
			return false
		}
		return fn(&e)
	}
}

// until adapts fn to return stop instead of false.
func until(fn func([]byte) bool) func([]byte) step {
	return func(b []byte) step {
		if fn(b) {
			return goOn
		}
		return stop
	}
}

// Newest calls fn for the changes to the container with Seq <= to, newest first,
// until fn returns false. The entry is valid only during the call.
func (v *View) Newest(to uint64, fn func(*Entry) bool) error {
	var bad error
	err := v.newest(uint64(v.container), to, until(v.decoded(&bad, fn)))
	if err == nil {
		err = bad
	}
	return err
}

// Oldest calls fn for the changes to the container with Seq >= from, oldest first,
// until fn returns false. The entry is valid only during the call.
func (v *View) Oldest(from uint64, fn func(*Entry) bool) error {
	var bad error
	err := v.oldest(uint64(v.container), from, v.decoded(&bad, fn))
	if err == nil {
		err = bad
	}
	return err
}

// Lives calls fn for the changes with Seq <= to that created, renamed or removed the
// container, newest first, until fn returns false.
func (v *View) Lives(to uint64, fn func(*Entry) bool) error {
	var bad error
	err := v.newest(lifeKey(v.container), to, until(v.decoded(&bad, fn)))
	if err == nil {
		err = bad
	}
	return err
}

// Time returns the time of a commit in Unix nanoseconds, or 0 if the index begins
// after it. The commit must not be later than the last one of the view.
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
	f := v.files[sort.Search(len(v.files), func(i int) bool { return v.files[i].last >= seq })]
	if i := max(f.after(batchKey, seq)-1, 0); v.times.f != f || v.times.block != i { // usually it is the block of the previous entry
		batches, err := f.batches(i)
		if err != nil {
			return 0, v.x.damaged(err)
		}
		v.times.f, v.times.block, v.times.batches = f, i, batches
	}
	t, _ := timeIn(v.times.batches, seq)
	return t, nil
}

func batchOf(entry []byte) (first uint64, time int64) {
	first, n := binary.Uvarint(entry)
	if n <= 0 || len(entry) != n+8 {
		return 0, 0
	}
	return first, int64(binary.LittleEndian.Uint64(entry[n:]))
}

// SeqAt returns the last commit made at or before a time in Unix nanoseconds. If all
// were made later, it returns the commit before Base, or 0 if the index is complete.
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

// seqAt returns the last commit made at or before a time, which must be before the time
// of the file's last commit.
func (f *file) seqAt(time int64) (uint64, error) {
	var bad error
	in := func(i int) []batch {
		batches, err := f.batches(i)
		bad = firstError(bad, err)
		return batches
	}
	start := max(f.after(batchKey, 0)-1, 0)
	n := sort.Search(f.blocks()-start, func(i int) bool {
		batches := in(start + i)
		return len(batches) > 0 && batches[0].time > time
	})
	for i := max(start+n-1, start); i < f.blocks() && bad == nil; i++ {
		for _, b := range in(i) {
			if b.time > time {
				return b.first - 1, bad
			}
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

// batches returns the batches in a block, oldest first.
func (f *file) batches(i int) (list []batch, err error) {
	group, _, err := f.group(i, batchKey, nil)
	if err != nil {
		return nil, err
	}
	for len(group) > 0 {
		entry, rest, err := lastEntry(group)
		if err != nil {
			return nil, &damageError{f, err}
		}
		first, time := batchOf(entry)
		list, group = append(list, batch{first, time}), rest
	}
	slices.Reverse(list)
	return list, nil
}
