package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Open locks DIR, recovers or creates its log, and prepares it for appending. It
// combines Prepare and Start. It returns ErrLocked if another process has the lock,
// ErrCopy if the directory is marked as a copy and Options.Copy is not set, and
// ErrVersion if a newer version made the log. If the log is damaged, Open returns a
// *CorruptError and leaves the log unchanged.
func Open(dir string, o Options) (*Writer, error) {
	w, err := Prepare(dir, o)
	if err != nil {
		return nil, err
	}
	if err := w.Start(); err != nil {
		return nil, err
	}
	return w, nil
}

// Prepare locks DIR, finds the end of its log, and determines whether the log can
// be continued. It creates DIR and LOCK if they are missing, and changes nothing
// else on disk. So a caller can read the log with OpenReader, and reject it before
// anything is changed. The caller must then call Start or Close.
func Prepare(dir string, o Options) (*Writer, error) {
	o = o.withDefaults()
	if err := checkSegmentSize(o.SegmentSize); err != nil {
		return nil, err
	}
	if o.Origin != nil {
		head := o.Origin.header()
		if err := head.Validate(); err != nil {
			return nil, fmt.Errorf("wal: the origin of a copy: %w", err)
		}
	}
	if err := checkHost(); err != nil {
		return nil, err
	}
	if err := o.checkCopy(dir); err != nil {
		return nil, err
	}
	if err := o.FS.Mkdir(dir); err != nil {
		return nil, fmt.Errorf("wal: create %s: %w", dir, err)
	}
	lock, err := lockLog(o.FS, dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, o: o, fs: o.FS, lock: lock, err: errNotStarted}
	w.sp.size = o.SegmentSize
	w.sp.announce()
	w.landed.L = &w.mu
	if w.found, err = w.survey(); err != nil {
		lock.Close()
		return nil, err
	}
	return w, nil
}

// errNotStarted is returned by a Writer between Prepare and Start.
var errNotStarted = errors.New("wal: the writer has not been started")

// A finding is the result of Prepare, for Start.
type finding struct {
	dir      dirState
	tail     *tail // nil if there is no log yet
	boot     BootID
	sameBoot bool // the log may have been written since the machine was started
}

// survey reads the directory and the end of the log.
func (w *Writer) survey() (*finding, error) {
	boot, err := w.fs.Boot()
	if err != nil {
		return nil, err
	}
	before, err := w.lock.boot()
	if err != nil {
		return nil, err
	}
	d, err := readDir(w.fs, w.dir)
	if err != nil {
		return nil, err
	}
	d.end.settle()
	if errors.Is(d.end.bad, ErrVersion) {
		return nil, fmt.Errorf("%s: %w", w.path(endName), d.end.bad)
	}
	found := &finding{dir: d, boot: boot}
	switch r := decide(dirRules, d.facts()); r.then {
	case refuse:
		return nil, &CorruptError{File: w.path(endName), Seq: d.end.durable, Rule: r.name, Err: refusal(r, d.end.bad)}
	case create:
		w.last = Frame{First: 1}
		if from := w.o.Origin; from != nil && from.Ordinal > 0 {
			w.last.First = from.First
		}
		return found, nil
	}
	found.sameBoot = d.end.sameBoot(boot, before)
	if found.tail, err = readTail(w.fs, &found.dir); err != nil {
		return nil, err
	}
	t := found.tail
	if t.rule.then == refuse {
		return nil, t.corrupt()
	}
	w.id = d.segments[0].head.ID
	if o := w.o.Origin; o != nil && o.ID != w.id {
		return nil, fmt.Errorf("%w: %s holds log %s, but must be a copy of log %s", ErrForeign, w.dir, w.id, o.ID)
	}
	w.last = Frame{First: t.at.next, Time: t.at.time, Digest: t.at.digest}
	return found, nil
}

// OpenReader opens the log for reading. It works even before Start, when END may not
// cover the whole log yet. The reader then ends at the place where Start will continue.
func (w *Writer) OpenReader() (*Reader, error) {
	if w.found == nil {
		return OpenReader(w.dir, w.o)
	}
	h := endHeader{ID: w.id}
	return newReader(w.dir, w.o, h, fixedPage(h.Marshal(w.LastSeq()))), nil
}

// Start creates the log if there is none, recovers its end, and prepares the writer
// for appending. After an error, the writer is closed.
func (w *Writer) Start() error {
	if err := w.start(); err != nil {
		if w.seg.file != nil {
			w.seg.file.Close()
		}
		if w.end != nil {
			w.end.Close()
		}
		w.lock.Close()
		w.lock = nil
		return err
	}
	w.found = nil
	w.mu.Lock()
	w.err, w.safe = nil, w.last.Last()
	w.mu.Unlock()
	if !w.o.Manual {
		w.shell = startShell(w)
		w.wantSpare()
	}
	return nil
}

func (w *Writer) start() error {
	if err := makeDirs(w.fs, w.dir); err != nil {
		return fmt.Errorf("wal: create %s: %w", w.dir, err)
	}
	end := &w.found.dir.end
	if w.found.tail == nil {
		if err := w.createLog(); err != nil {
			return err
		}
	} else {
		if end.bad != nil {
			w.o.OnNotice(fmt.Sprintf("%s was damaged (%v) and is being recreated: the frames of the log show where the log ends", w.path(endName), end.bad))
		}
		if err := w.recoverLog(w.found.tail, w.found.sameBoot); err != nil {
			return err
		}
	}
	// Remove an old spare, or part of one. After a crash during a cut, next.tmp may
	// also be a second name of the new segment.
	if err := w.fs.Remove(w.path(segmentDir, spareName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := w.takeEnd(end, w.found.boot); err != nil {
		return err
	}
	return w.signLock(w.found.boot)
}

func refusal(r *rule, cause error) error {
	if cause == nil {
		return errors.New(r.why)
	}
	return fmt.Errorf("%s: %w", r.why, cause)
}

// signLock writes two things to LOCK: the process that holds it, for operators, and the
// boot, for the next Open. It is called last. An Open that finds the current boot in
// LOCK may rewrite the last frames of the log. Before END is valid, those may be frames
// that an earlier boot acknowledged, which must not be rewritten.
func (w *Writer) signLock(boot BootID) error {
	text := fmt.Sprintf("boot %x pid %d since %s", boot[:], os.Getpid(), time.Unix(0, w.o.Now()).UTC().Format(time.RFC3339))
	_, err := w.lock.lock.WriteAt(fmt.Appendf(nil, "%-*s\n", lockSize-1, text), 0)
	return err
}
