package ledger

import "math"

// freeIDs finds the lowest unused id that is not below a given one. It remembers which
// ids are in use, even if the transaction that needed an id is rejected, so it rarely
// walks over the same ids twice.
//
//	from ───────── upto          all in use, except for the holes
type freeIDs struct {
	from, upto int64
	holes      slab[hole, *hole]
	root       uint32 // the holes by id
	count      int
}

// A hole is an id that is free again.
type hole struct {
	id   int64
	tree links
}

func (r *hole) freeLink() *uint32 { return &r.tree.left }

type holesByID struct{ f *freeIDs }

func (t holesByID) links(ref uint32) *links { return &t.f.holes.at(ref).tree }
func (t holesByID) rank(ref uint32) rank    { return rank{major: t.f.holes.at(ref).id} }

// maxHoles bounds the memory for holes. When there are more, all are dropped and
// searched for again when needed.
const maxHoles = 1 << 16

// restart forgets everything, and begins at low.
func (f *freeIDs) restart(low int64) {
	*f = freeIDs{from: low, upto: low}
}

// next returns the lowest free id that is at least low. The caller promises that no
// later call passes a low that is less than final.
func (f *freeIDs) next(final, low int64, inUse func(id int64) bool) int64 {
	for ref := f.hole(0); ref != 0 && f.holes.at(ref).id < final; ref = f.hole(0) {
		f.fill(ref)
	}
	f.from = max(f.from, min(f.upto, final))
	if low < f.from || low > f.upto {
		f.restart(low)
	}
	if ref := f.hole(low); ref != 0 {
		return f.holes.at(ref).id
	}
	for inUse(f.upto) {
		f.upto++
	}
	return f.upto
}

// hole returns the first hole that is at least low, or 0.
func (f *freeIDs) hole(low int64) uint32 {
	return treeNext(holesByID{f}, f.root, rank{low - 1, math.MaxInt64})
}

func (f *freeIDs) fill(ref uint32) {
	treeRemove(holesByID{f}, &f.root, ref)
	f.holes.release(ref)
	f.count--
}

// used records that the id is in use.
func (f *freeIDs) used(id int64) {
	if id < f.from || id > f.upto {
		return
	}
	if id == f.upto {
		f.upto++
	} else if ref := treeFind(holesByID{f}, f.root, rank{major: id}); ref != 0 {
		f.fill(ref)
	}
}

// freed records that the id is no longer in use.
func (f *freeIDs) freed(id int64) {
	if id < f.from || id >= f.upto {
		return
	}
	if f.count == maxHoles {
		f.restart(f.from)
		return
	}
	f.count++
	ref, r := f.holes.alloc()
	r.id = id
	treeInsert(holesByID{f}, &f.root, ref)
}
