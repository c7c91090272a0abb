package ctl

import (
	"errors"
	"flag"
	"fmt"
	"math"

	"assetledger/ledger"
	"assetledger/wal"
)

var walVerifyCommand = command{
	Words:   "wal verify",
	Args:    "[DIR]",
	Purpose: "check every byte of a log, and that it gives the state it says",
	Notes: "It recomputes every checksum and the chain of frames, replays every commit and compares the digest of the\n" +
		"state with that in each frame, and checks all checkpoints. Where segments were archived it begins with the\n" +
		"oldest checkpoint. It stops at the first damage, with exit code 6. A log in use is checked up to\n" +
		"what was durable at the start.",
	Examples: [2]string{"wal verify data", "wal verify data -o json"},
	Setup: func(set *flag.FlagSet) action {
		v := &verification{}
		v.log.declare(set)
		return v.run
	},
}

// A verification replays a log from its first commit or, if that was archived, its
// oldest checkpoint. The state must equal that of every checkpoint on the way.
type verification struct {
	log    logFlags
	state  *ledger.State
	record ledger.Record
	places []wal.Place // of checkpoints that were not reached yet
	first  uint64      // commit that the log begins with
}

func (v *verification) run(c *call) error {
	bar := newProgress(c.words)
	report, err := v.verify(bar)
	bar.clear()
	return v.show(c, &report, v.log.explain(err))
}

// archiveTries limits how often a walk restarts when segments were archived meanwhile.
const archiveTries = 20

func (v *verification) verify(bar *progress) (report wal.VerifyReport, err error) {
	for range archiveTries {
		report, err = v.walk(bar)
		if !errors.Is(err, wal.ErrArchiving) {
			break
		}
		*v = verification{log: v.log}
	}
	return report, err
}

func (v *verification) walk(bar *progress) (wal.VerifyReport, error) {
	report, err := wal.Verify(v.log.dir, wal.VerifyOptions{
		OnSegment: v.begin,
		OnFrame: func(f *wal.FrameInfo) error {
			bar.say("commit %d is good", f.Frame.Last())
			return v.frame(f)
		},
	})
	if err == nil {
		err = v.complete(&report)
	}
	return report, err
}

// begin chooses the state to begin with, at the first segment.
func (v *verification) begin(s *wal.SegmentInfo) error {
	if v.state != nil {
		return nil
	}
	end, err := durableEnd(v.log.dir)
	if err != nil {
		return err
	}
	v.state, v.first = ledger.NewState(ledger.Config{}), s.First
	places, oldest, err := readCheckpoints(v.log.dir, end)
	if err != nil {
		return err
	}
	if v.places = places; s.Ordinal > 0 {
		if oldest == nil || oldest.Seq() < s.First {
			return &wal.CorruptError{File: s.File, Rule: "front of the log missing", Err: errors.New("no checkpoint stands for it")}
		}
		v.state = oldest
	}
	return nil
}

// durableEnd returns the last commit whose checkpoints count: without END, any.
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

// complete checks that nothing durable was skipped.
func (v *verification) complete(r *wal.VerifyReport) error {
	if len(v.places) > 0 && (!r.Live || v.places[0].Seq <= r.LastSeq) { // beside a writer, more were made meanwhile
		return exitf(exitDamaged, "no frame of the log ends at commit %d, where there is a checkpoint", v.places[0].Seq)
	}
	if v.state == nil {
		v.state = ledger.NewState(ledger.Config{})
	}
	if seq := v.state.Seq(); seq != r.LastSeq || r.HasEnd && seq < r.End {
		return exitf(exitDamaged, "replay came to commit %d only, and the log to %d: keep a copy of the directory", seq, max(r.LastSeq, r.End))
	}
	return nil
}

// frame replays one frame and compares the digests. Differences are damage that the
// checksums do not show.
func (v *verification) frame(f *wal.FrameInfo) error {
	if f.Seal {
		return nil
	}
	broken := func(rule string, err error) error {
		return &wal.CorruptError{File: f.File, Offset: f.Offset, Seq: v.state.Seq(), Rule: rule, Err: err}
	}
	if len(v.places) > 0 && f.Frame.Last() == v.places[0].Seq {
		f.Frame.Chain = f.CRC
		if got := f.Frame.Place(); got != v.places[0] {
			return broken("checkpoint", fmt.Errorf("the checkpoint is of %+v, the frame of %+v", v.places[0], got))
		}
		v.places = v.places[1:]
	}
	if f.Frame.Last() <= v.state.Seq() {
		return nil // the state begins later
	}
	batchSeq := uint32(0)
	err := f.Frame.Each(func(seq uint64, record []byte) error {
		batchSeq++
		if err := v.record.Decode(record); errors.Is(err, ledger.ErrNewer) {
			return fmt.Errorf("commit %d: %w", seq, err)
		} else if err != nil {
			return broken("record", err)
		}
		if err := v.state.Replay(&v.record, f.Frame.Time, batchSeq); err != nil {
			return broken("replay", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if got := v.state.Digest(); got != f.Frame.Digest {
		return broken("state digest", fmt.Errorf("the frame has %016x, and replay gives %016x", f.Frame.Digest, got))
	}
	return nil
}

func (v *verification) show(c *call, r *wal.VerifyReport, err error) error {
	var damaged *wal.CorruptError
	switch {
	case errors.As(err, &damaged) && c.json():
		fmt.Fprintf(c.out, `{"valid":false,"file":%s,"offset":%d,"last_good_seq":%d,"rule":%s}`+"\n",
			ledger.AppendString(nil, damaged.File), damaged.Offset, damaged.Seq, ledger.AppendString(nil, damaged.Rule))
	case err != nil:
	case c.json():
		fmt.Fprintf(c.out, `{"valid":true,"log_id":"%v","commits":%d,"frames":%d,"segments":%d,"bytes":%d,"torn_bytes":%d,"digest":"%016x"}`+"\n",
			r.ID, r.Commits, r.Frames, r.Segments, r.Bytes, r.Torn, v.state.Digest())
	default:
		t := c.newTable()
		t.row("valid", "yes")
		t.row("log_id", r.ID)
		t.row("commits", r.Commits)
		t.row("frames", r.Frames)
		t.row("segments", r.Segments)
		t.row("bytes", r.Bytes)
		if r.Torn > 0 {
			t.row("torn_bytes", fmt.Sprint(r.Torn, " (of a batch that was never acknowledged)"))
		}
		t.row("digest", fmt.Sprintf("%016x", v.state.Digest()))
		t.flush()
	}
	return err
}
