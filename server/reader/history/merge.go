package history

import (
	"errors"
	"io"
	"slices"
)

// merge merges the newest two files as long as the older is not much larger, so
// that the number of files grows with the logarithm of the log.
func (x *Index) merge() error {
	for {
		x.mu.Lock()
		files := x.files
		x.mu.Unlock()
		n := len(files)
		if n < 2 || files[n-2].size > 2*files[n-1].size || files[n-2].size+files[n-1].size > mergedBytes {
			return nil
		}
		a, b := files[n-2], files[n-1]
		if a.first > 1 && a.before == 0 { // what was there when the index began stays by itself
			return nil
		}
		f, err := x.create(span{a.first, b.last}, func(out io.Writer) error {
			w := newWriter(out, x.id, a.first, a.before)
			if err := mergeInto(w, a, b); err != nil {
				return err
			}
			return w.finish(b.end)
		})
		var damage *damageError
		if errors.As(err, &damage) {
			x.damaged(err) // and Run makes it again
			return nil
		}
		if err != nil {
			return err
		}
		x.mu.Lock()
		if x.ready {
			x.publish(append(slices.Clip(files[:n-2]), f))
		}
		x.mu.Unlock()
		for _, old := range []*file{a, b} {
			if err := x.fsys.Remove(old.name); err != nil {
				return err
			}
		}
	}
}

// A walk is a place in the groups of a file.
type walk struct {
	f      *file
	i      int // next block
	keys   []uint64
	groups [][]byte
	buf    []byte
}

// fill reads the next block when all groups are taken; false at the end.
func (w *walk) fill() (bool, error) {
	for len(w.keys) == 0 {
		if w.i == w.f.blocks() {
			return false, nil
		}
		block, err := w.f.block(w.i, w.buf)
		if err != nil {
			return false, err
		}
		w.buf, w.groups = block, w.groups[:0]
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

// put writes the groups of a key.
func (w *walk) put(key uint64, out *writer) error {
	for {
		on, err := w.fill()
		if err != nil || !on || w.keys[0] != key {
			return err
		}
		if err := putGroup(out, key, w.groups[0]); err != nil {
			return &damageError{w.f, err}
		}
		w.keys, w.groups = w.keys[1:], w.groups[1:]
	}
}

func putGroup(out *writer, key uint64, group []byte) error {
	var entries [][]byte
	for len(group) > 0 {
		entry, rest, err := lastEntry(group)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
		group = rest
	}
	for _, entry := range slices.Backward(entries) {
		out.add(key, entry)
	}
	return nil
}

// mergeInto writes the entries of both files; those of a are older.
func mergeInto(w *writer, a, b *file) error {
	wa, wb := &walk{f: a}, &walk{f: b}
	for {
		onA, err := wa.fill()
		if err != nil {
			return err
		}
		onB, err := wb.fill()
		if err != nil {
			return err
		}
		switch {
		case !onA && !onB:
			return nil
		case onA && (!onB || wa.keys[0] <= wb.keys[0]):
			key := wa.keys[0]
			if err := wa.put(key, w); err != nil {
				return err
			}
			if onB && wb.keys[0] == key {
				err = wb.put(key, w)
			}
			if err != nil {
				return err
			}
		default:
			if err := wb.put(wb.keys[0], w); err != nil {
				return err
			}
		}
	}
}
