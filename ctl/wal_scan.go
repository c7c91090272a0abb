package ctl

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// wal stat and wal verify read a log's directory directly, with or without a running
// write daemon. They see only durable commits, and change nothing.

type logFlags struct{ dir string }

// defaultDir is the default directory of ledgerctl dev, and so of make run.
const defaultDir = "ledger-data"

func (l *logFlags) declare(set *flag.FlagSet) {
	set.StringVar(&l.dir, "dir", defaultDir, "`DIR` of the log, as given to ledger-write; the same as the argument DIR")
}

func (l *logFlags) explain(err error) error {
	if at, serr := os.Stat(l.dir); err != nil && serr == nil && !at.IsDir() {
		return fmt.Errorf("there is no log in %s: it is a file, not a directory", l.dir)
	}
	if errors.Is(err, wal.ErrNoLog) {
		return fmt.Errorf("there is no log in %s: name the directory of ledger-write, as DIR or in LEDGER_DIR", l.dir)
	}
	return err
}

func (l *logFlags) present() error { return l.explain(wal.CheckPresent(l.dir, wal.Options{})) }

// readCheckpoint reads and checks a whole checkpoint. The error is a *wal.CorruptError
// if it is damaged, a *wal.MismatchError if it does not belong to the log id, unless id is
// zero, and fs.ErrNotExist if it was removed.
func readCheckpoint(dir string, seq uint64, id wal.LogID, keys int) (*ledger.State, wal.Place, error) {
	f, err := wal.OpenCheckpoint(dir, seq, wal.Options{})
	if err != nil {
		return nil, wal.Place{}, err
	}
	defer f.Close()
	state, info, err := ledger.ReadCheckpoint(f, ledger.Config{IdempotencyKeys: keys})
	if err == nil && info.Seq != seq {
		err = fmt.Errorf("it has the state after commit %d", info.Seq)
	}
	if errors.Is(err, ledger.ErrCheckpointWindow) {
		return nil, wal.Place{}, fmt.Errorf("%s: %w", wal.CheckpointPath(dir, seq), err)
	}
	if err != nil {
		return nil, wal.Place{}, &wal.CorruptError{File: wal.CheckpointPath(dir, seq), Seq: seq, Rule: "checkpoint", Err: err}
	}
	if id != (wal.LogID{}) && id != info.LogID {
		return nil, wal.Place{}, &wal.MismatchError{Seq: seq, What: fmt.Sprintf("it has the log id %s, and the log has %s", wal.LogID(info.LogID), id)}
	}
	return state, commitlog.PlaceOf(&info), nil
}

// foreign reports a checkpoint of another log as damage.
func foreign(dir string, after uint64, err *wal.MismatchError) error {
	return &wal.CorruptError{File: wal.CheckpointPath(dir, err.Seq), Seq: after, Rule: "checkpoint", Err: err}
}

var walStatCommand = command{
	Words:    "wal stat",
	Args:     "[DIR]",
	List:     true,
	Purpose:  "list the segments of a log",
	Notes:    "It reads only the headers of frames. ledgerctl wal verify checks the rest.",
	Examples: [2]string{"wal stat data", "wal stat data -o json"},
	Setup:    setup((*logFlags).stat),
}

// stat shows the segments. If it stops at damage, it shows those before.
func (l *logFlags) stat(c *call) error {
	segments, _, err := wal.Stat(l.dir, nil)
	err = l.explain(err)
	if err != nil && exitCode(err) != exitDamaged {
		return err
	}
	row, end := c.list("segment first_seq last_seq commits frames used_bytes bytes sealed last_commit_at")
	for i := range segments {
		s := &segments[i]
		var last any
		if s.Frames > 0 {
			last = time.Unix(0, s.LastTime).UTC().Format("2006-01-02T15:04:05.000000000Z")
		}
		row(s.File, s.First, s.Last, s.Commits, s.Frames, s.Used, s.Size, s.Sealed, last)
	}
	end()
	return err
}
