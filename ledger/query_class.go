package ledger

import "math"

// Reads of classes and instances.

// Class returns a class. Error: ClassNotFound.
func (s *State) Class(id int64) (ClassInfo, *Error) {
	ref := s.findClass(id)
	if ref == 0 {
		return ClassInfo{}, classNotFound(id)
	}
	return s.classInfo(ref), nil
}

func (s *State) classInfo(ref uint32) ClassInfo {
	k := s.classes.at(ref)
	return ClassInfo{ID: k.id, Code: s.nameOf(classCodes, ref), Name: k.name, Fungible: k.fungible, Decimals: int(k.decimals), RegisteredSeq: k.registered}
}

// Classes appends up to limit classes, ordered by id. The argument after is the last id
// already read, or 0; the page starts with the next one. The result more reports whether
// there are others.
func (s *State) Classes(dst []ClassInfo, after int64, limit int) (out []ClassInfo, more bool) {
	treeWalk(classesByID{s}, s.classTree, rank{major: after}, func(ref uint32) bool {
		if limit <= 0 {
			more = true
			return false
		}
		limit--
		dst = append(dst, s.classInfo(ref))
		return true
	})
	return dst, more
}

// Shapes appends all shapes of a class. Error: ClassNotFound.
func (s *State) Shapes(dst []ShapeInfo, class int64) ([]ShapeInfo, *Error) {
	dst, _, err := s.ShapePage(dst, class, BeforeShapes, math.MaxInt)
	return dst, err
}

// Positions in the shapes of a class, besides keys.
const (
	BeforeShapes = anyKey - 1
	AtAnyKey     = anyKey // of the shape for all keys without one of their own
)

// ShapePage appends up to limit shapes of a class, ordered by key, with the null key
// first. The argument after is the position of the last shape already read, or
// BeforeShapes; the page starts with the next one. The result more reports whether there
// are others. Error: ClassNotFound.
func (s *State) ShapePage(dst []ShapeInfo, class, after int64, limit int) (out []ShapeInfo, more bool, err *Error) {
	kref := s.findClass(class)
	if kref == 0 {
		return dst, false, classNotFound(class)
	}
	treeWalk(shapesByKey{s}, s.classes.at(kref).shapes, rank{major: after}, func(ref uint32) bool {
		if more = limit <= 0; more {
			return false
		}
		limit--
		r := s.shapes.at(ref)
		info := ShapeInfo{Key: r.key, Width: int(r.width), Height: int(r.height)}
		if r.key == anyKey {
			info.AnyKey, info.Key = true, 0
		}
		dst = append(dst, info)
		return true
	})
	return dst, more, nil
}

// Stats returns the totals of a class. Error: ClassNotFound.
func (s *State) Stats(class int64) (ClassStats, *Error) {
	ref := s.findClass(class)
	if ref == 0 {
		return ClassStats{}, classNotFound(class)
	}
	k := s.classes.at(ref)
	return ClassStats{
		ClassID: k.id, TotalQuantity: k.total(), TotalHeld: k.held, TotalAdded: k.added, TotalRemoved: k.removed,
		Stacks: k.stacks, Containers: k.containers,
		InstancesMinted: k.minted, InstancesBurned: k.burned, Alive: k.minted - k.burned,
	}, nil
}

// Instance returns an instance without its children. Error: InstanceNotFound.
func (s *State) Instance(id int64) (InstanceInfo, *Error) {
	ref := s.findInstance(id)
	if ref == 0 {
		return InstanceInfo{}, instanceNotFound("instance_id", id)
	}
	return s.instanceInfo(ref), nil
}

func (s *State) instanceInfo(ref uint32) InstanceInfo {
	r := s.instances.at(ref)
	info := InstanceInfo{ID: r.id, ClassID: s.classes.at(r.class).id, Key: r.key, MintedSeq: r.minted, Location: r.where}
	switch r.where {
	case InSlot:
		info.ContainerID, info.SlotIndex = s.containers.at(r.host).id, int(r.spot)
	case InGrid:
		p := s.placements.at(r.spot)
		info.ContainerID = s.containers.at(r.host).id
		info.X, info.Y, info.Rotation = int(p.x), int(p.y), int(rotationOf(p.turned))
	case Attached:
		info.ParentID = s.instances.at(r.host).id
	}
	return info
}

// Children appends up to limit children of an instance, ordered by id. The argument after
// is the last id already read, or 0; the page starts with the next one. The result more
// reports whether there are others. An unknown instance has none.
func (s *State) Children(dst []int64, id, after int64, limit int) (out []int64, more bool) {
	ref := s.findInstance(id)
	if ref == 0 {
		return dst, false
	}
	more = !treeWalk(childrenByID{s}, s.instances.at(ref).children, rank{major: after}, func(child uint32) bool {
		if limit <= 0 {
			return false
		}
		limit--
		dst = append(dst, s.instances.at(child).id)
		return true
	})
	return dst, more
}
