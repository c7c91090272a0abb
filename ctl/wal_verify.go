package ctl

import (
	"errors"
	"flag"
	"fmt"
	"strconv"

	"assetledger/ledger"
	"assetledger/wal"
)

var walVerifyCommand = command{
	Words:   "wal verify",
	Purpose: "check every byte of a log, and that it gives the state it says",
	Notes: "It recomputes every checksum and the chain of frames, replays every commit and compares the digest of the\n" +
		"state with that in each frame. It stops at the first damage, with exit code 6. A log in use is checked up to\n" +
		"what was durable at the start.",
	Examples: [2]string{"wal verify -dir data", "wal verify -dir data -o json"},
	Setup: func(set *flag.FlagSet) action {
		v := &verification{}
		v.log.declare(set)
		return v.run
	},
}

// A verification replays a log from its first commit.
type verification struct {
	log    logFlags
	state  *ledger.State
	record ledger.Record
	frames uint64
}

func (v *verification) run(c *call) error {
	r, err := v.log.open()
	if err != nil {
		return v.report(c, err)
	}
	defer r.Close()
	v.state = ledger.NewState(ledger.Config{})
	bar := newProgress(c.words)
	end := r.Durable()
	err = eachFrame(r, end, func(f *wal.Frame) error {
		bar.at(f.Last(), end)
		return v.frame(f)
	})
	bar.clear()
	return v.report(c, err)
}

// frame replays one frame and compares the digests.
func (v *verification) frame(f *wal.Frame) error {
	batchSeq := uint32(0)
	err := f.Each(func(seq uint64, record []byte) error {
		batchSeq++
		if err := v.record.Decode(record); err != nil {
			return v.broken(f, "record", err)
		}
		if err := v.state.Replay(&v.record, batchSeq); err != nil {
			return v.broken(f, "replay", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if got := v.state.Digest(); got != f.Digest {
		return v.broken(f, "state digest", fmt.Errorf("the frame has %016x, and replay gives %016x", f.Digest, got))
	}
	v.frames++
	return nil
}

// broken is damage that the checksums do not show.
func (v *verification) broken(f *wal.Frame, rule string, err error) error {
	return &wal.CorruptError{Seq: v.state.Seq(), Rule: rule, Err: err}
}

// report shows the outcome.
func (v *verification) report(c *call, err error) error {
	var damaged *wal.CorruptError
	switch {
	case errors.As(err, &damaged) && c.json():
		fmt.Fprintf(c.out, `{"valid":false,"file":%s,"offset":%d,"last_good_seq":%d,"rule":%s}`+"\n",
			ledger.AppendString(nil, damaged.File), damaged.Offset, damaged.Seq, ledger.AppendString(nil, damaged.Rule))
	case err == nil && c.json():
		fmt.Fprintf(c.out, `{"valid":true,"commits":%d,"frames":%d,"digest":"%016x"}`+"\n", v.state.Seq(), v.frames, v.state.Digest())
	case err == nil:
		t := newTable(c.out)
		t.row("valid", "yes")
		t.row("commits", strconv.FormatUint(v.state.Seq(), 10))
		t.row("frames", strconv.FormatUint(v.frames, 10))
		t.row("digest", fmt.Sprintf("%016x", v.state.Digest()))
		t.flush()
	}
	return err
}
