package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
)

// An ArchiveReport lists what one run of Archive moved.
type ArchiveReport struct {
	Moved []string // names of the moved segments
	Below uint64   // every moved segment ends before this commit
	Held  string   // name of the attached reader that made Below lower than requested; "" if none did
}

// Archive moves segments of the log in dir to another directory, oldest first. It moves
// those that end before a certain commit, whose global_seq is in the parameter below.
// That must be the commit of the older of two valid checkpoints: a daemon that starts
// from that checkpoint needs the segment that contains its commit, and all later ones.
// The target directory must be empty or missing, or have segments of the same log.
// Archive works while daemons run. Commits that an attached reader has not applied yet
// stay, and so does the segment with the last commit that it applied.
//
// Each segment is checked first: headers, bodies, and the link to the next segment.
// If the target is on another filesystem, the segment is copied, synced, checked
// again, and then removed. An interrupted move is completed by the next run.
func Archive(dir, to string, below uint64, fsys FS) (report ArchiveReport, err error) {
	if fsys == nil {
		fsys = OS{}
	}
	to = filepath.Clean(to) // join also cleans paths: check the path that will be written
	if err := apartFrom(fsys, dir, to); err != nil {
		return report, err
	}
	end := join(to, endName)
	if log, err := fsys.Same(end, end); err != nil { // true if END exists
		return report, err
	} else if log {
		return report, fmt.Errorf("%w: %s is the directory of another log", ErrSameDir, to)
	}
	if seqs, err := listSeqs(fsys, to, segmentExt); err != nil {
		return report, err
	} else if len(seqs) == 0 {
		if err := noOthers(fsys, to, lockName, spareName); err != nil {
			return report, err
		}
	}
	if err := fsys.Mkdir(to); err != nil {
		return report, err
	}
	if err := apartFrom(fsys, dir, to); err != nil { // now that the directory exists
		return report, err
	}
	if err := fsys.SyncDir(filepath.Dir(filepath.Clean(to))); err != nil && !errors.Is(err, fs.ErrPermission) {
		return report, err
	}
	lock, err := lockPatiently(fsys, join(to, lockName))
	if errors.Is(err, ErrLocked) {
		err = fmt.Errorf("another archive run is using %s: %w", to, err)
	}
	if err != nil {
		return report, err
	}
	defer lock.Close()
	// The lock also reveals an alias of the same directory that has another
	// identity, such as a second mount of a network filesystem.
	if held, err := fsys.Locked(join(segmentsPath(dir), lockName)); err == nil && held {
		return report, fmt.Errorf("%w: a lock in %s is also in %s", ErrSameDir, to, segmentsPath(dir))
	}
	list, err := readSegments(fsys, dir)
	if err != nil {
		return report, err
	}
	if err := noLinks(fsys, to, segmentExt); err != nil {
		return report, err
	}
	if err := sameLog(fsys, list, to); err != nil {
		return report, err
	}
	if report.Below, report.Held, err = neededFrom(fsys, dir, below); err != nil {
		return report, err
	}
	for i := 0; i+1 < len(list) && list[i+1].head.First <= report.Below; i++ {
		if err := checkSealed(fsys, &list[i], &list[i+1]); err != nil {
			return report, err
		}
		if err := moveSegment(fsys, &list[i], &list[i+1], to); err != nil {
			return report, err
		}
		report.Moved = append(report.Moved, list[i].head.name())
	}
	return report, nil
}

// neededFrom returns the lower of two commits: the one in the parameter below, and the
// position of the slowest attached reader. It also returns that reader's name if its
// position is the lower one.
func neededFrom(fsys FS, dir string, below uint64) (uint64, string, error) {
	readers, err := ListReaders(dir, Options{FS: fsys})
	held := ""
	for _, r := range readers {
		if r.Seq < below {
			below, held = r.Seq, r.Name
		}
	}
	return below, held, err
}

// sameLog returns an error if the oldest segment in the target directory is damaged or
// belongs to another log.
func sameLog(fsys FS, list []segmentFile, to string) error {
	there, err := listSeqs(fsys, to, segmentExt)
	if err != nil || len(there) == 0 || len(list) == 0 {
		return err
	}
	path := join(to, segmentName(there[0]))
	if head, err := checkSegment(fsys, path, there[0]); err != nil || head.ID != list[0].head.ID {
		return otherLog(path)
	}
	return nil
}

func otherLog(path string) error {
	return fmt.Errorf("wal: %s is a segment of another log, or of another history of this log; give another directory", path)
}

// checkSealed checks a whole segment, and that the next segment continues it.
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

// moveSegment moves one segment. Before the segment is removed from its old
// directory, it is in both, durable and checked. If the target already has a file of
// the same name, an interrupted run left it, or it belongs to another log.
func moveSegment(fsys FS, s, next *segmentFile, to string) error {
	target := segmentFile{path: join(to, s.head.name()), head: s.head}
	head, err := checkSegment(fsys, target.path, s.head.First)
	there := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = putSegment(fsys, s, to)
	case err == nil && head != s.head:
		err = otherLog(target.path)
	}
	if err != nil {
		return err
	}
	if err := checkSealed(fsys, &target, next); err != nil {
		if bad, ok := errors.AsType[*CorruptError](err); ok && there && bad.Rule == ruleLink {
			err = otherLog(target.path) // this log's own segment has passed the same check
		}
		return err
	}
	if err := fsys.SyncDir(to); err != nil {
		return err
	}
	// The removal loses nothing if the second name is in another directory and is
	// not a symbolic link.
	if err := errors.Join(apart(fsys, filepath.Dir(filepath.Dir(s.path)), to), notLink(fsys, target.path)); err != nil {
		return err
	}
	if err := fsys.Remove(s.path); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(s.path))
}

// putSegment links a segment into the other directory. Where that is not possible,
// because the directory is on another filesystem or on one without hard links,
// putSegment copies the segment. It does not rename, because a power failure may then
// leave neither name.
func putSegment(fsys FS, s *segmentFile, to string) error {
	err := fsys.Link(s.path, join(to, s.head.name()))
	if no, ok := errors.AsType[syscall.Errno](err); !ok || !slices.Contains(cantLink, no) {
		return err
	}
	src, err := fsys.Open(s.path, false)
	if err != nil {
		return err
	}
	defer src.Close()
	return copyNamed(fsys, src, to, s.head.name())
}

// cantLink lists the errors of link(2) that mean that a link is impossible or not
// permitted. EPERM also stands for filesystems without hard links.
var cantLink = []syscall.Errno{syscall.EXDEV, syscall.EPERM, syscall.EACCES, syscall.EMLINK, syscall.ENOSYS, syscall.EOPNOTSUPP}

// copyNamed durably copies a file into a directory. The copy gets its name last.
func copyNamed(fsys FS, src File, dir, name string) error {
	size, err := src.Size()
	if err != nil {
		return err
	}
	return writeNamed(fsys, dir, name, func(w io.Writer) error {
		_, err := io.CopyBuffer(w, io.NewSectionReader(src, 0, size), make([]byte, max(1, min(copyBufSize, size))))
		return err
	})
}
