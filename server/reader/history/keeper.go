package history

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"assetledger/wal"
)

const (
	lookAgain    = 2 * time.Second // pause while another daemon writes the files
	afterFailure = 10 * time.Second
	// mergedBytes is the maximum size, in bytes, of a file that merging writes.
	mergedBytes = 1 << 30
)

// Run maintains the files: it finds the existing ones, builds missing ones, writes
// closed generations and merges files. It returns when ctx is done.
//
//	load → (missing: build → load)… → write, merge → wait to be woken
func (x *Index) Run(ctx context.Context) {
	if x.c.Dir == "" {
		return
	}
	for ctx.Err() == nil {
		pause, err := x.step(ctx)
		if x.c.Brief {
			x.release()
		}
		x.mu.Lock()
		x.failing = err != nil
		x.mu.Unlock()
		wake(x.written)
		if err != nil && ctx.Err() == nil {
			x.Meter.Failed.Add(1)
			x.c.Log.Warn("the history index can't be kept now; trying again", "reason", err)
			pause = afterFailure
		}
		x.rest(ctx, pause, err != nil)
	}
}

// rest waits for at most pause, or without limit if pause is 0. A wake ends the
// wait, unless the last step failed.
func (x *Index) rest(ctx context.Context, pause time.Duration, failed bool) {
	var after <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		after = timer.C
	}
	poke := x.poke
	if failed {
		poke = nil
	}
	select {
	case <-ctx.Done():
	case <-poke:
	case <-after:
	}
}

// step does the pending work. pause is the time after which it must be called again
// if nothing wakes it.
func (x *Index) step(ctx context.Context) (pause time.Duration, err error) {
	x.mu.Lock()
	begun, ready := x.begun, x.ready
	x.mu.Unlock()
	if !begun {
		return 0, nil
	}
	if !ready {
		missing, err := x.load()
		if err != nil {
			return 0, err
		}
		if missing.first != 0 {
			if held, err := x.hold(); !held {
				return lookAgain, err
			}
			if err := x.build(ctx, missing); err != nil {
				return 0, err
			}
			wake(x.poke)
			return 0, nil
		}
	}
	return x.Flush()
}

// hold acquires the duty of writing the files. It returns false if another daemon
// has it.
func (x *Index) hold() (bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lock != nil {
		return true, nil
	}
	if err := errors.Join(x.fsys.Mkdir(x.dir), x.fsys.SyncDir(x.c.Dir)); err != nil {
		return false, err
	}
	lock, err := x.fsys.Lock(join(x.dir, "LOCK"))
	if errors.Is(err, wal.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x.lock = lock
	return true, nil
}

// release gives up the duty.
func (x *Index) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lock != nil {
		x.lock.Close()
		x.lock = nil
	}
}

// Close gives up the duty. Nothing else may be running.
func (x *Index) Close() {
	x.release()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files = nil
}

// spans returns the files of the index, and removes unneeded ones.
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

// load opens the files that follow each other. It returns the first range of
// commits that are neither in a file nor in memory. If this daemon writes the
// files, load removes unusable ones.
func (x *Index) load() (missing span, err error) {
	list, err := x.spans()
	if err != nil {
		return span{}, err
	}
	files, err := x.chain(list)
	if err != nil {
		return span{}, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	need := x.gens[0].first - 1 // the files must reach up to here
	have := covered(files)
	if have < need {
		missing = span{have + 1, need}
		for _, s := range list { // up to the next usable file
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

// chain opens the files that follow each other, beginning with the first, and match
// the log.
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
		switch {
		case len(files) == 0 && s.first > 1 && !isBase, len(files) > 0 && (s.first != next || f.before != files[len(files)-1].end.Chain):
			continue
		}
		files = append(files, f)
	}
	return x.fitting(files)
}

// unusable handles a file that can't be opened. A damaged file is removed, so that
// it is built again. Other errors are returned.
func (x *Index) unusable(s span, err error) error {
	if !errors.Is(err, errDamaged) && !errors.Is(err, errOther) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // merged meanwhile by the daemon that writes the files
		}
		return err
	}
	held, lockErr := x.hold()
	if !held {
		return lockErr
	}
	x.c.Log.Warn("a file of the history index can't be used; it is made again", "file", s.name(), "reason", err)
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
			x.c.Log.Warn("a file of the history index is not of this log as it is now; it is made again", "file", last.name, "reason", err)
			if err := x.fsys.Remove(last.name); err != nil {
				return nil, err
			}
		}
		files = files[:len(files)-1]
	}
	return files, nil
}

// Flush writes the generations that are closed now and merges files, if this daemon
// writes the files. Otherwise it checks whether another daemon has done so.
func (x *Index) Flush() (pause time.Duration, err error) {
	x.mu.Lock()
	waiting, ready, open := len(x.gens) > 1, x.ready, x.open.first
	x.mu.Unlock()
	if x.c.Dir == "" || !ready || !waiting {
		return 0, nil
	}
	held, err := x.hold()
	if err != nil {
		return 0, err
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	if !held {
		_, err := x.load()
		return lookAgain, err
	}
	for {
		x.mu.Lock()
		if len(x.gens) < 2 || !x.ready || x.gens[0].first >= open {
			x.mu.Unlock()
			return 0, nil
		}
		g, files := x.gens[0], x.files
		x.mu.Unlock()
		if err := x.writeGeneration(g, files); err != nil {
			return 0, err
		}
		if err := x.merge(); err != nil {
			return 0, err
		}
	}
}

// writeGeneration writes the part of a closed generation that the files don't cover
// to a file.
func (x *Index) writeGeneration(g *generation, files []*file) error {
	s := span{max(g.first, covered(files)+1), g.end.Seq}
	if s.first > s.last {
		x.mu.Lock()
		x.publish(files)
		x.mu.Unlock()
		return nil
	}
	before := g.before
	if s.first > g.first {
		before = files[len(files)-1].end.Chain
	}
	f, err := x.create(s, func(out io.Writer) error {
		w := newWriter(out, x.id, s.first, before)
		g.write(w, s.first)
		return w.finish(g.end)
	})
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ready {
		x.publish(append(slices.Clip(files), f))
	}
	return nil
}

// create writes a file and opens it.
func (x *Index) create(s span, write func(io.Writer) error) (*file, error) {
	if err := createFile(x.fsys, x.dir, s, write); err != nil {
		return nil, err
	}
	x.Meter.Built.Add(1)
	return openFile(x.fsys, x.dir, s, x.id)
}

// Await makes a tailer that catches up wait until all but a few of its generations
// are written to files. Without the wait, generations would be dropped, and the log
// replayed once more for them. Await does not wait if this daemon is not writing
// files at present.
func (x *Index) Await(ctx context.Context) {
	for ctx.Err() == nil {
		x.mu.Lock()
		behind := len(x.gens) > 1+awaited && x.ready && x.lock != nil && !x.failing
		x.mu.Unlock()
		if !behind {
			return
		}
		select {
		case <-ctx.Done():
		case <-x.written:
		}
	}
}

// CaughtUp releases memory that only a tailer that catches up needs.
func (x *Index) CaughtUp() { x.spare.close() }
