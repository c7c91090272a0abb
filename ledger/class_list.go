package ledger

import (
	"cmp"
	"math"
)

// classLists holds the stacks of each class, by container and key, and the
// instances of each class, by id, for the reads that list them. The lists are built
// when they are first needed, so a write daemon never has them. They are built in
// pieces, in the order of the records' numbers. The records in use with
// numbers below nextStack or nextInstance are in the lists, and creating or
// removing such a record updates the lists.
type classLists struct {
	stacks, instances       []ordered // by class
	nextStack, nextInstance uint32    // 0: not begun; allListed: the lists are complete, and stay complete
}

const allListed = math.MaxUint32

// MakeList visits up to n more stacks, or instances if fungible is false, and adds
// those in use to the lists. It reports whether these lists are complete.
func (s *State) MakeList(fungible bool, n int) (done bool) {
	l := &s.lists
	if fungible {
		return makeList(&l.nextStack, s.stacks.next, n, func(ref uint32) {
			if r := s.stacks.at(ref); r.container != 0 && s.findStack(r.container, r.class, r.key) == ref {
				s.stackList(r.class).insert(ref, s.stackAt(s.containers.at(r.container).id, r.key))
			}
		})
	}
	return makeList(&l.nextInstance, s.instances.next, n, func(ref uint32) {
		if r := s.instances.at(ref); r.id != 0 && s.findInstance(r.id) == ref {
			s.instanceList(r.class).insert(ref, s.instanceAt(r.id))
		}
	})
}

func makeList(next *uint32, end uint32, n int, enter func(ref uint32)) (done bool) {
	*next = max(*next, 1)
	for ; n > 0 && *next < end; n-- {
		enter(*next)
		*next++
	}
	if *next >= end {
		*next = allListed
	}
	return *next == allListed
}

// Listed reports whether the lists of stacks, or of instances if fungible is false, are
// complete.
func (s *State) Listed(fungible bool) bool {
	if fungible {
		return s.lists.nextStack == allListed
	}
	return s.lists.nextInstance == allListed
}

func listOf(lists *[]ordered, class uint32) *ordered {
	for int(class) >= len(*lists) {
		*lists = append(*lists, ordered{})
	}
	return &(*lists)[class]
}

func (s *State) stackList(class uint32) *ordered    { return listOf(&s.lists.stacks, class) }
func (s *State) instanceList(class uint32) *ordered { return listOf(&s.lists.instances, class) }

// stackAt returns the position of a stack in the list of its class.
func (s *State) stackAt(container, key int64) position {
	return func(ref uint32) int {
		r := s.stacks.at(ref)
		return cmp.Or(cmp.Compare(s.containers.at(r.container).id, container), cmp.Compare(r.key, key))
	}
}

// instanceAt returns the position of an instance in the list of its class.
func (s *State) instanceAt(id int64) position {
	return func(ref uint32) int { return cmp.Compare(s.instances.at(ref).id, id) }
}

// listStack adds a stack that has been linked.
func (s *State) listStack(ref uint32) {
	if ref < s.lists.nextStack {
		r := s.stacks.at(ref)
		s.stackList(r.class).insert(ref, s.stackAt(s.containers.at(r.container).id, r.key))
	}
}

// unlistStack removes a stack that has been unlinked.
func (s *State) unlistStack(ref uint32) {
	if ref < s.lists.nextStack {
		r := s.stacks.at(ref)
		s.stackList(r.class).remove(s.stackAt(s.containers.at(r.container).id, r.key))
	}
}

func (s *State) listInstance(ref uint32) {
	if ref < s.lists.nextInstance {
		r := s.instances.at(ref)
		s.instanceList(r.class).insert(ref, s.instanceAt(r.id))
	}
}

func (s *State) unlistInstance(ref uint32) {
	if ref < s.lists.nextInstance {
		r := s.instances.at(ref)
		s.instanceList(r.class).remove(s.instanceAt(r.id))
	}
}
