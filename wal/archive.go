package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Archive moves the segments of dir that end before the commit below to
// another directory, oldest first, and gives their names. below is the older of
// two good checkpoints: who starts from it needs the segment that holds it, and
// those after. It works beside running daemons: they keep what they have mapped.
//
// Each segment is checked first: headers, bodies, and the link to the next. On
// another filesystem it is copied, synced, checked again, and then removed. A
// move that was interrupted is completed by the next run.
func Archive(dir, to string, below uint64, fsys FS) (moved []string, err error) {
	if fsys == nil {
		fsys = OS
	}
	if err := fsys.Mkdir(to); err != nil {
		return nil, err
	}
	if err := fsys.SyncDir(filepath.Dir(filepath.Clean(to))); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	lock, err := lockPatiently(fsys, join(to, lockName))
	if err != nil {
		return nil, fmt.Errorf("another archive run works on %s: %w", to, err)
	}
	defer lock.Close()
	list, err := readSegments(fsys, dir)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(list) && list[i+1].head.First <= below; i++ {
		if err := checkSealed(fsys, &list[i], &list[i+1]); err != nil {
			return moved, err
		}
		if err := moveSegment(fsys, &list[i], &list[i+1], to); err != nil {
			return moved, err
		}
		moved = append(moved, list[i].head.name())
	}
	return moved, nil
}

// checkSealed checks all of a segment, and that it leads to the next.
func checkSealed(fsys FS, s, next *segmentFile) error {
	src, err := openView(fsys, s.path, s.head.Size)
	if err != nil {
		return err
	}
	defer src.Close()
	w := newWalker(src, s.head, nil)
	if err := w.scan(true, nil); err != nil {
		return sealError(s, &w.at, err)
	}
	return checkLink(next.path, &next.head, s.head.ID, s.head.Ordinal, &w.at)
}

// moveSegment moves one segment. A file of its name that is there already is
// what an interrupted run has copied, or of another log.
func moveSegment(fsys FS, s, next *segmentFile, to string) error {
	target := segmentFile{path: join(to, s.head.name()), head: s.head}
	head, err := checkSegment(fsys, target.path, s.head.First)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fsys.Rename(s.path, target.path)
		if errors.Is(err, syscall.EXDEV) {
			err = copyAway(fsys, s, next, to)
		}
	case err == nil && head != s.head:
		err = fmt.Errorf("wal: %s is a segment of another log, or of another time; give another directory", target.path)
	case err == nil:
		if err = checkSealed(fsys, &target, next); err == nil {
			err = fsys.Remove(s.path)
		}
	}
	if err != nil {
		return err
	}
	if err := fsys.SyncDir(to); err != nil { // the new name first
		return err
	}
	return fsys.SyncDir(filepath.Dir(s.path))
}

// copyAway moves a segment to another filesystem.
func copyAway(fsys FS, s, next *segmentFile, to string) error {
	src, err := fsys.Open(s.path, false)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := copyNamed(fsys, src, to, s.head.name()); err != nil {
		return err
	}
	target := segmentFile{path: join(to, s.head.name()), head: s.head}
	if err := checkSealed(fsys, &target, next); err != nil {
		return err
	}
	return fsys.Remove(s.path)
}

// copyNamed copies a file into a directory, durably, and gives it its name last.
func copyNamed(fsys FS, src File, dir, name string) error {
	size, err := src.Size()
	if err != nil {
		return err
	}
	return writeNamed(fsys, dir, name, func(w io.Writer) error {
		_, err := io.CopyBuffer(w, io.NewSectionReader(src, 0, size), make([]byte, copyBufSize))
		return err
	})
}
