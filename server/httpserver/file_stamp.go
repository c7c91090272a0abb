package httpserver

import (
	"os"
	"time"
)

// filesEvery is how often files that may change are looked at.
const filesEvery = time.Second

// A fileStamp changes when a file does.
type fileStamp struct {
	size, modified int64
	file           os.FileInfo // for its identity
}

func (s fileStamp) same(as fileStamp) bool {
	return s.size == as.size && s.modified == as.modified && (s.file == nil) == (as.file == nil) &&
		(s.file == nil || os.SameFile(s.file, as.file))
}

// stampsOf returns the stamps of files; that of a missing one is zero.
func stampsOf(files []string) []fileStamp {
	stamps := make([]fileStamp, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil {
			stamps[i] = fileStamp{info.Size(), info.ModTime().UnixNano(), info}
		}
	}
	return stamps
}
