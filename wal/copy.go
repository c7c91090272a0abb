package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// A directory whose log is a copy of another is marked by a file, so that no
// writer makes a second history of it by accident.
//
//	DIR/COPY    text: what it is a copy of
//	DIR/begin/  a copy that is being begun: a directory of a log; see Adopt

const (
	copyName  = "COPY"
	beginName = "begin"
	maxCopyOf = 4096 // bytes of the text
)

// ErrCopy is given by Open for a directory that is marked as a copy.
var ErrCopy = errors.New("wal: the log is a copy of another")

// MarkCopy marks DIR, which is made if it is missing, as a copy of what the text
// says, durably.
func MarkCopy(dir, of string, o Options) error {
	fsys := o.withDefaults().FS
	if was, err := CopyOf(dir, o); err != nil || was == of {
		return err
	}
	if err := fsys.Mkdir(dir); err != nil {
		return err
	}
	return writeNamed(fsys, dir, copyName, func(w io.Writer) error {
		_, err := io.WriteString(w, of+"\n")
		return err
	})
}

// CopyOf returns what DIR is marked as a copy of, "" if it is not marked.
func CopyOf(dir string, o Options) (string, error) {
	f, err := o.withDefaults().FS.Open(join(dir, copyName), false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return "", err
	}
	b := make([]byte, min(size, maxCopyOf))
	if err := readFull(f, b, 0); err != nil {
		return "", err
	}
	if of := strings.TrimSpace(string(b)); of != "" {
		return of, nil
	}
	return "another log", nil
}

// UnmarkCopy removes the mark: the log goes on alone. No error if there is none.
func UnmarkCopy(dir string, o Options) error {
	fsys := o.withDefaults().FS
	if err := fsys.Remove(join(dir, copyName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(dir)
}

// checkCopy refuses a marked directory to those who do not ask for a copy.
func (o *Options) checkCopy(dir string) error {
	if o.Copy {
		return nil
	}
	of, err := CopyOf(dir, *o)
	if err == nil && of != "" {
		err = fmt.Errorf("%w: %s is filled from %s, and must not be written by itself; `ledgerctl log detach` lets it go on alone", ErrCopy, dir, of)
	}
	return err
}

// HasLog reports whether DIR holds a log, or anything of one but checkpoints.
func HasLog(dir string, o Options) (bool, error) {
	fsys := o.withDefaults().FS
	firsts, err := listSeqs(fsys, segmentsPath(dir), segmentExt)
	if err != nil || len(firsts) > 0 {
		return true, err
	}
	end, err := readEnd(fsys, dir)
	return end.there || end.bad != nil, err
}

// BeginPath is the directory in which a copy of DIR's log is begun: one with a
// single segment and the checkpoint in it that the copy starts from.
func BeginPath(dir string) string { return join(dir, beginName) }

// ClearBegin removes what an attempt to begin a copy has left.
func ClearBegin(dir string, o Options) error {
	fsys, begin := o.withDefaults().FS, BeginPath(dir)
	for _, d := range append(logDirs(begin)[1:], begin) {
		names, err := fsys.List(d)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := fsys.Remove(join(d, name)); err != nil {
				return err
			}
		}
		if err := fsys.Remove(d); err != nil {
			return err
		}
	}
	return nil
}

// DropCheckpoints removes the checkpoints of DIR, which holds no log.
func DropCheckpoints(dir string, o Options) error {
	seqs, err := ListCheckpoints(dir, o)
	for _, seq := range seqs {
		err = errors.Join(err, o.withDefaults().FS.Remove(CheckpointPath(dir, seq)))
	}
	return err
}

// Adopt moves the log of BeginPath to DIR, which holds neither a log nor
// checkpoints. A crash leaves no log, or all of it without END, which Open makes.
func Adopt(dir string, o Options) error {
	fsys, begin := o.withDefaults().FS, BeginPath(dir)
	if has, err := HasLog(dir, o); err != nil {
		return err
	} else if has {
		return fmt.Errorf("wal: %s already holds a log", dir)
	}
	if err := makeDirs(fsys, dir); err != nil {
		return err
	}
	for _, part := range []struct{ dir, ext string }{{ckptDir, ckptExt}, {segmentDir, segmentExt}} {
		seqs, err := listSeqs(fsys, join(begin, part.dir), part.ext)
		if err != nil {
			return err
		}
		for _, seq := range seqs {
			if err := fsys.Rename(join(begin, part.dir, seqName(seq, part.ext)), join(dir, part.dir, seqName(seq, part.ext))); err != nil {
				return err
			}
		}
		if err := fsys.SyncDir(join(dir, part.dir)); err != nil {
			return err
		}
	}
	return ClearBegin(dir, o)
}

// LockCopy makes the caller the only one that begins a copy in DIR, which is
// made if it is missing: ErrLocked if another writes the log there.
func LockCopy(dir string, o Options) (io.Closer, error) {
	fsys := o.withDefaults().FS
	if err := fsys.Mkdir(dir); err != nil {
		return nil, fmt.Errorf("wal: make %s: %w", dir, err)
	}
	lock, err := lockLog(fsys, dir)
	if err != nil {
		return nil, err
	}
	return lock, nil
}
