package ctl

import (
	"flag"
	"fmt"
	"time"

	"assetledger/ledger"
	"assetledger/wal"
)

var walStatCommand = command{
	Words:    "wal stat",
	Args:     "[DIR]",
	List:     true,
	Purpose:  "list the segments of a log",
	Notes:    "It reads the headers of frames only: ledgerctl wal verify checks the rest.",
	Examples: [2]string{"wal stat data", "wal stat data -o json"},
	Setup: func(set *flag.FlagSet) action {
		l := &logFlags{}
		l.declare(set)
		return l.stat
	},
}

// stat shows what was counted, also when the count ends at damage.
func (l *logFlags) stat(c *call) error {
	segments, _, err := wal.Stat(l.dir, nil)
	err = l.explain(err)
	if err != nil && exitCode(err) != exitDamaged {
		return err
	}
	t := c.newTable(text("segment"), numeric("first_seq"), numeric("last_seq"), numeric("commits"), numeric("frames"),
		numeric("used_bytes"), numeric("bytes"), text("sealed"), text("last_commit_at"))
	for i := range segments {
		s := &segments[i]
		if c.json() {
			fmt.Fprintf(c.out, `{"segment":%s,"first_seq":%d,"last_seq":%d,"commits":%d,"frames":%d,`,
				ledger.AppendString(nil, s.File), s.First, s.Last, s.Commits, s.Frames)
			fmt.Fprintf(c.out, `"used_bytes":%d,"bytes":%d,"sealed":%t,"last_commit_at":%s}`+"\n",
				s.Used, s.Size, s.Sealed, stamp(s, `"`, "null"))
			continue
		}
		t.row(s.File, s.First, s.Last, s.Commits, s.Frames, s.Used, s.Size, s.Sealed, stamp(s, "", "-"))
	}
	if !c.json() {
		t.flush()
	}
	return err
}

// stamp returns the time of a segment's last commit in quotes, or none.
func stamp(s *wal.SegmentStat, quote, none string) string {
	if s.Frames == 0 {
		return none
	}
	return quote + time.Unix(0, s.LastTime).UTC().Format("2006-01-02T15:04:05.000000000Z") + quote
}
