package ledger

// Reads for tokens limited to the containers of certain owners. What does not
// exist and what belongs to other owners look the same to them.

// MayReadContainer returns nil if the container exists and belongs to one of the owners,
// which must be sorted. Error: Forbidden.
func (s *State) MayReadContainer(id int64, owners []int64) *Error {
	p := Permit{Owners: owners}
	if ref := s.findContainer(id); ref == 0 || !p.allows(s.containers.at(ref).owner) {
		return containerForbidden(id)
	}
	return nil
}

// MayReadInstance returns nil if the instance, or the root of the tree of attachments
// that it is in, is in a container of one of the owners, which must be sorted. Error:
// Forbidden.
func (s *State) MayReadInstance(id int64, owners []int64) *Error {
	p := Permit{Owners: owners}
	if ref := s.findInstance(id); ref != 0 {
		top := s.instances.at(s.topmostUnmoved(ref))
		if top.where != Nowhere && p.allows(s.containers.at(top.host).owner) {
			return nil
		}
	}
	return instanceForbidden("instance_id", id)
}

// ContainersOf is like Containers, for several owners, which must be sorted. It appends
// containers of any of these owners; if kind is not 0, only those of that kind.
func (s *State) ContainersOf(dst []ContainerInfo, owners []int64, kind ContainerKind, after int64, limit int) (out []ContainerInfo, last int64, more bool) {
	if len(owners) == 1 {
		return s.Containers(dst, ContainerFilter{owners[0], kind}, after, limit)
	}
	next := make([]uint32, len(owners)) // the next container of each owner; 0: it has no other
	for i, owner := range owners {
		next[i] = s.nextOf(owner, after)
	}
	page := containerPage{dst: dst, kind: kind, last: after, limit: limit}
	for {
		first := -1
		for i, ref := range next {
			if ref != 0 && (first < 0 || s.containers.at(ref).id < s.containers.at(next[first]).id) {
				first = i
			}
		}
		if first < 0 || !page.take(s, next[first]) {
			return page.dst, page.last, page.more
		}
		next[first] = s.nextOf(owners[first], page.last)
	}
}

// nextOf returns the owner's container with the lowest id that is greater than after,
// or 0 if there is none.
func (s *State) nextOf(owner, after int64) uint32 {
	ref := treeNext(containersByOwner{s}, s.byOwner, rank{owner, after})
	if ref == 0 || s.containers.at(ref).owner != owner {
		return 0
	}
	return ref
}
