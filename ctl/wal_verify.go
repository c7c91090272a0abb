package ctl

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// wal stat, wal verify and wal dump read a log's directory directly, with or without a
// running write daemon. They see only durable commits, and change nothing.

type logFlags struct{ dir string }

// defaultDir is the default directory of the commands that work on a log, and of ledgerctl
// dev, which `make run` calls.
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
// if it is damaged, a *wal.MismatchError if id is not zero and is not the id of its log, and
// fs.ErrNotExist if it was removed.
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

// stat shows the segments. If it stops at damage, it shows the segments before the damage.
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

var walVerifyCommand = command{
	Words:   "wal verify",
	Args:    "[DIR]",
	Purpose: "check every byte of a log, and the digest of its state",
	Notes: "It recomputes every checksum and the chain of frames, replays every commit, compares the digest of the\n" +
		"state with that in each frame, and checks all checkpoints. If segments were archived, it begins with the\n" +
		"oldest checkpoint. It stops at the first damage, with exit code 6. A log in use is checked up to what\n" +
		"was durable when the command started.",
	Examples: [2]string{"wal verify data", "wal verify data -o json"},
	Setup:    setup((*logFlags).verify),
}

// A verification replays a log from its first commit, or from its oldest checkpoint if
// that commit is archived. At every later checkpoint, the replayed state must equal that of
// the checkpoint.
type verification struct {
	log    logFlags
	state  *ledger.State
	replay *commitlog.Replayer
	places []wal.Place // places of the checkpoints that have not been reached yet
}

func (l *logFlags) verify(c *call) error {
	v := &verification{log: *l}
	bar := newProgress(c.words)
	report, err := v.verify(bar)
	bar.clear()
	err = l.explain(err)
	damaged, isDamaged := errors.AsType[*wal.CorruptError](err)
	switch {
	case isDamaged && c.json():
		c.showFacts(fact{"valid", false}, fact{"file", damaged.File}, fact{"offset", damaged.Offset},
			fact{"last_good_seq", damaged.Seq}, fact{"rule", damaged.Rule})
	case err == nil:
		facts := []fact{{"valid", true}, {"log_id", report.ID.String()}, {"commits", report.Commits}, {"frames", report.Frames},
			{"segments", report.Segments}, {"bytes", report.Bytes}}
		if report.Torn > 0 || c.json() {
			facts = append(facts, fact{"torn_bytes", report.Torn}) // of a batch that was never acknowledged
		}
		c.showFacts(append(facts, fact{"digest", v.digest()})...)
	}
	return err
}

// archiveTries is the maximum number of walks if segments are archived in the meantime.
const archiveTries = 20

func (v *verification) verify(bar *progress) (report wal.VerifyReport, err error) {
	for range archiveTries {
		report, err = wal.Verify(v.log.dir, wal.VerifyOptions{
			OnSegment: v.begin,
			OnFrame: func(f *wal.FrameInfo) error {
				bar.say("commit %d is good", f.Frame.Last())
				return v.frame(f)
			},
		})
		if err == nil {
			err = v.complete(&report)
		}
		if !errors.Is(err, wal.ErrArchiving) {
			break
		}
		*v = verification{log: v.log}
	}
	return report, err
}

// begin reads all checkpoints up to the durable end, and chooses the initial state, when
// the first segment is known.
func (v *verification) begin(s *wal.SegmentInfo) error {
	if v.state != nil {
		return nil
	}
	end := uint64(math.MaxUint64) // without END, all checkpoints count
	if r, err := wal.OpenReader(v.log.dir, wal.Options{}); err == nil {
		end = r.Durable()
		r.Close()
	} else if !errors.Is(err, wal.ErrNoLog) {
		return err
	}
	seqs, err := wal.ListCheckpoints(v.log.dir, wal.Options{})
	for _, seq := range seqs {
		if seq > end {
			break
		}
		state, place, err := readCheckpoint(v.log.dir, seq, s.ID, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if other, ok := errors.AsType[*wal.MismatchError](err); ok {
			err = foreign(v.log.dir, 0, other)
		}
		if err != nil {
			return err
		}
		if v.places = append(v.places, place); v.state == nil {
			v.state = state
		}
	}
	switch {
	case err != nil:
		return err
	case s.Ordinal == 0:
		v.state = ledger.NewState(ledger.Config{}) // no segment is archived
	case v.state == nil || v.state.Seq() < s.First:
		return &wal.CorruptError{File: s.File, Rule: "front of the log missing", Err: errors.New("no checkpoint replaces it")}
	}
	v.replay = commitlog.NewReplayer(v.state)
	return nil
}

// complete checks that the replay reached the end of the log and all checkpoints.
func (v *verification) complete(r *wal.VerifyReport) error {
	if len(v.places) > 0 && (!r.Live || v.places[0].Seq <= r.LastSeq) { // a running writer may have appended beyond the end of this walk
		return v.misfit(wal.Place{})
	}
	if v.state == nil {
		v.state = ledger.NewState(ledger.Config{})
	}
	if seq := v.state.Seq(); seq != r.LastSeq || r.HasEnd && seq < r.End {
		return exitf(exitDamaged, "replay reached only commit %d, but the log reaches %d: keep a copy of the directory", seq, max(r.LastSeq, r.End))
	}
	return nil
}

// frame replays one frame and compares the digests. A difference is damage that the
// checksums did not detect.
func (v *verification) frame(f *wal.FrameInfo) error {
	if f.Seal {
		return nil
	}
	if len(v.places) > 0 && f.Frame.Last() == v.places[0].Seq {
		f.Frame.Chain = f.CRC
		if got := f.Frame.Place(); got != v.places[0] {
			return v.misfit(got)
		}
		v.places = v.places[1:]
	}
	if f.Frame.Last() <= v.state.Seq() {
		return nil // the initial state includes this frame
	}
	err := v.replay.ReplayFrame(&f.Frame)
	if differs, ok := errors.AsType[*commitlog.ReplayError](err); ok {
		return &wal.CorruptError{File: f.File, Offset: f.Offset, Seq: v.state.Seq(), Rule: "replay", Err: differs.Err}
	}
	return err
}

// misfit returns the error for the next checkpoint, whose place differs from `got`, the
// place in the log.
func (v *verification) misfit(got wal.Place) error {
	other, _ := errors.AsType[*wal.MismatchError](wal.Mismatch(got, v.places[0]))
	return foreign(v.log.dir, v.state.Seq(), other)
}

func (v *verification) digest() string { return fmt.Sprintf("%016x", v.state.Digest()) }
