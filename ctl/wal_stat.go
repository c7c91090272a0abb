package ctl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"assetledger/ledger"
)

var walStatCommand = command{
	Words:    "wal stat",
	Purpose:  "list the segments of a log",
	Notes:    "It reads no commits: ledgerctl wal verify checks them.",
	Examples: [2]string{"wal stat -dir data", "wal stat -dir data -o json"},
	Setup: func(set *flag.FlagSet) action {
		l := &logFlags{}
		l.declare(set)
		return l.stat
	},
}

// A segment is one file of a log.
type segment struct {
	path        string
	first, last uint64 // global_seqs; last is below first while it has no commit
	size        int64  // bytes, all of them allocated at its birth
}

func (l *logFlags) stat(c *call) error {
	r, err := l.open()
	if err != nil {
		return err
	}
	end := r.Durable()
	r.Close()
	segments, err := listSegments(l.dir, end)
	if err != nil {
		return err
	}
	t := newTable(c.out, text("segment"), numeric("first_seq"), numeric("last_seq"), numeric("commits"), numeric("bytes"))
	for _, s := range segments {
		if c.json() {
			fmt.Fprintf(c.out, `{"segment":%s,"first_seq":%d,"last_seq":%d,"commits":%d,"bytes":%d}`+"\n",
				ledger.AppendString(nil, s.path), s.first, s.last, s.last+1-s.first, s.size)
			continue
		}
		t.row(s.path, strconv.FormatUint(s.first, 10), strconv.FormatUint(s.last, 10),
			strconv.FormatUint(s.last+1-s.first, 10), strconv.FormatInt(s.size, 10))
	}
	if !c.json() {
		t.flush()
	}
	return nil
}

// listSegments lists a log's segments in order; end is its last durable commit.
func listSegments(dir string, end uint64) ([]segment, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "wal", "*.seg")) // sorted, and names have one length
	if err != nil {
		return nil, err
	}
	var list []segment
	for _, path := range paths {
		name := filepath.Base(path)
		first, err := strconv.ParseUint(name[:len(name)-len(".seg")], 10, 64)
		if err != nil {
			continue // not a name of ours
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if n := len(list); n > 0 {
			list[n-1].last = first - 1
		}
		list = append(list, segment{path: path, first: first, last: max(end, first-1), size: info.Size()})
	}
	return list, nil
}
