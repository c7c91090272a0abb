package modeltest

import (
	"slices"

	"assetledger/ledger"
)

// place is the place in a grid that an operation requests. A field that was not given is nil.
type place struct{ x, y, rotation *int64 }

// placeOf reads the arguments at the given positions.
func placeOf(op *ledger.Op, x, y, rotation int) place {
	arg := func(i int) *int64 {
		if !op.Given(i) {
			return nil
		}
		v := op.Args[i]
		return &v
	}
	return place{arg(x), arg(y), arg(rotation)}
}

func (p place) given() bool { return p.x != nil || p.y != nil || p.rotation != nil }

// fits reports whether every field that was given equals that of t.
func (p place) fits(t thing) bool {
	return (p.x == nil || *p.x == t.x) && (p.y == nil || *p.y == t.y) && (p.rotation == nil || (*p.rotation == 90) == t.turned)
}

// paint returns what covers each cell of a grid, as cells[y][x]; nil is free.
func (c *container) paint() [][]*thing {
	cells := make([][]*thing, c.height)
	for y := range cells {
		cells[y] = make([]*thing, c.width)
	}
	for i := range c.things {
		t := &c.things[i]
		for y := t.y; y < t.y+t.h; y++ {
			for x := t.x; x < t.x+t.w; x++ {
				if cells[y][x] != nil {
					panic("modeltest: two things on one cell")
				}
				cells[y][x] = t
			}
		}
	}
	return cells
}

// inside reports whether a rectangle lies within the grid.
func (c *container) inside(x, y int64, s size) bool {
	return x >= 0 && y >= 0 && s.w <= c.width && s.h <= c.height && x <= c.width-s.w && y <= c.height-s.h
}

// free reports whether all cells of a rectangle are free or covered by self.
func free(cells [][]*thing, x, y int64, s size, self *thing) bool {
	for cy := y; cy < y+s.h; cy++ {
		for cx := x; cx < x+s.w; cx++ {
			if cells[cy][cx] != nil && cells[cy][cx] != self {
				return false
			}
		}
	}
	return true
}

func (s size) turn(turned bool) size {
	if turned {
		return size{s.h, s.w}
	}
	return s
}

// shape returns the registered shape of a class for a key.
func (r *run) shape(cl *class, key int64) size {
	if s, ok := cl.byKey[key]; ok {
		return s
	}
	r.check(cl.anyKey != nil, ledger.UnregisteredClassShape, detail{"key", key})
	return *cl.anyKey
}

// findPlace checks the requested place, or searches for the first free one: first in
// the whole grid without rotation, then in the whole grid with rotation.
func (r *run) findPlace(c *container, cl *class, key int64, p place) thing {
	shape := r.shape(cl, key)
	cells := c.paint()
	if p.x != nil {
		turned := p.rotation != nil && *p.rotation == 90
		s := shape.turn(turned)
		r.check(c.inside(*p.x, *p.y, s), ledger.OutOfBounds)
		r.check(free(cells, *p.x, *p.y, s, nil), ledger.CellOccupied)
		return thing{x: *p.x, y: *p.y, w: s.w, h: s.h, turned: turned}
	}
	for _, turned := range []bool{false, true} {
		if p.rotation != nil && (*p.rotation == 90) != turned {
			continue
		}
		s := shape.turn(turned)
		for y := int64(0); y < c.height; y++ {
			for x := int64(0); x < c.width; x++ {
				if c.inside(x, y, s) && free(cells, x, y, s, nil) {
					r.decisions = append(r.decisions,
						ledger.Decision{Op: int32(r.index), Placed: true, X: uint16(x), Y: uint16(y), Turned: turned})
					return thing{x: x, y: y, w: s.w, h: s.h, turned: turned}
				}
			}
		}
	}
	r.check(false, ledger.GridFull)
	return thing{}
}

func (r *run) placeInGrid(op *ledger.Op) {
	c := r.container(op, ledger.GridContainer)
	r.check(c.kind == ledger.Grid, ledger.WrongContainerKind)
	id, in := r.instance(op, ledger.GridInstance)
	r.nowhere(id)
	t := r.findPlace(c, r.m.classes[in.class], in.key, placeOf(op, ledger.GridX, ledger.GridY, ledger.GridRotation))

	t.instance = id
	c.things = append(c.things, t)
	r.touch(c)
	container := op.Args[ledger.GridContainer]
	r.takenBack(newOp(ledger.RemoveFromGrid).with(container, id), standsAt(container, t))
}

// standsAt returns a function that reports whether the thing is still at its anchor, with its rotation.
func standsAt(container int64, t thing) func(m *Model) bool {
	return func(m *Model) bool {
		c := m.containers[container]
		return c != nil && slices.ContainsFunc(c.things, func(now thing) bool {
			return now.instance == t.instance && now.stack == t.stack && now.x == t.x && now.y == t.y && now.turned == t.turned
		})
	}
}

func (r *run) removeFromGrid(op *ledger.Op) {
	c := r.container(op, ledger.GridContainer)
	r.check(c.kind == ledger.Grid, ledger.WrongContainerKind)
	id, _ := r.instance(op, ledger.GridInstance)
	at := r.m.locate(id)
	r.check(at.Location == ledger.InGrid && at.ContainerID == op.Args[ledger.GridContainer], ledger.NotPlaced, detail{"instance_id", id})

	c.drop(id)
	r.free(id)
	r.touch(c)
	r.takenBack(newOp(ledger.PlaceInGrid).with(at.ContainerID, id).at(ledger.GridX, &thing{x: int64(at.X), y: int64(at.Y), turned: at.Rotation == 90}), nil)
}

func (r *run) moveInGrid(op *ledger.Op) {
	x, y := op.Args[ledger.MoveX], op.Args[ledger.MoveY]
	toX, toY := op.Args[ledger.MoveToX], op.Args[ledger.MoveToY]

	c := r.container(op, ledger.MoveContainer)
	r.check(c.kind == ledger.Grid, ledger.WrongContainerKind)
	r.check(c.inside(x, y, size{1, 1}), ledger.OutOfBounds)
	cells := c.paint()
	t := cells[y][x]
	r.check(t != nil, ledger.CellEmpty)
	turned := t.turned
	if op.Given(ledger.MoveRotation) {
		turned = op.Args[ledger.MoveRotation] == 90
	}
	s := size{t.w, t.h}.turn(turned != t.turned)
	r.check(c.inside(toX, toY, s), ledger.OutOfBounds)
	r.check(free(cells, toX, toY, s, t), ledger.CellOccupied)

	was := *t
	t.x, t.y, t.w, t.h, t.turned = toX, toY, s.w, s.h, turned
	r.touch(c)
	container := op.Args[ledger.MoveContainer]
	back := newOp(op.Kind).with(container, toX, toY, was.x, was.y, int64(rotation(was.turned)))
	r.takenBack(back, standsAt(container, *t))
}
