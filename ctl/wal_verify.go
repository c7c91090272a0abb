package ctl

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

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
// that commit is archived. At every later checkpoint, the states must be equal.
type verification struct {
	log    logFlags
	state  *ledger.State
	replay *commitlog.Replayer
	places []wal.Place // places of the checkpoints that were not reached yet
}

func (l *logFlags) verify(c *call) error {
	v := &verification{log: *l}
	bar := newProgress(c.words)
	report, err := v.verify(bar)
	bar.clear()
	return v.show(c, &report, l.explain(err))
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
	end, err := durableEnd(v.log.dir)
	if err != nil {
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

// durableEnd returns the durable end. Later checkpoints are ignored. Without END, it returns
// the maximum, so all checkpoints count.
func durableEnd(dir string) (uint64, error) {
	r, err := wal.OpenReader(dir, wal.Options{})
	if errors.Is(err, wal.ErrNoLog) {
		return math.MaxUint64, nil
	}
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return r.Durable(), nil
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

// misfit returns the error for the next checkpoint, which differs from got, the place in
// the log.
func (v *verification) misfit(got wal.Place) error {
	other, _ := errors.AsType[*wal.MismatchError](wal.Mismatch(got, v.places[0]))
	return foreign(v.log.dir, v.state.Seq(), other)
}

func (v *verification) digest() string { return fmt.Sprintf("%016x", v.state.Digest()) }

func (v *verification) show(c *call, r *wal.VerifyReport, err error) error {
	damaged, isDamaged := errors.AsType[*wal.CorruptError](err)
	switch {
	case isDamaged && c.json():
		c.showFacts(fact{"valid", false}, fact{"file", damaged.File}, fact{"offset", damaged.Offset},
			fact{"last_good_seq", damaged.Seq}, fact{"rule", damaged.Rule})
	case err == nil:
		facts := []fact{{"valid", true}, {"log_id", r.ID.String()}, {"commits", r.Commits}, {"frames", r.Frames}, {"segments", r.Segments}, {"bytes", r.Bytes}}
		if r.Torn > 0 || c.json() {
			facts = append(facts, fact{"torn_bytes", r.Torn}) // of a batch that was never acknowledged
		}
		c.showFacts(append(facts, fact{"digest", v.digest()})...)
	}
	return err
}
