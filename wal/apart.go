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
			if same {
				return fmt.Errorf("%w: %s and %s are the same directory", ErrSameDir, filepath.Clean(part), filepath.Clean(target))
			}
		}
	}
	return nil
}

// logDirs returns the directories of a log.
func logDirs(dir string) []string {
	return []string{dir, segmentsPath(dir), join(dir, ckptDir), join(dir, readersDir)}
}
