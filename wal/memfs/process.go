package memfs

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"assetledger/wal"
)

// An Op is a kind of operation on the filesystem.
type Op string

// The operations.
const (
	OpCreate  Op = "create"
	OpOpen    Op = "open"
	OpRename  Op = "rename"
	OpLink    Op = "link"
	OpRemove  Op = "remove"
	OpSame    Op = "same"
	OpIsLink  Op = "islink"
	OpList    Op = "list"
	OpMkdir   Op = "mkdir"
	OpSyncDir Op = "syncdir"
	OpLock    Op = "lock"
	OpLocked  Op = "locked"
	OpShare   Op = "share"
	OpBoot    Op = "boot"
	OpRead    Op = "read"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpSize    Op = "size"
	OpGrow    Op = "grow"
	OpClose   Op = "close"
)

// A Fault is what goes wrong with an operation. The zero Fault means that nothing goes
// wrong.
type Fault struct {
	// Err is the error of the operation. A failed write has written an arbitrary
	// part of its bytes. The package comment describes a failed sync. Other failed
	// operations have done nothing.
	Err error
	// Kill ends the process during the operation, an arbitrary part of which may
	// have been done; see Survives.
	Kill bool
}

// A Plan returns what goes wrong with the n-th operation of a process, counted from
// 0.
type Plan func(n int, op Op, name string) Fault

// FailFrom returns a Plan that fails operation n with err. If last is set, it fails
// all later ones too.
func FailFrom(n int, err error, last bool) Plan {
	return func(i int, _ Op, _ string) Fault {
		if i == n || last && i > n {
			return Fault{Err: err}
		}
		return Fault{}
	}
}

// KillAt returns a Plan that kills the process at operation n.
func KillAt(n int) Plan {
	return func(i int, _ Op, _ string) Fault { return Fault{Kill: i == n} }
}

// ErrKilled is the error of each operation of a process that was killed but continues,
// except that Sync of a file returns EBADF, and Close of a file returns nil.
var ErrKilled = errors.New("memfs: the process was killed")

type killed struct{ p *Process }

// Survives runs a part of a process. It returns false if the process was killed
// meanwhile. A Fault that kills the process panics, so that no more of its code
// runs.
func Survives(run func()) (alive bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case killed:
			alive = false
		default:
			panic(p)
		}
	}()
	run()
	return true // not reached after a panic
}

// A Process uses a disk. It is a wal.FS.
type Process struct {
	disk    *Disk
	plan    Plan
	n       int
	dead    bool
	handles []*handle
}

var _ wal.FS = (*Process)(nil)

// Process starts a process on the disk.
func (d *Disk) Process() *Process {
	p := &Process{disk: d}
	d.processes = append(d.processes, p)
	return p
}

// Plan sets the plan from now on, and counts operations from 0 again. With nil,
// nothing goes wrong.
func (p *Process) Plan(plan Plan) { p.plan, p.n = plan, 0 }

// Operations returns the number of operations since the plan was set.
func (p *Process) Operations() int { return p.n }

// Kill ends the process. Its locks are released and its files closed. What it wrote
// stays in the cache.
func (p *Process) Kill() {
	if p.dead {
		return
	}
	p.disk.observe()
	p.dead = true
	p.disk.stats.Kills++
	p.disk.processes = slices.DeleteFunc(p.disk.processes, func(q *Process) bool { return q == p })
	for _, h := range slices.Clone(p.handles) {
		h.drop()
	}
}

// begin counts an operation. It calls the function part if the process is killed during
// the operation.
func (p *Process) begin(op Op, name string, part func()) error {
	d := p.disk
	d.observe()
	if p.dead {
		return ErrKilled
	}
	n := p.n
	p.n++
	d.stats.Operations++
	if p.plan == nil {
		return nil
	}
	f := p.plan(n, op, name)
	if f.Kill {
		if part != nil {
			part()
		}
		p.Kill()
		panic(killed{p})
	}
	if f.Err != nil {
		d.stats.Faults++
		return f.Err
	}
	return nil
}

// run counts an operation like begin, and calls the function do unless the plan makes
// the operation fail. Its errors name the operation. If the process is killed during the
// operation, the function may or may not be called.
func (p *Process) run(op Op, name string, do func() error) error {
	err := p.begin(op, name, func() {
		if p.disk.dice.noise.IntN(2) == 0 {
			do()
		}
	})
	if err == nil {
		err = do()
	}
	return wrap(op, name, err)
}

func wrap(op Op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: string(op), Path: name, Err: err}
}

// Create implements wal.FS. So do the methods below.
func (p *Process) Create(name string) (f wal.File, err error) {
	err = p.run(OpCreate, name, func() error {
		dir, base, err := p.disk.find(name)
		if err != nil {
			return err
		}
		if dir.names[base] != nil {
			return syscall.EEXIST
		}
		n := newFile()
		dir.link(base, n)
		f = p.open(name, n, true)
		return nil
	})
	return f, err
}

func (p *Process) Open(name string, write bool) (f wal.File, err error) {
	err = p.run(OpOpen, name, func() error {
		n, err := p.disk.lookup(name)
		if err != nil {
			return err
		}
		if n.entries != nil {
			return syscall.EISDIR
		}
		f = p.open(name, n, write)
		return nil
	})
	return f, err
}

func (p *Process) Rename(oldname, newname string) error {
	return p.run(OpRename, oldname, func() error {
		from, oldbase, err := p.disk.find(oldname)
		if err != nil {
			return err
		}
		to, newbase, err := p.disk.find(newname)
		if err != nil {
			return err
		}
		n := from.names[oldbase]
		switch {
		case n == nil:
			return syscall.ENOENT
		case from != to:
			return p.move(n, from, oldbase, to, newbase)
		}
		if was := from.names[newbase]; was != nil {
			was.links--
			p.disk.forget(was)
		}
		delete(from.names, oldbase)
		from.names[newbase] = n
		from.pending = append(from.pending, change{add: newbase, remove: oldbase, node: n})
		return nil
	})
}

// move renames a file from one directory to another. These are two changes, which
// reach the disk independently.
func (p *Process) move(n *inode, from *directory, oldbase string, to *directory, newbase string) error {
	if was := to.names[newbase]; was != nil {
		was.links--
		p.disk.forget(was)
	}
	to.link(newbase, n)
	from.unlink(oldbase)
	return nil
}

func (p *Process) Link(oldname, newname string) error {
	return p.run(OpLink, oldname, func() error {
		n, err := p.disk.lookup(oldname)
		if err != nil {
			return err
		}
		to, base, err := p.disk.find(newname)
		switch {
		case err != nil:
			return err
		case n.entries != nil:
			return syscall.EPERM
		case to.names[base] != nil:
			return syscall.EEXIST
		}
		to.link(base, n)
		return nil
	})
}

func (p *Process) Remove(name string) error {
	return p.run(OpRemove, name, func() error {
		dir, base, err := p.disk.find(name)
		if err != nil {
			return err
		}
		n := dir.names[base]
		switch {
		case n == nil:
			return syscall.ENOENT
		case n.entries != nil && len(n.entries.names) > 0:
			return syscall.ENOTEMPTY
		}
		p.disk.forget(dir.unlink(base))
		return nil
	})
}

func (p *Process) Same(a, b string) (same bool, err error) {
	err = p.run(OpSame, a, func() error {
		x, _ := p.disk.lookup(a)
		y, _ := p.disk.lookup(b)
		same = x != nil && x == y
		return nil
	})
	return same, err
}

// IsLink returns false, since this disk has no symbolic links.
func (p *Process) IsLink(name string) (bool, error) {
	return false, p.run(OpIsLink, name, func() error { return nil })
}

func (p *Process) List(dir string) (names []string, err error) {
	err = p.run(OpList, dir, func() error {
		n, err := p.disk.lookup(dir)
		if err != nil {
			return err
		}
		if n.entries == nil {
			return syscall.ENOTDIR
		}
		names = n.entries.sorted()
		return nil
	})
	return names, err
}

func (p *Process) Mkdir(name string) error {
	return p.run(OpMkdir, name, func() error {
		dir, base, err := p.disk.find(name)
		if err != nil {
			return err
		}
		switch n := dir.names[base]; {
		case n == nil:
			made := newDirectory()
			made.links = 0
			dir.link(base, made)
		case n.entries == nil:
			return syscall.EEXIST
		}
		return nil
	})
}

func (p *Process) SyncDir(name string) error {
	return p.run(OpSyncDir, name, func() error {
		n, err := p.disk.lookup(name)
		if err != nil {
			return err
		}
		if n.entries == nil {
			return syscall.ENOTDIR
		}
		if !p.disk.SyncLies {
			n.entries.sync()
		}
		p.disk.stats.Syncs++
		return nil
	})
}

func (p *Process) Lock(name string) (f wal.File, err error) {
	err = p.run(OpLock, name, func() error {
		dir, base, err := p.disk.find(name)
		if err != nil {
			return err
		}
		n := dir.names[base]
		if n == nil {
			n = newFile()
			dir.link(base, n)
		}
		if p.disk.locks[n] != nil {
			return wal.ErrLocked
		}
		h := p.open(name, n, true)
		p.disk.locks[n] = h
		f = h
		return nil
	})
	return f, err
}

func (p *Process) Locked(name string) (locked bool, err error) {
	err = p.run(OpLocked, name, func() error {
		n, err := p.disk.lookup(name)
		locked = err == nil && p.disk.locks[n] != nil
		return err
	})
	return locked, err
}

func (p *Process) Boot() (id wal.BootID, err error) {
	err = p.run(OpBoot, "", func() error {
		id = p.disk.boot()
		return nil
	})
	return id, err
}

func (p *Process) CopyOnWrite(string) bool { return false }
