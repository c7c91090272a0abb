package ledger

import "math"

// EachContainer visits every container, ordered by container_id, and passes fn the
// changes that would create the container and its contents: first ContainerCreated, then
// one change for each thing in it. A change is valid only during the call.
func (s *State) EachContainer(fn func(info *ContainerInfo, c *Change)) {
	treeWalk(containersByID{s}, s.byID, lowest, func(ref uint32) bool {
		info := s.containerInfo(ref)
		o := observation{s: s, op: &Op{}}
		o.add(ContainerCreated, ref).Info = info
		o.carry(ref)
		for i := range o.changes {
			c := &o.changes[i]
			o.finish(c)
			c.Delta = 0
			fn(&info, c)
		}
		return true
	})
}

// carry adds a change for each thing that a container holds.
func (o *observation) carry(cref uint32) {
	s := o.s
	c := s.containers.at(cref)
	treeWalk(stacksByClass{s}, c.stackTree, lowest, func(ref uint32) bool {
		o.stack(ref, 0)
		return true
	})
	treeWalk(holdsByContainer{s}, s.holdTree, rank{c.id, math.MinInt64}, func(ref uint32) bool {
		if s.holderOf(ref) != c {
			return false
		}
		o.hold(ref, 0, s.holds.at(ref).quantity)
		return true
	})
	switch c.kind {
	case Slots:
		treeWalk(slotsByIndex{s}, c.things, lowest, func(ref uint32) bool {
			o.instance(InstanceIn, cref, ref).Slot = int(s.instances.at(ref).spot)
			return true
		})
	case Grid:
		treeWalk(placementsByRow{s}, c.things, lowest, func(ref uint32) bool {
			if p := s.placements.at(ref); p.isInstance {
				o.instance(InstanceIn, cref, p.thing).place(p)
			}
			return true
		})
	}
}
