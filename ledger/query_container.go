package ledger

import "math"

// Reads of containers and their contents. Reads change nothing, so any number of them may
// run concurrently, as long as the state is not being changed. With a limit below 1, a
// read returns no rows, and its result more reports whether there may be any.

// Container returns a container. Error: ContainerNotFound.
func (s *State) Container(id int64) (ContainerInfo, *Error) {
	ref := s.findContainer(id)
	if ref == 0 {
		return ContainerInfo{}, containerNotFound(id)
	}
	return s.containerInfo(ref), nil
}

func (s *State) containerInfo(ref uint32) ContainerInfo {
	c := s.containers.at(ref)
	info := ContainerInfo{
		ID: c.id, Name: s.nameOf(containerNames, ref), Kind: c.kind, Owner: c.owner, CreatedSeq: c.created, UpdatedSeq: c.updated,
		SlotCount: int(c.slotCount), GridWidth: int(c.gridWidth), GridHeight: int(c.gridHeight),
		Stacks: int(c.stacks), Instances: int(c.instances),
	}
	if c.kind == Grid {
		info.OccupiedCells = int(s.grids.at(c.grid).occupied)
	}
	return info
}

// ContainerFilter narrows Containers. Zero fields match all.
type ContainerFilter struct {
	Owner int64
	Kind  ContainerKind
}

// Containers appends up to limit containers, ordered by id. The argument after is the
// last id already read, or 0; the page starts with the next one. If more is true, there
// may be others, with ids greater than the result last. A page reads at most maxSkipped
// containers besides those that it returns.
func (s *State) Containers(dst []ContainerInfo, f ContainerFilter, after int64, limit int) (out []ContainerInfo, last int64, more bool) {
	var order nodes = containersByID{s}
	root, from := s.byID, rank{major: after}
	switch {
	case f.Owner != 0:
		order, root, from = containersByOwner{s}, s.byOwner, rank{f.Owner, after}
	case f.Kind != 0:
		order, root, from = containersByKind{s}, s.byKind, rank{int64(f.Kind), after}
	}
	page := containerPage{dst: dst, kind: f.Kind, last: after, limit: limit}
	treeWalk(order, root, from, func(ref uint32) bool {
		c := s.containers.at(ref)
		if f.Owner != 0 && c.owner != f.Owner || f.Owner == 0 && f.Kind != 0 && c.kind != f.Kind {
			return false
		}
		return page.take(s, ref)
	})
	return page.dst, page.last, page.more
}

// A containerPage collects a page of containers by id.
type containerPage struct {
	dst            []ContainerInfo
	kind           ContainerKind // 0: any
	last           int64
	limit, skipped int
	more           bool
}

// take appends the container if it is of the page's kind and the page has room for it. It
// reports whether to continue.
func (p *containerPage) take(s *State, ref uint32) bool {
	c := s.containers.at(ref)
	if p.kind != 0 && c.kind != p.kind {
		p.skipped++
		p.more = p.skipped > maxSkipped
	} else if p.more = p.limit <= 0; !p.more {
		p.limit--
		p.dst = append(p.dst, s.containerInfo(ref))
	}
	if !p.more {
		p.last = c.id
	}
	return !p.more
}

// BalanceFilter narrows Balances. Nil fields match all.
type BalanceFilter struct{ ClassID, Key *int64 }

// StackKey orders the stacks of a container.
type StackKey struct{ ClassID, Key int64 }

// Balances appends up to limit stacks of a container, ordered by class_id, then key. The
// argument after is the last stack already read, or nil; the page starts with the next
// one. If more is true, there may be others that come after the result last. Errors:
// ContainerNotFound, WrongContainerKind for Slots.
func (s *State) Balances(dst []Balance, id int64, f BalanceFilter, after *StackKey, limit int) (out []Balance, last StackKey, more bool, err *Error) {
	cref := s.findContainer(id)
	if cref == 0 {
		return dst, last, false, containerNotFound(id)
	}
	c := s.containers.at(cref)
	if err := s.wantStacks(c); err != nil {
		return dst, last, false, err
	}
	from := lowest
	if after != nil {
		from = rank{after.ClassID, after.Key}
	}
	if f.ClassID != nil && from.major < *f.ClassID {
		from = rank{*f.ClassID, -1}
	}
	if f.Key != nil {
		dst, last, more = s.balancesOfKey(dst, c, f, from, limit)
		return dst, last, more, nil
	}
	treeWalk(stacksByClass{s}, c.stackTree, from, func(ref uint32) bool {
		b := s.balance(ref)
		if f.ClassID != nil && b.ClassID != *f.ClassID {
			return false
		}
		if limit <= 0 {
			more = true
			return false
		}
		limit--
		dst = append(dst, b)
		last = StackKey{b.ClassID, b.Key}
		return true
	})
	return dst, last, more, nil
}

// balancesOfKey finds the stack with the filter's key in each class directly, without
// visiting all the other keys of the class.
func (s *State) balancesOfKey(dst []Balance, c *container, f BalanceFilter, from rank, limit int) (out []Balance, last StackKey, more bool) {
	key := *f.Key
	for skipped := 0; ; {
		if from.minor < key-1 && from.major != math.MinInt64 {
			from.minor = key - 1
		}
		ref := treeNext(stacksByClass{s}, c.stackTree, from)
		if ref == 0 {
			return dst, last, false
		}
		b := s.balance(ref)
		if f.ClassID != nil && b.ClassID != *f.ClassID {
			return dst, last, false
		}
		if b.Key < key {
			from = rank{b.ClassID, key - 1}
			continue
		}
		if b.Key == key {
			if limit <= 0 {
				return dst, last, true
			}
			limit--
			dst = append(dst, b)
		} else if skipped++; skipped > maxSkipped {
			return dst, last, true
		}
		from = rank{b.ClassID, math.MaxInt64}
		last = StackKey{b.ClassID, b.Key}
	}
}

func (s *State) balance(ref uint32) Balance {
	r := s.stacks.at(ref)
	return Balance{ClassID: s.classes.at(r.class).id, Key: r.key, Quantity: r.quantity, Held: s.heldOf(r)}
}

// SlotEntries appends up to limit occupied slots, ordered by index. The argument after is
// the last index already read, or -1; the page starts with the next one. The result more
// reports whether there are others. Errors: ContainerNotFound, WrongContainerKind.
func (s *State) SlotEntries(dst []SlotEntry, id int64, after int, limit int) (out []SlotEntry, more bool, err *Error) {
	cref := s.findContainer(id)
	if cref == 0 {
		return dst, false, containerNotFound(id)
	}
	c := s.containers.at(cref)
	if err := s.wantKind(c, Slots); err != nil {
		return dst, false, err
	}
	treeWalk(slotsByIndex{s}, c.things, rank{major: int64(after)}, func(ref uint32) bool {
		if limit <= 0 {
			more = true
			return false
		}
		limit--
		r := s.instances.at(ref)
		dst = append(dst, SlotEntry{SlotIndex: int(r.spot), InstanceID: r.id, ClassID: s.classes.at(r.class).id, Key: r.key})
		return true
	})
	return dst, more, nil
}
