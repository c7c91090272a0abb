package memfs

import (
	"maps"
	"slices"
)

const (
	pageSize   = 4096
	sectorSize = 512
)

type (
	page   [pageSize]byte
	sector [sectorSize]byte
)

// An inode is a file or a directory, independently of its names.
type inode struct {
	entries *directory // names in a directory; nil for a file
	links   int        // number of names that programs see
	opens   int        // number of handles

	// The file as programs see it. A nil page is all zeroes.
	pages     []*page
	allocated map[int]struct{} // pages that occupy space
	size      int64

	// The file as the disk has it, where that may differ.
	marks    map[int]*mark // by sector
	diskSize int64
	sizes    []int64 // sizes since the last sync, except the current size and diskSize

	shared *page // content of page 0 when it was last observed; nil if it was never mapped for writing
}

// A mark is the state of a sector whose bytes on disk may differ from those in the
// cache.
type mark struct {
	disk  sector   // content on disk at the last sync
	since []sector // contents between then and now
	clean bool     // a sync failed, so the sector is not written again
}

// page returns a page, or nil if it is all zeroes.
func (n *inode) page(i int) *page {
	if i < len(n.pages) {
		return n.pages[i]
	}
	return nil
}

func (n *inode) ownPage(i int) *page {
	for len(n.pages) <= i {
		n.pages = append(n.pages, nil)
	}
	if n.pages[i] == nil {
		n.pages[i] = new(page)
	}
	return n.pages[i]
}

// sector returns the content of a sector as programs see it.
func (n *inode) sector(i int) (s sector) {
	if p := n.page(i / (pageSize / sectorSize)); p != nil {
		copy(s[:], p[i%(pageSize/sectorSize)*sectorSize:])
	}
	return s
}

func (n *inode) setSector(i int, s *sector) {
	p := i / (pageSize / sectorSize)
	if n.page(p) == nil && *s == (sector{}) {
		return
	}
	copy(n.ownPage(p)[i%(pageSize/sectorSize)*sectorSize:], s[:])
}

// soil marks a sector that is about to be written, or that was just written. The
// parameter before is the content of the sector before the write.
func (n *inode) soil(i int, before sector) {
	m := n.marks[i]
	switch {
	case m == nil:
		n.marks[i] = &mark{disk: before}
	case m.clean:
		m.clean = false
	default:
		m.since = append(m.since, before)
	}
}

// write writes bytes into the cache. Their space must be allocated.
func (n *inode) write(b []byte, off int64) {
	if end := off + int64(len(b)); end > n.size {
		n.resize(end)
	}
	for len(b) > 0 {
		i := int(off / sectorSize)
		at := int(off % sectorSize)
		part := b[:min(len(b), sectorSize-at)]
		was := n.sector(i)
		n.soil(i, was)
		copy(was[at:], part)
		n.setSector(i, &was)
		if n.shared != nil && i < pageSize/sectorSize {
			copy(n.shared[i*sectorSize:], was[:])
		}
		b, off = b[len(part):], off+int64(len(part))
	}
}

func (n *inode) resize(size int64) {
	if n.size != n.diskSize {
		n.sizes = append(n.sizes, n.size)
	}
	n.size = size
}

func (n *inode) read(b []byte, off int64) int {
	if off >= n.size {
		return 0
	}
	b = b[:min(int64(len(b)), n.size-off)]
	for done := 0; done < len(b); {
		at := int((off + int64(done)) % pageSize)
		part := b[done:min(len(b), done+pageSize-at)]
		if p := n.page(int((off + int64(done)) / pageSize)); p != nil {
			copy(part, p[at:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(b)
}

// share starts to watch page 0 for stores.
func (n *inode) share() {
	copied := *n.ownPage(0)
	n.shared = &copied
}

// observe detects stores into the shared page.
func (n *inode) observe() {
	if n.shared == nil || *n.shared == *n.pages[0] {
		return
	}
	for i := range pageSize / sectorSize {
		before := sector(n.shared[i*sectorSize : (i+1)*sectorSize])
		if before != n.sector(i) {
			n.soil(i, before)
		}
	}
	*n.shared = *n.pages[0]
}

// synced makes the disk the same as the cache. Sectors that a failed sync left
// clean are not written.
func (n *inode) synced() {
	maps.DeleteFunc(n.marks, func(_ int, m *mark) bool { return !m.clean })
	n.diskSize, n.sizes = n.size, nil
}

// lostSync performs a sync that fails. It decides at once which sectors reach the
// disk, and then all count as clean.
func (n *inode) lostSync(d *dice) {
	for _, i := range slices.Sorted(maps.Keys(n.marks)) {
		if m := n.marks[i]; !m.clean {
			*m = mark{disk: n.fate(i, m, d), clean: true}
		}
	}
	n.diskSize, n.sizes = n.fateOfSize(d), nil
}

// settle replaces the cache with what a crash leaves on disk.
func (n *inode) settle(d *dice) {
	n.observe()
	for _, i := range slices.Sorted(maps.Keys(n.marks)) {
		s := n.fate(i, n.marks[i], d)
		n.setSector(i, &s)
	}
	n.marks = map[int]*mark{}
	n.size = n.fateOfSize(d)
	n.diskSize, n.sizes, n.shared = n.size, nil, nil
	n.cutPages()
	n.opens = 0
}

// cutPages drops everything beyond the size.
func (n *inode) cutPages() {
	whole := int((n.size + pageSize - 1) / pageSize)
	for i := range n.allocated {
		if i >= whole {
			delete(n.allocated, i)
		}
	}
	n.pages = n.pages[:min(len(n.pages), whole)]
	if rest := n.size % pageSize; rest != 0 && whole == len(n.pages) && n.pages[whole-1] != nil {
		clear(n.pages[whole-1][rest:])
	}
}

func (n *inode) fateOfSize(d *dice) int64 {
	list := append([]int64{n.diskSize}, n.sizes...)
	if list = append(list, n.size); n.size == n.diskSize && len(n.sizes) == 0 {
		return n.size
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[d.fates.Choose(len(list))]
}

// fate chooses the content of a sector on disk.
func (n *inode) fate(i int, m *mark, d *dice) sector {
	if m.clean {
		return m.disk
	}
	list := []sector{m.disk}
	for _, s := range append(m.since, n.sector(i)) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	k := d.fates.Choose(len(list) + 1)
	if k < len(list) {
		return list[k]
	}
	if n.shared != nil && len(list) > 1 && d.noise.IntN(2) == 0 {
		return mixture(list, d)
	}
	return garbled(list[0], list[len(list)-1], d)
}

// mixture returns a possible result of writing a page to disk while a process stores
// into it.
func mixture(list []sector, d *dice) sector {
	i := d.noise.IntN(len(list) - 1)
	s, next := list[i], list[i+1]
	for w := 0; w < sectorSize; w += 8 {
		if d.noise.IntN(2) == 1 {
			copy(s[w:w+8], next[w:w+8])
		}
	}
	return s
}

// garbled returns a possible result of a write during a power failure.
func garbled(before, after sector, d *dice) sector {
	s := after
	switch d.noise.IntN(3) {
	case 0: // only noise
		d.fill(s[:])
	case 1: // the beginning of the new, the rest of the old
		cut := d.noise.IntN(sectorSize)
		copy(s[cut:], before[cut:])
	case 2: // some consecutive bytes are noise
		from := d.noise.IntN(sectorSize)
		d.fill(s[from:min(sectorSize, from+1+d.noise.IntN(32))])
	}
	return s
}
