package memfs

import (
	"maps"
	"slices"
)

// A directory is a set of names, as programs see them and as the disk has them.
type directory struct {
	names   map[string]*inode
	disk    map[string]*inode
	pending []change // changes since the last sync, in order
}

// A change adds, removes or renames a name. A crash may or may not keep it.
type change struct {
	add, remove string // a rename has both; "" for none
	node        *inode
}

func newDirectory() *inode {
	return &inode{entries: &directory{names: map[string]*inode{}, disk: map[string]*inode{}}, links: 1}
}

func newFile() *inode {
	return &inode{allocated: map[int]struct{}{}, marks: map[int]*mark{}}
}

func (d *directory) link(name string, n *inode) {
	d.names[name] = n
	n.links++
	d.pending = append(d.pending, change{add: name, node: n})
}

func (d *directory) unlink(name string) *inode {
	n := d.names[name]
	delete(d.names, name)
	n.links--
	d.pending = append(d.pending, change{remove: name, node: n})
	return n
}

func (d *directory) sync() {
	d.disk, d.pending = maps.Clone(d.names), nil
}

// settle replaces the names with those that a crash leaves on disk.
func (d *directory) settle(dice *dice) {
	for _, c := range d.pending {
		landed, keepOld := dice.fates.Choose(2) == 1, false
		if landed && c.add != "" && c.remove != "" {
			keepOld = dice.fates.Choose(2) == 1
		}
		if !landed {
			continue
		}
		if c.add != "" {
			d.disk[c.add] = c.node
		}
		if c.remove != "" && !keepOld && d.disk[c.remove] == c.node {
			delete(d.disk, c.remove)
		}
	}
	d.names, d.pending = maps.Clone(d.disk), nil
}

func (d *directory) sorted() []string { return slices.Sorted(maps.Keys(d.names)) }
