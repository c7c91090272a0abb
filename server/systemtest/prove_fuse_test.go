package systemtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// A badDisk shows a folder, read-only, at another place. It can pretend that some
// sectors have failed: the kernel then returns EIO for reads of those bytes, and
// sends SIGBUS for page faults in processes that have mapped the file. It is a FUSE
// server with the few operations that the tests need. linux/fuse.h defines the
// protocol.
//
// The serving process must not map files of the disk itself: a page fault would
// block a Go thread without letting another goroutine run in its place.
type badDisk struct {
	folder string
	conn   int // descriptor of /dev/fuse
	faults atomic.Int64
	served sync.WaitGroup

	mu    sync.Mutex
	paths []string          // paths[i] is the path of node i+1
	ids   map[string]uint64 // node of each path
	fails func(name string, from, to int64) bool
}

// Operations of the protocol.
const (
	fuseLookup      = 1
	fuseForget      = 2
	fuseGetattr     = 3
	fuseOpen        = 14
	fuseRead        = 15
	fuseStatfs      = 17
	fuseRelease     = 18
	fuseFlush       = 25
	fuseInit        = 26
	fuseOpendir     = 27
	fuseReaddir     = 28
	fuseReleasedir  = 29
	fuseInterrupt   = 36
	fuseBatchForget = 42
)

const (
	fuseInHeader  = 40
	fuseOutHeader = 16
	fuseMinor     = 31 // of version 7
	fuseKeepCache = 2  // opening a file does not drop its cached pages
	fuseCacheTime = 3600
)

// mountBadDisk shows folder at another place, until the test ends or until
// unmount.
func mountBadDisk(t *testing.T, folder, at string) *badDisk {
	t.Helper()
	conn, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs /dev/fuse: %v", err)
	}
	d := &badDisk{folder: folder, conn: conn, paths: []string{folder}, ids: map[string]uint64{folder: 1}}
	options := "fd=" + strconv.Itoa(conn) + ",rootmode=40000,user_id=0,group_id=0"
	if err := syscall.Mount("bad", at, "fuse", syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		syscall.Close(conn)
		t.Skipf("needs a kernel with FUSE: %v", err)
	}
	d.served.Go(d.serve)
	t.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH) })
	return d
}

// unmount ends the server. No process may be using the disk.
func (d *badDisk) unmount(t *testing.T, at string) {
	t.Helper()
	if err := syscall.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
	d.served.Wait()
}

// fail sets the function that decides which reads fail. The function's arguments are
// the file's name and the range of bytes. If the function is nil, no read fails.
func (d *badDisk) fail(fails func(name string, from, to int64) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = fails
}

// serve answers requests until the disk is unmounted.
func (d *badDisk) serve() {
	defer syscall.Close(d.conn)
	in := make([]byte, 256<<10)
	for {
		n, err := syscall.Read(d.conn, in)
		if err == syscall.EINTR || err == syscall.ENOENT || err == syscall.EAGAIN { // a request was interrupted
			continue
		}
		if err != nil || n < fuseInHeader {
			return // ENODEV: it was unmounted
		}
		op, node := order.Uint32(in[4:]), order.Uint64(in[16:])
		if op == fuseForget || op == fuseBatchForget || op == fuseInterrupt {
			continue // these get no reply
		}
		body, err := d.answer(op, node, in[fuseInHeader:n])
		errno, _ := err.(syscall.Errno)
		if err != nil && errno == 0 {
			errno = syscall.EIO
			if errors.Is(err, os.ErrNotExist) {
				errno = syscall.ENOENT
			}
		}
		if errno != 0 {
			body = nil
		}
		out := order.AppendUint32(nil, uint32(fuseOutHeader+len(body)))
		out = order.AppendUint32(out, uint32(-int32(errno)))
		out = append(out, in[8:16]...) // the number of the request
		syscall.Write(d.conn, append(out, body...))
	}
}

var order = binary.LittleEndian // the protocol uses this machine's byte order

func (d *badDisk) answer(op uint32, node uint64, in []byte) ([]byte, error) {
	switch op {
	case fuseInit:
		out := make([]byte, 64)
		order.PutUint32(out, 7)
		order.PutUint32(out[4:], fuseMinor)
		order.PutUint32(out[20:], 4096) // max_write; no read-ahead and no options
		return out, nil
	case fuseLookup:
		name, _, _ := bytes.Cut(in, []byte{0})
		return d.lookup(filepath.Join(d.path(node), string(name)))
	case fuseGetattr:
		attr, err := attributes(d.path(node))
		return append(order.AppendUint64(nil, fuseCacheTime), append(make([]byte, 8), attr...)...), err
	case fuseOpen, fuseOpendir:
		out := make([]byte, 16)
		order.PutUint32(out[8:], fuseKeepCache)
		return out, nil
	case fuseRead:
		return d.read(d.path(node), int64(order.Uint64(in[8:])), int64(order.Uint32(in[16:])))
	case fuseReaddir:
		return d.list(d.path(node), order.Uint64(in[8:]), int(order.Uint32(in[16:])))
	case fuseStatfs:
		return make([]byte, 80), nil
	case fuseRelease, fuseReleasedir, fuseFlush:
		return nil, nil
	}
	return nil, syscall.ENOSYS
}

func (d *badDisk) path(node uint64) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paths[node-1]
}

// lookup returns a node for a path. Nodes are never forgotten.
func (d *badDisk) lookup(path string) ([]byte, error) {
	attr, err := attributes(path)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.ids[path]
	if id == 0 {
		d.paths = append(d.paths, path)
		id = uint64(len(d.paths))
		d.ids[path] = id
	}
	out := order.AppendUint64(nil, id)
	out = order.AppendUint64(out, 0) // generation
	out = order.AppendUint64(out, fuseCacheTime)
	out = order.AppendUint64(out, fuseCacheTime)
	return append(append(out, make([]byte, 8)...), attr...), nil
}

// attributes returns the 88 bytes of a struct fuse_attr.
func attributes(path string) (out []byte, err error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, err
	}
	for _, v := range []int64{int64(st.Ino), st.Size, st.Blocks, st.Atim.Sec, st.Mtim.Sec, st.Ctim.Sec} {
		out = order.AppendUint64(out, uint64(v))
	}
	for _, v := range []uint32{uint32(st.Atim.Nsec), uint32(st.Mtim.Nsec), uint32(st.Ctim.Nsec), st.Mode, uint32(st.Nlink), st.Uid, st.Gid, 0, 4096, 0} {
		out = order.AppendUint32(out, v)
	}
	return out, nil
}

func (d *badDisk) read(path string, off, size int64) ([]byte, error) {
	d.mu.Lock()
	fails := d.fails
	d.mu.Unlock()
	if fails != nil && fails(filepath.Base(path), off, off+size) {
		d.faults.Add(1)
		return nil, syscall.EIO
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, size)
	n, _ := f.ReadAt(b, off)
	return b[:n], nil
}

// list returns as many directory entries as fit into size bytes. The parameter off is
// the index of the first one.
func (d *badDisk) list(path string, off uint64, size int) (out []byte, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for i := off; i < uint64(len(entries)); i++ {
		name := entries[i].Name()
		padded := (24 + len(name) + 7) &^ 7
		if len(out)+padded > size {
			break
		}
		start := len(out)
		out = order.AppendUint64(out, i+2) // inode: anything but 0
		out = order.AppendUint64(out, i+1)
		out = order.AppendUint32(out, uint32(len(name)))
		out = order.AppendUint32(out, syscall.DT_UNKNOWN)
		out = append(append(out, name...), make([]byte, 8)...)[:start+padded]
	}
	return out, nil
}
