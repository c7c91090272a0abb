package ledger

import "slices"

func (v *verifier) grid(cref uint32, c *container) {
	s := v.s
	g := s.grids.at(c.grid)
	refs := v.tree("placements", placementsByRow{s}, c.things)
	v.placed += len(refs)
	stride, n := rowWords(int(c.gridWidth)), planeWords(c)
	bits := make([]uint64, 2*n)
	drawn := grid{bits: bits}
	var inside []uint32
	for _, ref := range refs {
		p := s.placements.at(ref)
		a := p.area()
		if a.x+a.w > int(c.gridWidth) || a.y+a.h > int(c.gridHeight) || a.w < 1 || a.h < 1 || p.container != cref {
			v.failf("placement %+v is empty, extends beyond container %d, or names another", *p, c.id)
			continue
		}
		if !areaFree(bits[:n], stride, a) {
			v.failf("placement %+v overlaps another in container %d", *p, c.id)
		}
		markPlacement(c, &drawn, a, true)
		drawn.occupied += uint32(a.w * a.h)
		if p.height > g.tallest || p.width > g.widest {
			v.failf("placement %+v is larger than the largest one recorded for container %d", *p, c.id)
		}
		v.digest += s.placementItem(p)
		if p.isInstance {
			inside = append(inside, p.thing)
			if r := s.instances.at(p.thing); r.where != InGrid || r.host != cref || r.spot != ref {
				v.failf("instance %d in a grid has the record %+v", r.id, *r)
			}
		} else if r := s.stacks.at(p.thing); r.container != cref || r.place != ref {
			v.failf("stack %+v does not have placement %d", *r, ref)
		}
	}
	if g.bits != nil && !slices.Equal(g.bits, bits) {
		v.failf("the bitmap of container %d does not match its placements", c.id)
	}
	if g.occupied != drawn.occupied || int(g.count) != len(refs) || len(refs) != len(inside)+int(c.stacks) {
		v.failf("container %d counts %d placements on %d cells, but has %d on %d", c.id, g.count, g.occupied, len(refs), drawn.occupied)
	}
	v.floors(c, g, bits[:n])
	v.holds(cref, c, inside)
}

// floors checks what first fit remembers about a grid. plane has the cells that are
// actually occupied.
func (v *verifier) floors(c *container, g *grid, plane []uint64) {
	if f := &v.s.fit; f.of == c.grid && g.bits == nil && !slices.Equal(f.plane, plane) {
		v.failf("the plane kept for first fit in container %d does not match its placements", c.id)
	}
	var fresh fitter
	for _, f := range g.floors {
		w, h := int(f.w), int(f.h)
		for _, rows := range [][2]uint16{{0, f.lo}, {f.hi, f.y}, {f.y, f.y + 1}} {
			x, y, ok := fresh.firstFit(plane, int(c.gridWidth), w, h, int(rows[0]), min(int(rows[1]), int(c.gridHeight)-h+1))
			if ok && (y < int(f.y) || x < int(f.x)) {
				v.failf("%d x %d cells at (%d,%d) of container %d are free, but first fit would not look there (%+v)", w, h, x, y, c.id, f)
			}
		}
	}
}
