package ledger

import (
	"cmp"
	"slices"
)

// Reads that list the stacks or instances of a class.

// maxSkipped is the maximum number of records that one page reads and skips, so that
// a filter with few matches does not make a read slow. A page that reaches it ends
// there, even if it is shorter than its limit, and more is true. A page of
// NamedContainers for several owners has this maximum for each of them.
const maxSkipped = 10_000

// Holder is a stack of a class.
type Holder struct{ ContainerID, Key, Quantity, Held int64 }

// HolderKey orders the stacks of a class.
type HolderKey struct{ ContainerID, Key int64 }

// WantKind returns ClassNotFound for an unknown class, and WrongClassKind for a class
// of the other kind.
func (s *State) WantKind(class int64, fungible bool) *Error {
	ref := s.findClass(class)
	if ref == 0 {
		return classNotFound(class)
	}
	if k := s.classes.at(ref); k.fungible != fungible {
		if fungible {
			return s.wantFungible(k)
		}
		return Errorf(WrongClassKind, "Class %s is fungible: it has stacks, not instances.", s.classCalled(k)).With(Num("class_id", class))
	}
	return nil
}

// Holders appends up to limit stacks of a fungible class, ordered by container, then
// key. The argument after is the last position already read; the page starts with the
// next one. If more is true, there may be others that come after the result last. If key
// is not nil, only stacks with that key are returned. The lists of stacks must be
// complete; see MakeList.
func (s *State) Holders(dst []Holder, class int64, key *int64, after HolderKey, limit int) (out []Holder, last HolderKey, more bool) {
	last = after
	skipped := 0
	from := s.stackAt(after.ContainerID, after.Key)
	s.stackList(s.findClass(class)).walk(func(ref uint32) int { return cmp.Or(from(ref), -1) }, func(ref uint32) bool {
		r := s.stacks.at(ref)
		place := HolderKey{s.containers.at(r.container).id, r.key}
		if key == nil || r.key == *key {
			if more = limit <= 0; more {
				return false
			}
			limit--
			dst = append(dst, Holder{place.ContainerID, r.key, r.quantity, s.heldOf(r)})
		} else if skipped++; skipped > maxSkipped {
			more = true
			return false
		}
		last = place
		return true
	})
	return dst, last, more
}

// InstanceFilter narrows Instances. Nil and zero fields match all.
type InstanceFilter struct {
	Key       *int64
	Container int64 // container that they are in directly
}

// Instances appends up to limit instances of a class, without their children, ordered by
// id. The argument after is the last id already read, or 0; the page starts with the next
// one. If more is true, there may be others, with ids greater than the result last. The
// lists of instances must be complete; see MakeList.
func (s *State) Instances(dst []InstanceInfo, class int64, f InstanceFilter, after int64, limit int) (out []InstanceInfo, last int64, more bool) {
	kref := s.findClass(class)
	cref := uint32(0)
	if f.Container != 0 {
		if cref = s.findContainer(f.Container); cref == 0 {
			return dst, after, false
		}
		if c := s.containers.at(cref); c.stacks+c.instances <= maxSkipped || c.kind == Standard {
			return s.instancesIn(dst, c, kref, f, after, limit)
		}
	}
	last = after
	skipped := 0
	s.instanceList(kref).walk(func(ref uint32) int { return cmp.Or(cmp.Compare(s.instances.at(ref).id, after), -1) }, func(ref uint32) bool {
		r := s.instances.at(ref)
		if (f.Key == nil || r.key == *f.Key) && (cref == 0 || r.where != Attached && r.where != Nowhere && r.host == cref) {
			if more = limit <= 0; more {
				return false
			}
			limit--
			dst = append(dst, s.instanceInfo(ref))
		} else if skipped++; skipped > maxSkipped {
			more = true
			return false
		}
		last = r.id
		return true
	})
	return dst, last, more
}

// instancesIn is like Instances, for a Standard container, which has no instances, or
// one with few stacks and instances.
func (s *State) instancesIn(dst []InstanceInfo, c *container, kref uint32, f InstanceFilter, after int64, limit int) (out []InstanceInfo, last int64, more bool) {
	var found []uint32
	take := func(ref uint32) bool {
		if c.kind == Grid {
			p := s.placements.at(ref)
			if ref = p.thing; !p.isInstance {
				return true
			}
		}
		if r := s.instances.at(ref); r.class == kref && r.id > after && (f.Key == nil || r.key == *f.Key) {
			found = append(found, ref)
		}
		return true
	}
	switch c.kind {
	case Slots:
		treeWalk(slotsByIndex{s}, c.things, lowest, take)
	case Grid:
		treeWalk(placementsByRow{s}, c.things, lowest, take)
	}
	slices.SortFunc(found, func(a, b uint32) int { return cmp.Compare(s.instances.at(a).id, s.instances.at(b).id) })
	if more = len(found) > max(limit, 0); more {
		found = found[:max(limit, 0)]
	}
	last = after
	for _, ref := range found {
		dst = append(dst, s.instanceInfo(ref))
		last = s.instances.at(ref).id
	}
	return dst, last, more
}
