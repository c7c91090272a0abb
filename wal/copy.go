package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// The file COPY marks a directory whose log is a copy of another log. The mark keeps a
// writer from continuing the copy by mistake, with a history of its own.
//
//	DIR/COPY    text that says what the log is a copy of
//	DIR/begin/  a copy that is being created, as a log directory; see Adopt

const (
	copyName  = "COPY"
	beginName = "begin"
	maxCopyOf = 4096 // maximum size of the text in bytes
)

// ErrCopy is the error of Open for a directory that is marked as a copy, unless
// Options.Copy is set.
var ErrCopy = errors.New("wal: the log is a copy of another")

// MarkCopy durably marks DIR as a copy of another log. The second argument describes
// that log, for example by its URL. DIR is created if it is missing.
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

// CopyOf returns what DIR is marked as a copy of, or "" if it is not marked.
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

// UnmarkCopy removes the mark, so that the log continues on its own. It returns nil
// if there is no mark.
func UnmarkCopy(dir string, o Options) error {
	fsys := o.withDefaults().FS
	if err := fsys.Remove(join(dir, copyName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.SyncDir(dir)
}

// checkCopy returns ErrCopy for a marked directory, unless o.Copy is set.
func (o *Options) checkCopy(dir string) error {
	if o.Copy {
		return nil
	}
	of, err := CopyOf(dir, *o)
	if err == nil && of != "" {
		err = fmt.Errorf("%w: %s is filled from %s, so no write daemon may be started on it; `ledgerctl log detach` makes it an independent log", ErrCopy, dir, of)
	}
	return err
}

// HasLog reports whether DIR contains a log, or any part of one except checkpoints.
func HasLog(dir string, o Options) (bool, error) {
	fsys := o.withDefaults().FS
	firsts, err := listSeqs(fsys, segmentsPath(dir), segmentExt)
	if err != nil || len(firsts) > 0 {
		return true, err
	}
	end, err := readEnd(fsys, dir)
	return end.there || end.bad != nil, err
}

// CheckPresent returns ErrNoLog if DIR contains no part of a log, or does not exist.
func CheckPresent(dir string, o Options) error {
	has, err := HasLog(dir, o)
	if err != nil || has {
		return err
	}
	ckpts, err := ListCheckpoints(dir, o)
	if err == nil && len(ckpts) == 0 {
		err = ErrNoLog
	}
	return err
}

// BeginPath returns the directory in which a copy is begun before Adopt makes it DIR's
// log. It is a log directory with a single segment, and with the checkpoint from which
// the copy starts, at a commit of that segment.
func BeginPath(dir string) string { return join(dir, beginName) }

// ClearBegin removes what an earlier attempt to begin a copy left.
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

// DropCheckpoints durably removes the checkpoints of DIR, which must not contain a
// log. A checkpoint that a power cut brought back could be beyond the end of the log
// that is begun next, which Open would then reject.
func DropCheckpoints(dir string, o Options) error {
	fsys := o.withDefaults().FS
	seqs, err := ListCheckpoints(dir, o)
	if err != nil || len(seqs) == 0 {
		return err
	}
	for _, seq := range seqs {
		err = errors.Join(err, fsys.Remove(CheckpointPath(dir, seq)))
	}
	return errors.Join(err, fsys.SyncDir(join(dir, ckptDir)))
}

// Adopt moves the log from BeginPath to DIR, which must contain neither a log nor
// checkpoints. A crash leaves either no log in DIR, or a complete one without END,
// which Open creates.
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
// created if it is missing. It returns ErrLocked if another process has locked DIR, to
// begin a copy or to write the log there.
func LockCopy(dir string, o Options) (io.Closer, error) {
	fsys := o.withDefaults().FS
	if err := fsys.Mkdir(dir); err != nil {
		return nil, fmt.Errorf("wal: create %s: %w", dir, err)
	}
	lock, err := lockLog(fsys, dir)
	if err != nil {
		return nil, err
	}
	return lock, nil
}
