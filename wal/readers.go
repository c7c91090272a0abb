package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sync/atomic"
)

// A file in DIR/readers is one page. Its reader maps it for writing, and other
// processes read it:
//
//	 0  8  magic "ASTLRDR\n"
//	 8  8  last global_seq that the reader has applied
//	16     zeroes
//
// Its flock shows whether the reader is alive. A file without a flock is removed.
// The page is not synced, because after a crash the reader starts from its own
// checkpoint anyway.
const (
	readerMagic = "ASTLRDR\n"
	readerSeqAt = 8
	maxReaders  = 1000 // maximum number of attached readers that ListReaders returns
)

var readerName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckReaderName returns an error if name can't be the name of a reader.
func CheckReaderName(name string) error {
	if !readerName.MatchString(name) || name == "." || name == ".." {
		return fmt.Errorf("wal: reader name %q: need 1 to 64 letters, digits, dots, underscores and hyphens", name)
	}
	return nil
}

// A Registration publishes the last commit that a reader has applied.
type Registration struct {
	fs   FS
	path string
	lock File
	page Page
	seq  *atomic.Uint64
}

// Register adds a name to DIR/readers. It returns ErrNameTaken if a live reader has
// the name, and ErrNoLog if there is no log yet.
func Register(dir, name string, o Options) (*Registration, error) {
	if err := CheckReaderName(name); err != nil {
		return nil, err
	}
	fsys := o.withDefaults().FS
	path := join(dir, readersDir, name)
	lock, err := lockPatiently(fsys, path)
	if errors.Is(err, fs.ErrNotExist) && makeReadersDir(fsys, dir) {
		lock, err = lockPatiently(fsys, path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoLog
	case errors.Is(err, ErrLocked):
		return nil, fmt.Errorf("%w: %s", ErrNameTaken, path)
	case err != nil:
		return nil, err
	}
	page := make([]byte, pageSize)
	copy(page, readerMagic)
	if _, err := lock.WriteAt(page, 0); err != nil {
		lock.Close()
		return nil, err
	}
	p, err := fsys.Share(path, true)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Registration{fs: fsys, path: path, lock: lock, page: p, seq: word64(p.Bytes(), readerSeqAt)}, nil
}

// makeReadersDir creates the directory of readers if a log lacks it. Many tools
// that copy a log omit empty directories. It returns false if there is no log.
func makeReadersDir(fsys FS, dir string) bool {
	end, err := fsys.Open(join(dir, endName), false)
	if err != nil {
		return false
	}
	end.Close()
	return fsys.Mkdir(join(dir, readersDir)) == nil
}

// Applied publishes the last applied commit with one store to memory. It must not
// be called after Close.
func (r *Registration) Applied(seq uint64) {
	touch(func() { r.seq.Store(seq) }) // a fault means that the file was truncated, so nobody reads it
}

// Close releases the name and removes its file.
func (r *Registration) Close() error {
	return errors.Join(r.page.Close(), r.fs.Remove(r.path), r.lock.Close())
}

// A ReaderState describes an attached reader.
type ReaderState struct {
	Name string
	Seq  uint64 // last global_seq that it has applied
}

// ListReaders returns the attached readers of DIR, ordered by name, at most 1000.
// It removes the files of readers that ended without Close. Otherwise the file of a
// killed reader would stay forever if its name, such as that of a pod, is never used
// again.
func ListReaders(dir string, o Options) ([]ReaderState, error) {
	fsys := o.withDefaults().FS
	names, err := fsys.List(join(dir, readersDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []ReaderState
	for _, name := range names {
		if CheckReaderName(name) != nil {
			continue
		}
		path := join(dir, readersDir, name)
		attached, err := fsys.Locked(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since the listing
		case err != nil:
			return nil, err
		case !attached:
			removeReader(fsys, path)
		case len(list) < maxReaders:
			seq, err := readerSeq(fsys, path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, ReaderState{name, seq})
		}
	}
	return list, nil
}

// removeReader removes the file of a reader that has ended. It holds the file's
// lock meanwhile. A reader that takes the name at the same time finds the file gone
// and creates another. If the file can't be removed, the next call tries again.
func removeReader(fsys FS, path string) {
	if lock, err := fsys.Lock(path); err == nil {
		fsys.Remove(path)
		lock.Close()
	}
}

func readerSeq(fsys FS, path string) (uint64, error) {
	f, err := fsys.Open(path, false)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [readerSeqAt + 8]byte
	if n, _ := f.ReadAt(b[:], 0); n == len(b) && string(b[:8]) == readerMagic { // otherwise the file is still being created
		return le.Uint64(b[readerSeqAt:]), nil
	}
	return 0, nil
}
