package wal

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ErrSameDir is returned, before anything is written, when the target
// directory is the log itself or a part of it, under whatever name.
var ErrSameDir = errors.New("wal: the target is the log itself")

// apart returns ErrSameDir if one of the directories of the log in dir is also
// one of targets: by another path, a symbolic link, or a bind mount.
func apart(fsys FS, dir string, targets ...string) error {
	for _, part := range logDirs(dir) {
		for _, target := range targets {
			same, err := fsys.Same(part, target)
			if err != nil {
				return err
			}
			if same || filepath.Clean(part) == filepath.Clean(target) { // which may not exist yet
				return fmt.Errorf("%w: %s and %s are the same directory", ErrSameDir, filepath.Clean(part), filepath.Clean(target))
			}
		}
	}
	return nil
}

// historyDir is the index of the history, which a read daemon keeps, in the log's
// directory. It can be made again, so people remove it.
const historyDir = "history"

// logDirs returns the directories of a log.
func logDirs(dir string) []string {
	return []string{dir, segmentsPath(dir), join(dir, ckptDir), join(dir, readersDir), join(dir, historyDir)}
}

// noLinks returns an error if the target directory to has a symbolic link in
// place of a file with the extension: what it leads to may be the log's own
// file, and is no copy.
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

// noShared returns an error if a file of the copy's directory is also the log's,
// by a link of either kind.
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
