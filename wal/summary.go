package wal

import (
	"errors"
	"io/fs"
	"math"
	"syscall"
)

// A Summary describes a log by the names, sizes and locks of its files. The
// files are not read.
type Summary struct {
	Segments int
	Bytes    int64  // total size of the segment files; the newest has its full size from the start
	First    uint64 // first commit that is not archived; 0 without segments
	Open     bool   // a process has the log open for writing
}

// Summarize returns the Summary of the log in dir. It omits segments that are moved
// to an archive meanwhile. A missing directory has no segments.
func Summarize(dir string, o Options) (s Summary, err error) {
	fsys := o.withDefaults().FS
	firsts, err := listSeqs(fsys, segmentsPath(dir), segmentExt)
	if err != nil {
		return s, err
	}
	for _, first := range firsts {
		size, err := sizeOf(fsys, join(segmentsPath(dir), segmentName(first)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, err
		}
		if s.Segments == 0 {
			s.First = first
		}
		s.Segments++
		s.Bytes += size
	}
	s.Open, err = logLocked(fsys, dir)
	return s, err
}

func sizeOf(fsys FS, path string) (int64, error) {
	f, err := fsys.Open(path, false)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Size()
}

// DiskFree returns the number of bytes that an unprivileged user can still use on the
// filesystem that contains path, or NaN if it is unknown.
func DiskFree(path string) float64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return math.NaN()
	}
	return float64(s.Bavail) * float64(s.Bsize)
}
