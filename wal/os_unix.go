//go:build unix

package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// OS is the operating system's filesystem.
type OS struct{}

func (OS) Create(name string) (File, error) {
	return wrapFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode))
}

func (OS) Open(name string, write bool) (File, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	return wrapFile(os.OpenFile(name, flag, 0))
}

func (OS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }
func (OS) Link(oldname, newname string) error   { return os.Link(oldname, newname) }
func (OS) Remove(name string) error             { return os.Remove(name) }

func (OS) Same(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err == nil {
		var y os.FileInfo
		if y, err = os.Stat(b); err == nil {
			return os.SameFile(x, y), nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, err
}

func (OS) IsLink(name string) (bool, error) {
	st, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && st.Mode()&fs.ModeSymlink != 0, err
}

func (OS) List(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (OS) Mkdir(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		if st, serr := os.Stat(dir); serr == nil && st.IsDir() {
			return nil
		}
	}
	return err
}

func (OS) SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (OS) Lock(name string) (File, error) {
	for range lockTries {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
		if err != nil {
			return nil, err
		}
		if err := flock(f, syscall.LOCK_EX); err != nil {
			f.Close()
			return nil, err
		}
		if st, err := f.Stat(); err == nil && !renamed(f, st) {
			return osFile{f}, nil
		}
		f.Close() // the holder removed the file before unlocking it
	}
	return nil, fmt.Errorf("%w (%s)", ErrLocked, name)
}

func (OS) Locked(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close() // also unlocks
	err = flock(f, syscall.LOCK_SH)
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	return false, err
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch err {
		case nil:
			return nil
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return fmt.Errorf("%w (%s)", ErrLocked, f.Name())
		}
		return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
}

type osFile struct{ f *os.File }

func wrapFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (o osFile) ReadAt(p []byte, off int64) (int, error)  { return o.f.ReadAt(p, off) }
func (o osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o osFile) Close() error                             { return o.f.Close() }
func (o osFile) Grow(size int64) error                    { return o.f.Truncate(size) }
func (o osFile) Sync() error                              { return datasync(o.f) }

func (o osFile) Size() (int64, error) {
	st, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (OS) Share(name string, write bool) (Page, error) {
	if err := checkHost(); err != nil {
		return nil, err
	}
	flag, prot := os.O_RDONLY, syscall.PROT_READ
	if write {
		flag, prot = os.O_RDWR, syscall.PROT_READ|syscall.PROT_WRITE
	}
	f, err := os.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() < pageSize {
		err = &fs.PathError{Op: "map", Path: name, Err: errEndAbsent}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, pageSize, prot, syscall.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "mmap", Path: name, Err: err}
	}
	return &osPage{f: f, st: st, b: b}, nil
}

// An osPage is a shared mapping. The operating system keeps one copy of the page
// for all processes.
type osPage struct {
	f    *os.File
	st   os.FileInfo
	b    []byte
	once sync.Once
}

func (p *osPage) Bytes() []byte { return p.b }

// Sync syncs the file, which also writes its mapped pages.
func (p *osPage) Sync() error { return datasync(p.f) }

func (p *osPage) Wait(at int, old uint32, timeout time.Duration) {
	waitWord(word32(p.b, at), old, timeout)
}

func (p *osPage) Wake(at int) { wakeWord(word32(p.b, at)) }

func (p *osPage) Stale() bool { return renamed(p.f, p.st) }

// renamed reports whether a file's name no longer refers to that file.
func renamed(f *os.File, was os.FileInfo) bool {
	st, err := os.Stat(f.Name())
	return err != nil || !os.SameFile(st, was)
}

func (p *osPage) Close() (err error) {
	p.once.Do(func() { err = errors.Join(syscall.Munmap(p.b), p.f.Close()) })
	return err
}
