package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrSameDir means that the target directory, whatever its name, is the log itself,
// another log, or a part of either, or that it has links where copies should be. It also
// means that a log is within the directory of its backup, or the other way round. It is
// returned before any file of a log is changed or removed.
var ErrSameDir = errors.New("wal: the target must be separate from every log")

// apartFrom returns ErrSameDir unless target, and each of the directories in parts, is
// separate from the log in dir, and target is outside the subdirectories that the
// programs keep in any log's directory. It returns another error if target is a file,
// or within one.
func apartFrom(fsys FS, dir, target string, parts ...string) error {
	if _, err := fsys.List(target); errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("wal: %s is a file, or within one; give a directory", target)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := apart(fsys, dir, append([]string{target}, parts...)...); err != nil {
		return err
	}
	if err := notWithin(fsys, dir, target); err != nil {
		return fmt.Errorf("%w: %w", ErrSameDir, err)
	}
	return nil
}

// apart returns ErrSameDir if a directory of the log in dir is also one of targets,
// even by another path, a symbolic link, or a bind mount.
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

// A partError means that a directory is, or is within, one of the directories that
// the programs keep in the directory of a log.
type partError struct{ target, log string }

func (e *partError) Error() string        { return e.target + " is part of the log in " + e.log }
func (e *partError) Is(target error) bool { return target == ErrSameDir }

// NotPartOfLog returns an error that is ErrSameDir if a new log in dir would be part
// of another log. It returns nil if there is a log in dir already.
func NotPartOfLog(dir string, o Options) error {
	o = o.withDefaults()
	for _, name := range []string{join(dir, endName), segmentsPath(dir), BeginPath(dir)} {
		if there, err := o.FS.Same(name, name); there || err != nil {
			return nil // opening the log reports the error
		}
	}
	err := notWithin(o.FS, dir, dir)
	if errors.Is(err, ErrSameDir) {
		return err
	}
	return nil // err may be due to a parent directory that can't be searched
}

// notWithin returns a *partError if the target, or a directory above it, is one that
// the programs keep in dir or in the directory of another log. The programs delete
// files in those directories, and treat files in wal/ as parts of the log.
func notWithin(fsys FS, dir, target string) error {
	for at, err := range upFrom(fsys, target) {
		if err != nil {
			return err
		}
		up, err := above(fsys, at)
		if err != nil {
			return err
		}
		logs := []string{dir}
		if log, err := fsys.Same(up+"/"+endName, up+"/"+endName); err != nil {
			return err
		} else if log {
			logs = append(logs, up)
		}
		for _, log := range logs {
			for _, part := range logDirs("")[1:] {
				part = log + "/" + part
				same, err := fsys.Same(part, at)
				if err != nil {
					return err
				}
				if same || filepath.Clean(part) == filepath.Clean(at) { // the path comparison works for one that does not exist yet
					return &partError{filepath.Clean(target), shorter(fsys, log)}
				}
			}
		}
	}
	return nil
}

// shorter returns the path without "..", if that refers to the same directory.
func shorter(fsys FS, path string) string {
	if same, err := fsys.Same(filepath.Clean(path), path); err == nil && same {
		return filepath.Clean(path)
	}
	return path
}

// beside returns ErrSameDir if one of two directories is within the other, because
// moving or deleting the outer one would move or delete the inner one too.
func beside(fsys FS, a, b string) error {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for at, err := range upFrom(fsys, pair[0]) {
			same, sameErr := fsys.Same(at, pair[1])
			if err = errors.Join(err, sameErr); err != nil {
				return err
			}
			if same {
				return fmt.Errorf("%w: %s is within %s", ErrSameDir, filepath.Clean(pair[0]), filepath.Clean(pair[1]))
			}
		}
	}
	return nil
}

// upFrom yields path, which may not exist, and each directory above it.
func upFrom(fsys FS, path string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for {
			if !yield(path, nil) {
				return
			}
			up, err := above(fsys, path)
			if err != nil {
				yield("", err)
				return
			}
			top, err := fsys.Same(path, up)
			if err != nil {
				yield("", err)
				return
			}
			if top || up == path {
				return
			}
			path = up
		}
	}
}

// above returns the directory that path is in. Going up by ".." follows the
// directories themselves, not the names in the path.
func above(fsys FS, path string) (string, error) {
	there, err := fsys.Same(path, path)
	if there {
		return path + "/..", err
	}
	return filepath.Dir(filepath.Clean(path)), err
}

// noOthers returns an error if a directory has files whose names are not in own: a
// backup or an archive would be mixed up with them. It ignores files that operating
// systems create: lost+found, and names that begin with a dot.
func noOthers(fsys FS, dir string, own ...string) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(own, name) && name[0] != '.' && name != "lost+found" {
			return fmt.Errorf("wal: %s contains other files, such as %s; give an empty directory, or one that does not exist yet", dir, name)
		}
	}
	return err
}

// historyDir is the directory of the history index, which a read daemon keeps in
// the log's directory. The index can be rebuilt, so operators may remove it.
const historyDir = "history"

// logDirs returns the directories of a log.
func logDirs(dir string) []string {
	return []string{dir, segmentsPath(dir), join(dir, ckptDir), join(dir, readersDir), join(dir, historyDir), BeginPath(dir)}
}

// noLinks returns an error if the target directory has a symbolic link in place of
// a file with the extension. The link is not a copy, and may point to the log's own
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
		err = fmt.Errorf("%w: %s is a symbolic link, not a copy; remove it, or give another directory", ErrSameDir, path)
	}
	return err
}

// noShared returns an error if a file in the directory of the copy is a symbolic link,
// or is also a file of the log, as through a hard link.
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
			return fmt.Errorf("%w: %s and %s are the same file; remove the second, or give another directory", ErrSameDir, join(dir, name), join(to, name))
		}
	}
	return nil
}
