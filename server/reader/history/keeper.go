package history

import (
	"context"
	"errors"
	"io"
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
// closed generations and merges files. When ctx is done, it abandons a merge in
// progress, which could take many seconds, and returns.
//
//	load → (missing: build → load)… → write, merge → wait to be woken
func (x *Index) Run(ctx context.Context) {
	if x.c.Dir == "" {
		return
	}
	stop := context.AfterFunc(ctx, func() { x.quit.Store(true) })
	defer stop()
	for ctx.Err() == nil {
		pause, err := x.step(ctx)
		x.mu.Lock()
		x.failing = err != nil
		x.mu.Unlock()
		wake(x.written)
		if err != nil && ctx.Err() == nil {
			x.Meter.Failed.Add(1)
			x.c.Log.Warn("the history index can't be maintained now; trying again", "reason", err)
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
// if nothing wakes it. After an error it gives up the duty of writing files, so that
// another daemon can try, and so that a removed directory is created again.
func (x *Index) step(ctx context.Context) (pause time.Duration, err error) {
	defer func() {
		if err != nil || x.c.Brief {
			x.release()
		}
	}()
	x.mu.Lock()
	begun, ready := x.begun, x.ready
	x.mu.Unlock()
	if !begun {
		return 0, nil
	}
	if !ready {
		missing, held, err := x.find()
		if err != nil {
			return 0, err
		}
		if missing.first != 0 {
			if !held {
				return lookAgain, nil
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

// find loads the files. If some are missing, it records the progress for health and
// acquires the duty of making them. held is false if another daemon has that duty.
func (x *Index) find() (missing span, held bool, err error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	stuck := x.discard() // after an error, the other files can still be used
	missing, err = x.load()
	if err = errors.Join(err, stuck); err != nil || missing.first == 0 {
		return missing, false, err
	}
	x.Meter.Done.Store(missing.first - 1)
	x.Meter.Of.Store(missing.last)
	held, err = x.hold()
	return missing, held, err
}

// hold acquires the duty of writing the files. It returns false if another daemon
// has it. The caller holds x.writing, but not x.mu, so that no reader waits for the
// disk.
func (x *Index) hold() (bool, error) {
	if x.holds() {
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
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lock = lock
	return true, nil
}

// holds reports whether this daemon has the duty of writing the files.
func (x *Index) holds() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lock != nil
}

// release gives up the duty of writing the files.
func (x *Index) release() {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	lock := x.lock
	x.lock = nil
	x.mu.Unlock()
	if lock != nil {
		lock.Close()
	}
}

// Close gives up the duty of writing the files. Nothing else may be using the index.
func (x *Index) Close() {
	x.release()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files = nil
}

// Flush writes the generations that are closed now and merges files, if this daemon has
// or can acquire the duty of writing the files. Otherwise it loads the files that
// another daemon has written. While the index is not ready, Flush does nothing.
func (x *Index) Flush() (pause time.Duration, err error) {
	x.mu.Lock()
	waiting, ready, open := len(x.gens) > 1, x.ready, x.open.first
	x.mu.Unlock()
	if x.c.Dir == "" || !ready || !waiting {
		return 0, nil
	}
	x.writing.Lock()
	defer x.writing.Unlock()
	had := x.holds()
	held, err := x.hold()
	if err != nil {
		return 0, err
	}
	if !had { // another daemon may have written, merged or removed files
		missing, err := x.load()
		if err != nil || !held {
			return lookAgain, err
		}
		if missing.first != 0 {
			x.lose()
			return 0, nil
		}
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

// lose makes the index not ready, because files are missing. Run builds them again.
func (x *Index) lose() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ready = false
	wake(x.poke)
}

// writeGeneration writes a file with the part of a closed generation that the files
// don't cover.
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

// create writes a file and opens it. The caller holds x.writing.
func (x *Index) create(s span, write func(io.Writer) error) (*file, error) {
	if err := createFile(x.fsys, x.dir, s, write); err != nil {
		return nil, err
	}
	x.Meter.Built.Add(1)
	return openFile(x.fsys, x.dir, s, x.id)
}

// Await makes a tailer that is catching up wait until all but a few of its
// generations are written to files. Without the wait, generations would be dropped,
// and the log would be replayed once more for them. Await does not wait if this
// daemon is not writing files at present.
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

// CaughtUp releases memory that a tailer needs only while it catches up.
func (x *Index) CaughtUp() { x.spare.close() }
