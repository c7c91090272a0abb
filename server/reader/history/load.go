package history

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"assetledger/wal"
)

// spans returns the ranges of the files in the directory, ordered by their first
// commit. Of ranges with the same first commit, larger ones come first.
func (x *Index) spans() ([]span, error) {
	names, err := x.fsys.List(x.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []span
	for _, name := range names {
		if s, ok := parseName(name); ok {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last)) })
	return list, err
}

// load opens the contiguous files. It returns the first range of commits that are
// neither in a file nor in memory. If this daemon writes the files, load removes
// unusable and unneeded ones. The caller holds x.writing.
func (x *Index) load() (missing span, err error) {
	list, err := x.spans()
	if err != nil {
		return span{}, err
	}
	files, err := x.chain(list)
	if err != nil {
		return span{}, err
	}
	if x.tidy(list, files) {
		return x.load()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	need := x.gens[0].first - 1 // the files must reach up to here
	have := covered(files)
	if have < need {
		missing = span{have + 1, need}
		for _, s := range list { // up to the next file in the directory
			if s.first > missing.first && s.first <= missing.last {
				missing.last = s.first - 1
			}
		}
		return missing, nil
	}
	x.publish(files)
	x.ready = true
	return span{}, nil
}

// publish makes the files available to new views. The caller holds mu.
func (x *Index) publish(files []*file) {
	x.files = files
	end := covered(files)
	for len(x.gens) > 1 && x.gens[0].end.Seq <= end {
		if g := x.gens[0]; !g.viewed {
			x.spare.give(g.blocks)
		}
		x.gens = x.gens[1:]
	}
	wake(x.written)
	x.Meter.Files.Store(uint64(len(files)))
	var bytes int64
	for _, f := range files {
		bytes += f.size
	}
	x.Meter.Bytes.Store(uint64(bytes))
}

// chain opens the contiguous files that match the log, beginning with the first.
func (x *Index) chain(list []span) (files []*file, err error) {
	id := x.id
	known := map[string]*file{}
	x.mu.Lock()
	for _, f := range x.files {
		known[f.name] = f
	}
	x.mu.Unlock()
	for _, s := range list {
		next := covered(files) + 1
		if s.last < next || s.first > next && len(files) > 0 {
			continue
		}
		f := known[join(x.dir, s.name())]
		if f == nil {
			if f, err = openFile(x.fsys, x.dir, s, id); err != nil {
				if err := x.unusable(s, err); err != nil {
					return nil, err
				}
				continue
			}
		}
		isBase := s.first > 1 && f.before == 0
		if len(files) == 0 && isBase {
			if surpassed, err := x.surpassed(f); err != nil {
				return nil, err
			} else if surpassed {
				continue
			}
		}
		switch {
		case len(files) == 0 && s.first > 1 && !isBase, len(files) > 0 && (s.first != next || f.before != files[len(files)-1].end.Chain):
			continue
		}
		files = append(files, f)
	}
	return x.fitting(files)
}

// tidy removes superseded files: those in list that are not in use, but whose commits
// the files in use cover. A crash after a merge leaves such files. The result is true if
// this daemon has just acquired the duty of writing the files, because another daemon
// may have changed them since they were listed.
func (x *Index) tidy(list []span, files []*file) (again bool) {
	for _, s := range list {
		if len(files) == 0 || s.first < files[0].first || s.last > covered(files) || slices.ContainsFunc(files, func(f *file) bool { return f.span == s }) {
			continue
		}
		if !x.holds() {
			held, _ := x.hold()
			return held
		}
		if x.fsys.Remove(join(x.dir, s.name())) != nil {
			return false
		}
	}
	return false
}

// surpassed reports whether f, the first file of the index, must be skipped because the
// log has commits before it. It has them if archived segments were moved back after f
// was written. If this daemon writes the files, surpassed removes f. Otherwise, f is
// skipped only if the changes in memory begin before it.
func (x *Index) surpassed(f *file) (bool, error) {
	r, err := x.c.Source.Open()
	if err != nil {
		return false, err
	}
	defer r.Close()
	if r.Seek(1) != nil {
		return false, nil
	}
	held, err := x.hold()
	if err != nil {
		return false, err
	}
	if !held {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.gens[0].first < f.first, nil
	}
	x.c.Log.Info("archived segments are back: the history index is rebuilt from the beginning")
	if err := x.fsys.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// discard removes the files in which views found damage. If another daemon writes the
// files, discard leaves them, because that daemon may have rebuilt them already.
func (x *Index) discard() error {
	x.mu.Lock()
	names := x.spoilt
	x.spoilt = nil
	x.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	held, err := x.hold()
	if !held {
		return err
	}
	for _, name := range names {
		if err := x.fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// unusable handles a file that can't be opened. If this daemon writes the files, it
// removes a damaged one, and one of another version or log, so that the file is
// rebuilt. A file that no longer exists is ignored. Other errors are returned.
func (x *Index) unusable(s span, err error) error {
	if !errors.Is(err, errDamaged) && !errors.Is(err, errOther) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // merged in the meantime by the daemon that writes the files
		}
		return err
	}
	held, lockErr := x.hold()
	if !held {
		return lockErr
	}
	x.c.Log.Warn("a file of the history index can't be used; it is rebuilt", "file", s.name(), "reason", err)
	return x.fsys.Remove(join(x.dir, s.name()))
}

// fitting drops files at the end that don't match the log. They were written before
// the log lost its end in a repair.
func (x *Index) fitting(files []*file) ([]*file, error) {
	if len(files) == 0 {
		return nil, nil
	}
	r, err := x.c.Source.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for len(files) > 0 {
		last := files[len(files)-1]
		err := r.SeekAfter(last.end)
		var mismatch *wal.MismatchError
		var archived *wal.ArchivedError
		if err == nil || errors.As(err, &archived) {
			break
		}
		if !errors.As(err, &mismatch) && !errors.Is(err, wal.ErrBeyond) {
			return nil, err
		}
		held, lockErr := x.hold()
		if lockErr != nil {
			return nil, lockErr
		}
		if held {
			x.c.Log.Warn("a file of the history index does not match the log; it is rebuilt", "file", last.name, "reason", err)
			if err := x.fsys.Remove(last.name); err != nil {
				return nil, err
			}
		}
		files = files[:len(files)-1]
	}
	return files, nil
}
