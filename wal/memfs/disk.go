package memfs

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"assetledger/wal"
)

// A Disk is a filesystem, and the machine on which it is mounted.
type Disk struct {
	// SyncLies makes every sync report success and do nothing, like a disk that
	// loses what it has acknowledged. It is for testing the tests.
	SyncLies bool

	dice      dice
	root      *inode
	boots     uint64
	capacity  int64 // bytes; 0 for no limit
	used      int64
	processes []*Process
	locks     map[*inode]*handle
	sharers   []*inode // files mapped for writing since the last crash
	stats     Stats
}

// Stats counts the events of a disk.
type Stats struct {
	Operations int // operations of all processes
	Syncs      int // successful syncs of files, pages and directories
	Faults     int // operations that failed because of a Plan
	Kills      int // killed processes
	Crashes    int // crashes of the machine
	InFlight   int // sectors and names that were not synced when a crash occurred
}

// New returns a disk with nothing but the root "/". Equal seeds and equal
// operations lead to equal crashes.
func New(seed uint64) *Disk {
	return &Disk{
		dice: dice{fates: Random(seed), noise: rand.New(rand.NewPCG(seed, 0x6e6f697365))},
		root: newDirectory(), boots: 1, locks: map[*inode]*handle{},
	}
}

// Stats returns the counts so far.
func (d *Disk) Stats() Stats { return d.stats }

// Decide makes c decide the fates of everything in flight from now on.
func (d *Disk) Decide(c Chooser) { d.dice.fates = c }

// Limit sets the capacity in bytes; 0 means no limit. It may be less than the used
// space. Then nothing more can be allocated.
func (d *Disk) Limit(capacity int64) { d.capacity = capacity }

// Used returns the number of bytes allocated to files. It is a multiple of 4096.
func (d *Disk) Used() int64 { return d.used }

// Crash crashes the machine. It ends all processes, and may lose data that is not
// synced (see the package comment). Afterwards the disk is that of the next boot.
func (d *Disk) Crash() {
	d.observe()
	for _, p := range slices.Clone(d.processes) {
		p.Kill()
	}
	d.stats.Crashes++
	d.boots++
	seen := map[*inode]bool{}
	d.settle(d.root, seen)
	d.locks, d.sharers, d.used = map[*inode]*handle{}, nil, 0
	for n := range seen {
		d.used += int64(len(n.allocated)) * pageSize
	}
}

// settle settles everything that is reachable by names on disk.
func (d *Disk) settle(n *inode, seen map[*inode]bool) {
	if seen[n] {
		n.links++
		return
	}
	seen[n] = true
	n.links = 1
	if n.entries == nil {
		d.stats.InFlight += len(n.marks)
		n.settle(&d.dice)
		return
	}
	d.stats.InFlight += len(n.entries.pending)
	n.entries.settle(&d.dice)
	for _, name := range n.entries.sorted() {
		d.settle(n.entries.names[name], seen)
	}
}

// Clone returns a copy of the disk with everything in flight, but without
// processes. The copy makes its own choices, from c and seed.
func (d *Disk) Clone(c Chooser, seed uint64) *Disk {
	d.observe()
	e := New(seed)
	e.dice.fates = c
	e.SyncLies, e.boots, e.capacity, e.used = d.SyncLies, d.boots, d.capacity, d.used
	e.root = d.root.clone(map[*inode]*inode{})
	return e
}

func (n *inode) clone(done map[*inode]*inode) *inode {
	if c := done[n]; c != nil {
		return c
	}
	c := &inode{links: n.links, size: n.size, diskSize: n.diskSize, sizes: slices.Clone(n.sizes), allocated: maps.Clone(n.allocated)}
	done[n] = c
	if n.entries == nil {
		c.marks = map[int]*mark{}
		for i, m := range n.marks {
			c.marks[i] = &mark{disk: m.disk, since: slices.Clone(m.since), clean: m.clean}
		}
		for _, p := range n.pages {
			if p != nil {
				copied := *p
				p = &copied
			}
			c.pages = append(c.pages, p)
		}
		if n.shared != nil {
			copied := *n.shared
			c.shared = &copied
		}
		return c
	}
	e := n.entries
	c.entries = &directory{names: map[string]*inode{}, disk: map[string]*inode{}}
	for _, name := range e.sorted() {
		c.entries.names[name] = e.names[name].clone(done)
	}
	for _, name := range slices.Sorted(maps.Keys(e.disk)) {
		c.entries.disk[name] = e.disk[name].clone(done)
	}
	for _, ch := range e.pending {
		ch.node = ch.node.clone(done)
		c.entries.pending = append(c.entries.pending, ch)
	}
	return c
}

// observe detects stores into all shared pages.
func (d *Disk) observe() {
	for _, n := range d.sharers {
		n.observe()
	}
}

// boot returns the id of the current boot.
func (d *Disk) boot() (id wal.BootID) {
	binary.BigEndian.PutUint64(id[8:], d.boots)
	id[0] = 0xb0
	return id
}

// find returns the directory that contains a name, and the last part of the name.
func (d *Disk) find(name string) (dir *directory, base string, err error) {
	name = filepath.Clean("/" + name)
	if name == "/" {
		return nil, "", syscall.EINVAL
	}
	parts := strings.Split(name[1:], "/")
	n := d.root
	for _, part := range parts[:len(parts)-1] {
		if n = n.entries.names[part]; n == nil {
			return nil, "", syscall.ENOENT
		}
		if n.entries == nil {
			return nil, "", syscall.ENOTDIR
		}
	}
	return n.entries, parts[len(parts)-1], nil
}

// lookup returns the file or directory that a name refers to.
func (d *Disk) lookup(name string) (*inode, error) {
	if filepath.Clean("/"+name) == "/" {
		return d.root, nil
	}
	dir, base, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if n := dir.names[base]; n != nil {
		return n, nil
	}
	return nil, syscall.ENOENT
}

// allocate allocates space for [off,off+size) of a file, and returns the number of
// bytes for which there is space.
func (d *Disk) allocate(n *inode, off int64, size int) int {
	end := off + int64(size)
	for at := off; at < end; at = (at/pageSize + 1) * pageSize {
		i := int(at / pageSize)
		if _, has := n.allocated[i]; has {
			continue
		}
		if d.capacity > 0 && d.used+pageSize > d.capacity {
			return int(at - off)
		}
		n.allocated[i] = struct{}{}
		d.used += pageSize
	}
	return size
}

// forget frees the space of a file without names and handles.
func (d *Disk) forget(n *inode) {
	if n.links == 0 && n.opens == 0 && n.entries == nil {
		d.used -= int64(len(n.allocated)) * pageSize
		n.allocated = map[int]struct{}{}
	}
}

// ReadFile returns the content of a file as programs see it.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	n, err := d.lookup(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n.size)
	n.read(b, 0)
	return b, nil
}

// WriteFile durably creates or replaces a file, to simulate damage or a restore from a
// backup. Its directory must exist.
func (d *Disk) WriteFile(name string, b []byte) error {
	dir, base, err := d.find(name)
	if err != nil {
		return err
	}
	n := dir.names[base]
	if n == nil {
		n = newFile()
		dir.names[base], dir.disk[base] = n, n
		n.links++
	}
	d.allocate(n, 0, len(b))
	n.size = int64(len(b))
	n.cutPages()
	n.marks = map[int]*mark{}
	for i := range (len(b) + sectorSize - 1) / sectorSize {
		var s sector
		copy(s[:], b[i*sectorSize:])
		n.setSector(i, &s)
	}
	n.diskSize, n.sizes = n.size, nil
	return nil
}

// RemoveFile removes a file, durably.
func (d *Disk) RemoveFile(name string) error {
	dir, base, err := d.find(name)
	if err != nil {
		return err
	}
	n := dir.names[base]
	if n == nil {
		return syscall.ENOENT
	}
	n.links--
	delete(dir.names, base)
	delete(dir.disk, base)
	d.forget(n)
	return nil
}
