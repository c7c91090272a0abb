package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

func join(names ...string) string { return filepath.Join(names...) }

func segmentsPath(dir string) string { return join(dir, segmentDir) }

// makeDirs durably creates DIR and its subdirectories. DIR's own parent must exist.
func makeDirs(fsys FS, dir string) error {
	if err := fsys.Mkdir(dir); err != nil {
		return err
	}
	for _, d := range []string{segmentDir, ckptDir, readersDir} {
		if err := fsys.Mkdir(join(dir, d)); err != nil {
			return err
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	err := fsys.SyncDir(filepath.Dir(filepath.Clean(dir)))
	if errors.Is(err, fs.ErrPermission) {
		return nil // another program has created DIR
	}
	return err
}

// listSeqs returns the numbers in the names of a directory's files with the
// extension, in ascending order. A missing directory has none.
func listSeqs(fsys FS, dir, ext string) ([]uint64, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var seqs []uint64
	for _, name := range names { // the names are sorted, and so are their numbers
		if seq, ok := parseSeqName(name, ext); ok {
			seqs = append(seqs, seq)
		}
	}
	return seqs, err
}

// An endState is the state of END on disk.
type endState struct {
	endHeader
	durable uint64
	there   bool  // END exists and is valid
	bad     error // why END is neither valid nor absent
	doubt   error // why END is valid only if a writer is storing into it

	halfCopy bool // bad is set because Backup marked END as that of an unfinished copy
}

// readEnd reads END without mapping it. It returns only I/O errors; e.bad says why the
// content of END is invalid.
func readEnd(fsys FS, dir string) (e endState, err error) {
	f, err := fsys.Open(join(dir, endName), false)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return e, err
	}
	b := make([]byte, min(size, pageSize))
	if err := readFull(f, b, 0); err != nil {
		return e, err
	}
	e.durable, err = e.Unmarshal(b)
	switch {
	case err == nil:
		e.there, e.doubt = true, checkEndPage(b)
	case !errors.Is(err, errEndAbsent):
		e.bad = err
		e.halfCopy = bytes.HasPrefix(b, []byte(unfinished))
		if len(b) == pageSize && checkEndPage(b) != nil {
			e.bad = fmt.Errorf("%v", err) // not ErrVersion, since it may be damaged
		}
	}
	return e, nil
}

// settle marks a doubtful END as invalid. It may be called only if no writer is storing
// into END.
func (e *endState) settle() {
	if e.there && e.doubt != nil {
		*e = endState{bad: e.doubt}
	}
}

// sameBoot reports whether the log may have been written since the machine was
// started. The parameter boot is the current boot, and the parameter before is the one
// in LOCK. If END is valid, the boot in END counts instead, since Start stores it there
// before it writes LOCK.
func (e *endState) sameBoot(boot, before BootID) bool {
	if e.there {
		before = e.Boot
	}
	return boot == BootID{} || before == BootID{} && e.there || boot == before
}

// A dirState describes a log directory before anything in it is changed.
type dirState struct {
	end      endState
	segments []segmentFile // ordered by ordinal
	ckpt     uint64        // global_seq of the newest checkpoint; 0 if there is none
	copy     bool          // the directory is marked as a copy
}

// A segmentFile is a segment and its header.
type segmentFile struct {
	path string
	head segmentHeader
}

// acked returns the highest global_seq that is known to have been durable.
func (d *dirState) acked() uint64 { return max(d.end.durable, d.ckpt) }

func (d *dirState) facts() (f facts) {
	set := func(x facts, is bool) {
		if is {
			f |= x
		}
	}
	set(hasSegments, len(d.segments) > 0)
	set(hasEnd, d.end.there)
	set(badEnd, d.end.bad != nil)
	set(halfCopy, d.end.halfCopy)
	set(foreignEnd, d.end.there && len(d.segments) > 0 && d.segments[0].head.ID != d.end.ID)
	set(hasCkpt, d.ckpt > 0)
	set(headless, len(d.segments) > 0 && d.segments[0].head.Ordinal > 0 && d.ckpt < d.segments[0].head.First)
	return f
}

// readDir reads END, COPY, the names of the checkpoints, and the headers of all segments.
// The segments must belong to one log and have no gap, but the first ones may be
// missing.
func readDir(fsys FS, dir string) (d dirState, err error) {
	if d.end, err = readEnd(fsys, dir); err != nil {
		return d, err
	}
	ckpts, err := listSeqs(fsys, join(dir, ckptDir), ckptExt)
	if err != nil {
		return d, err
	}
	if n := len(ckpts); n > 0 {
		d.ckpt = ckpts[n-1]
	}
	of, err := CopyOf(dir, Options{FS: fsys})
	if err != nil {
		return d, err
	}
	d.copy = of != ""
	d.segments, err = readSegments(fsys, dir)
	return d, err
}

// listTries is the maximum number of times that a directory is listed while its oldest
// segments are being moved to an archive.
const listTries = 20

// readSegments reads and checks the headers of all segments.
func readSegments(fsys FS, dir string) (list []segmentFile, err error) {
	for range listTries {
		if list, err = readSegmentsOnce(fsys, dir); !errors.Is(err, fs.ErrNotExist) {
			return list, err
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrArchiving, err)
}

func readSegmentsOnce(fsys FS, dir string) ([]segmentFile, error) {
	firsts, err := listSeqs(fsys, segmentsPath(dir), segmentExt)
	if err != nil {
		return nil, err
	}
	list := make([]segmentFile, 0, len(firsts))
	for i, first := range firsts {
		s := segmentFile{path: join(segmentsPath(dir), segmentName(first))}
		if s.head, err = checkSegment(fsys, s.path, first); err != nil {
			return nil, err
		}
		bad := func(rule string, err error) error {
			return &CorruptError{File: s.path, Seq: first - 1, Rule: rule, Err: err}
		}
		if i > 0 && s.head.ID != list[0].head.ID {
			return nil, bad(ruleForeign, fmt.Errorf("log id %s, but the first segment has %s", s.head.ID, list[0].head.ID))
		}
		list = append(list, s)
		if need := list[0].head.Ordinal + uint32(i); s.head.Ordinal != need {
			return nil, bad(ruleGap, fmt.Errorf("this is segment number %d, need %d", s.head.Ordinal, need))
		}
	}
	return list, nil
}

// checkSegment reads the header of a segment file and compares it with the
// file's name and size.
func checkSegment(fsys FS, path string, first uint64) (h segmentHeader, err error) {
	f, err := fsys.Open(path, false)
	if err != nil {
		return h, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return h, err
	}
	corrupt := func(rule string, err error) error {
		return &CorruptError{File: path, Seq: first - min(first, 1), Rule: rule, Err: err}
	}
	if size < segmentHeaderSize {
		return h, corrupt(ruleSize, fmt.Errorf("file has %d bytes, need at least %d", size, minSegment))
	}
	b := make([]byte, segmentHeaderSize)
	if err := readFull(f, b, 0); err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	switch err := h.Unmarshal(b); {
	case errors.Is(err, ErrVersion):
		return h, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		return h, corrupt(ruleHeader, err)
	case h.First != first:
		return h, corrupt(ruleHeader, fmt.Errorf("the header says that it begins at global_seq %d, but the name says %d", h.First, first))
	case h.Size != size:
		return h, corrupt(ruleSize, fmt.Errorf("file has %d bytes, but the header says %d", size, h.Size))
	}
	return h, nil
}
