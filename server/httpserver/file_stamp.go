package httpserver

import (
	"os"
	"time"
)

// filesEvery is the interval at which files are checked for changes.
const filesEvery = time.Second

// A fileStamp identifies a version of a file. It differs after the file has been
// changed or replaced.
type fileStamp struct {
	size, modified int64
	file           os.FileInfo // identifies the file
}

func (s fileStamp) same(as fileStamp) bool {
	return s.size == as.size && s.modified == as.modified && (s.file == nil) == (as.file == nil) &&
		(s.file == nil || os.SameFile(s.file, as.file))
}

// stampsOf returns the stamps of files. That of a missing file is zero.
func stampsOf(files []string) []fileStamp {
	stamps := make([]fileStamp, len(files))
	for i, name := range files {
		if info, err := os.Stat(name); err == nil {
			stamps[i] = fileStamp{info.Size(), info.ModTime().UnixNano(), info}
		}
	}
	return stamps
}
