package wal

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ErrSameDir means that the target directory is the log itself, a part of it, or a
// part of another log, under whatever name. It is returned before anything is
// written.
var ErrSameDir = errors.New("wal: the target is part of a log")

// apartFrom returns ErrSameDir unless the target and parts are apart from the log
// in dir, and the target is in no directory of any log.
func apartFrom(fsys FS, dir, target string, parts ...string) error {
	if err := apart(fsys, dir, append([]string{target}, parts...)...); err != nil {
		return err
	}
	return notWithin(fsys, dir, target)
}

// apart returns ErrSameDir if a directory of the log in dir is also one of targets:
// by another path, a symbolic link, or a bind mount.
func apart(fsys FS, dir string, targets ...string) error {
	for _, part := range logDirs(dir) {
		for _, target := range targets {
			same, err := fsys.Same(part, target)
			if err != nil {
				return err
			}
			if same || filepath.Clean(part) == filepath.Clean(target) { // the path comparison works for a target that does not exist yet
				return fmt.Errorf("%w: %s and %s are the same directory", ErrSameDir, filepath.Clean(part), filepath.Clean(target))
			}
		}
	}
	return nil
}

// notWithin returns ErrSameDir if the target, or a directory between it and the
// root, is one that the programs keep below dir or below the directory of another
// log. Those directories are cleared at times, and files in wal/ count as parts of
// its log. Going up by ".." follows the directories themselves, and not the names
// in the path.
func notWithin(fsys FS, dir, target string) error {
	at := target
	if there, err := fsys.Same(at, at); err != nil {
		return err
	} else if !there {
		at = filepath.Dir(filepath.Clean(at))
	}
	for {
		up := at + "/.."
		if top, err := fsys.Same(at, up); err != nil || top {
			return err
		}
		if there, err := fsys.Same(up, up); err != nil || !there {
			return err
		}
		parts := logDirs(dir)[1:]
		if log, err := fsys.Same(up+"/"+endName, up+"/"+endName); err != nil {
			return err
		} else if log {
			for _, part := range logDirs("")[1:] {
				parts = append(parts, up+"/"+part)
			}
		}
		for _, part := range parts {
			same, err := fsys.Same(part, at)
			if err != nil {
				return err
			}
			if same {
				return fmt.Errorf("%w: %s is, or lies in, its directory %s", ErrSameDir, filepath.Clean(target), filepath.Base(part))
			}
		}
		at = up
	}
}

// historyDir is the directory of the history index, which a read daemon keeps in
// the log's directory. The index can be rebuilt, so people remove it.
const historyDir = "history"

// logDirs returns the directories of a log.
func logDirs(dir string) []string {
	return []string{dir, segmentsPath(dir), join(dir, ckptDir), join(dir, readersDir), join(dir, historyDir), BeginPath(dir)}
}

// noLinks returns an error if the target directory has a symbolic link in place of
// a file with the extension. The link is not a copy, and may lead to the log's own
// file.
func noLinks(fsys FS, to, ext string) error {
	seqs, err := listSeqs(fsys, to, ext)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		if err := notLink(fsys, join(to, seqName(seq, ext))); err != nil {
			return err
		}
	}
	return nil
}

func notLink(fsys FS, path string) error {
	link, err := fsys.IsLink(path)
	if err == nil && link {
		err = fmt.Errorf("%w: %s is a symbolic link, and no copy; remove it, or give another directory", ErrSameDir, path)
	}
	return err
}

// noShared returns an error if a file in the directory of the copy is also a file
// of the log, through a hard or a symbolic link.
func noShared(fsys FS, dir, to, ext string) error {
	if err := noLinks(fsys, to, ext); err != nil {
		return err
	}
	seqs, err := listSeqs(fsys, to, ext)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		name := seqName(seq, ext)
		same, err := fsys.Same(join(dir, name), join(to, name))
		if err != nil {
			return err
		}
		if same {
			return fmt.Errorf("%w: %s and %s are one file; remove the second, or give another directory", ErrSameDir, join(dir, name), join(to, name))
		}
	}
	return nil
}
