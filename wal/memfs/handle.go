package memfs

import (
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"assetledger/wal"
)

// A handle is an open file, or a shared page of one.
type handle struct {
	p      *Process
	name   string // name under which it was opened
	node   *inode
	write  bool
	closed bool
}

func (p *Process) open(name string, n *inode, write bool) *handle {
	h := &handle{p: p, name: name, node: n, write: write}
	n.opens++
	p.handles = append(p.handles, h)
	return h
}

// drop closes the handle without counting an operation.
func (h *handle) drop() {
	if h.closed {
		return
	}
	h.closed = true
	d := h.p.disk
	h.node.opens--
	h.p.handles = slices.DeleteFunc(h.p.handles, func(o *handle) bool { return o == h })
	if d.locks[h.node] == h {
		delete(d.locks, h.node)
	}
	d.forget(h.node)
}

func (h *handle) check() error {
	if h.closed {
		return syscall.EBADF
	}
	return nil
}

func (h *handle) ReadAt(b []byte, off int64) (n int, err error) {
	err = h.p.run(OpRead, h.name, func() error {
		n = h.node.read(b, off)
		return h.check()
	})
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// WriteAt writes an arbitrary part of the bytes if a Plan makes it fail. If the disk is
// full, it writes the bytes for which there is space.
func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	d := h.p.disk
	part := func() int {
		n := d.allocate(h.node, off, d.dice.noise.IntN(len(b)+1))
		h.node.write(b[:n], off)
		return n
	}
	if err := h.p.begin(OpWrite, h.name, func() { part() }); err != nil {
		if err == ErrKilled {
			return 0, err
		}
		return part(), wrap(OpWrite, h.name, err)
	}
	if err := h.check(); err != nil || !h.write {
		return 0, wrap(OpWrite, h.name, syscall.EBADF)
	}
	n := d.allocate(h.node, off, len(b))
	h.node.write(b[:n], off)
	if n < len(b) {
		return n, wrap(OpWrite, h.name, syscall.ENOSPC)
	}
	return n, nil
}

// Sync makes the file durable. The package comment says what a failed sync does.
func (h *handle) Sync() error {
	d := h.p.disk
	err := h.p.begin(OpSync, h.name, nil)
	switch {
	case err == ErrKilled || h.closed:
		return wrap(OpSync, h.name, syscall.EBADF)
	case err != nil:
		h.node.lostSync(&d.dice)
		return wrap(OpSync, h.name, err)
	}
	d.stats.Syncs++
	if !d.SyncLies {
		h.node.synced()
	}
	return nil
}

func (h *handle) Size() (size int64, err error) {
	err = h.p.run(OpSize, h.name, func() error {
		size = h.node.size
		return h.check()
	})
	return size, err
}

func (h *handle) Grow(size int64) error {
	return h.p.run(OpGrow, h.name, func() error {
		if size < h.node.size {
			return fmt.Errorf("memfs: a file of %d bytes can't shrink to %d", h.node.size, size)
		}
		h.node.resize(size)
		return h.check()
	})
}

func (h *handle) Close() error {
	if h.p.dead {
		return nil
	}
	return h.p.run(OpClose, h.name, func() error {
		err := h.check()
		h.drop()
		return err
	})
}

// Share maps page 0 of a file. Stores into it are in the cache at once.
func (p *Process) Share(name string, write bool) (page wal.Page, err error) {
	err = p.run(OpShare, name, func() error {
		n, err := p.disk.lookup(name)
		if err != nil {
			return err
		}
		if n.size < pageSize {
			return syscall.EINVAL
		}
		page = &sharedPage{p.open(name, n, write)}
		n.ownPage(0)
		if write && n.shared == nil {
			n.share()
			p.disk.sharers = append(p.disk.sharers, n)
		}
		return nil
	})
	return page, err
}

type sharedPage struct{ *handle }

func (s *sharedPage) Bytes() []byte { return s.node.pages[0][:] }

// Wait and Wake do nothing, since there is only one goroutine.
func (s *sharedPage) Wait(int, uint32, time.Duration) {}
func (s *sharedPage) Wake(int)                        {}

// Stale reports whether the name refers to another file, or to none.
func (s *sharedPage) Stale() bool {
	n, err := s.p.disk.lookup(s.name)
	return err != nil || n != s.node
}
