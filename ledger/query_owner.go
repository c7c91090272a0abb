package ledger

import (
	"cmp"
	"slices"
)

// Reads by those who reach the containers of certain owners only. What is not
// there and what is another's look the same to them.

// MayReadContainer is nil if the container is there and of one of the owners,
// which ascend. Error: Forbidden.
func (s *State) MayReadContainer(id int64, owners []int64) *Error {
	p := Permit{Owners: owners}
	if ref := s.findContainer(id); ref == 0 || !p.allows(s.containers.at(ref).owner) {
		return containerForbidden(id)
	}
	return nil
}

// MayReadInstance is nil if the instance stands in, or hangs in the end under
// one that stands in, a container of one of the owners, which ascend. Error:
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

// ContainersOf is Containers over several owners, which ascend: up to limit
// containers of any of them, of the kind (0: any), with id above after, by id.
func (s *State) ContainersOf(dst []ContainerInfo, owners []int64, kind ContainerKind, after int64, limit int) (out []ContainerInfo, more bool) {
	start := len(dst)
	for _, owner := range owners {
		var rest bool
		dst, rest = s.Containers(dst, ContainerFilter{Owner: owner, Kind: kind}, after, limit)
		more = more || rest
	}
	found := dst[start:]
	slices.SortFunc(found, func(a, b ContainerInfo) int { return cmp.Compare(a.ID, b.ID) })
	if len(found) > limit {
		return dst[:start+limit], true
	}
	return dst, more
}
