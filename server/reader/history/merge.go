package history

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"
)

// mergedFiles is the number of files of similar size at which a merge begins. The
// merge leaves out those that would make it exceed mergedBytes. A larger number means
// that entries are written less often, and that reads look into more files. Tests
// lower it.
var mergedFiles = 8

// busyShare is the factor by which mergedFiles is multiplied while generations wait
// to be written.
const busyShare = 8

// merge merges the newest files of about the same size as long as there are enough
// of them, so that the number of files below mergedBytes grows with the logarithm of
// the log's length.
func (x *Index) merge() error {
	for {
		x.mu.Lock()
		files, enough := x.files, mergedFiles
		if len(x.gens) > 1 {
			enough *= busyShare
		}
		x.mu.Unlock()
		old := alike(files, enough)
		if len(old) == 0 || x.quit.Load() {
			return nil
		}
		first, last := old[0], old[len(old)-1]
		f, err := x.create(span{first.first, last.last}, func(out io.Writer) error {
			w := newWriter(out, x.id, first.first, first.before)
			if err := mergeInto(w, old, &x.quit); err != nil {
				return err
			}
			return w.finish(last.end)
		})
		var damage *damageError
		if errors.As(err, &damage) {
			x.damaged(err) // Run then builds it again
			return nil
		}
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil {
			return err
		}
		x.mu.Lock()
		if x.ready {
			x.publish(append(slices.Clip(files[:len(files)-len(old)]), f))
		}
		x.mu.Unlock()
		for _, f := range old {
			if err := x.fsys.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
}

// alike returns the files to merge, or none if there are too few. They are the
// newest files, each at most twice as large as the largest newer one, and as many
// of them as fit in mergedBytes.
func alike(files []*file, enough int) []*file {
	largest, sum := int64(0), int64(0)
	n, fit := 0, 0
	for _, f := range slices.Backward(files) {
		isBase := f.first > 1 && f.before == 0 // a file with the state at which the index began is never merged
		if isBase || n > 0 && f.size > 2*largest {
			break
		}
		n, largest = n+1, max(largest, f.size)
		if sum += f.size; sum <= mergedBytes {
			fit = n
		}
	}
	if n < enough || fit < 2 {
		return nil
	}
	return files[len(files)-fit:]
}

// A walk is a position in the groups of a file.
type walk struct {
	f      *file
	i      int // next block
	keys   []uint64
	groups [][]byte
	next   int // index of the next key and group
	buf    []byte
}

// fill reads the next block when all groups of the current one have been read. It
// returns false at the end of the file.
func (w *walk) fill() (bool, error) {
	for w.next == len(w.keys) {
		if w.i == w.f.blocks() {
			return false, nil
		}
		block, err := w.f.block(w.i, w.buf)
		if err != nil {
			return false, err
		}
		w.buf, w.keys, w.groups, w.next = block, w.keys[:0], w.groups[:0], 0
		err = w.f.each(w.i, block, func(key uint64, group []byte) bool {
			w.keys, w.groups = append(w.keys, key), append(w.groups, group)
			return true
		})
		if err != nil {
			return false, err
		}
		w.i++
	}
	return true, nil
}

func (w *walk) key() uint64 { return w.keys[w.next] }

// each calls fn for the groups of a key.
func (w *walk) each(key uint64, fn func(group []byte) error) error {
	for {
		on, err := w.fill()
		if err != nil || !on || w.key() != key {
			return err
		}
		if err := fn(w.groups[w.next]); err != nil {
			return &damageError{w.f, err}
		}
		w.next++
	}
}

// errQuit ends a merge when Run must return.
var errQuit = errors.New("the index is being closed")

// mergeInto writes the entries of contiguous files. It returns errQuit when quit is
// set.
func mergeInto(w *writer, files []*file, quit *atomic.Bool) error {
	walks := make([]walk, len(files))
	for i, f := range files {
		walks[i].f = f
	}
	var group []byte
	for {
		if quit.Load() {
			return errQuit
		}
		lowest, found := uint64(0), false
		for i := range walks {
			on, err := walks[i].fill()
			if err != nil {
				return err
			}
			if on && (!found || walks[i].key() < lowest) {
				lowest, found = walks[i].key(), true
			}
		}
		if !found {
			return nil
		}
		whole, entries := true, 0
		group = group[:0]
		gather := func(more []byte) error {
			if whole = whole && len(group)+len(more) <= wholeBytes(); whole {
				group = append(group, more...)
				n, err := countEntries(more)
				entries += n
				return err
			}
			err := w.addEach(lowest, group)
			group = group[:0]
			return errors.Join(err, w.addEach(lowest, more))
		}
		for i := range walks {
			if err := walks[i].each(lowest, gather); err != nil {
				return err
			}
		}
		if whole {
			w.addWhole(lowest, group, entries)
		}
	}
}
