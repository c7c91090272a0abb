package ctl

import (
	"errors"
	"fmt"
	"io/fs"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// readCheckpoint reads and checks a whole checkpoint. Damage is a
// *wal.CorruptError; a checkpoint that has been removed is fs.ErrNotExist.
func readCheckpoint(dir string, seq uint64, keys int) (*ledger.State, wal.Place, error) {
	f, err := wal.OpenCheckpoint(dir, seq, wal.Options{})
	if err != nil {
		return nil, wal.Place{}, err
	}
	defer f.Close()
	state, info, err := ledger.ReadCheckpoint(f, ledger.Config{IdempotencyKeys: keys})
	if err == nil && info.Seq != seq {
		err = fmt.Errorf("it holds the state after commit %d", info.Seq)
	}
	if errors.Is(err, ledger.ErrCheckpointWindow) {
		return nil, wal.Place{}, fmt.Errorf("%s: %w", wal.CheckpointPath(dir, seq), err)
	}
	if err != nil {
		return nil, wal.Place{}, &wal.CorruptError{File: wal.CheckpointPath(dir, seq), Seq: seq, Rule: "checkpoint", Err: err}
	}
	return state, commitlog.PlaceOf(&info), nil
}

// readCheckpoints reads all checkpoints of a log up to commit end. It returns the
// place of each, and the state of the oldest.
func readCheckpoints(dir string, end uint64) (places []wal.Place, oldest *ledger.State, err error) {
	seqs, err := wal.ListCheckpoints(dir, wal.Options{})
	if err != nil {
		return nil, nil, err
	}
	for _, seq := range seqs {
		if seq > end {
			break
		}
		state, place, err := readCheckpoint(dir, seq, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if places = append(places, place); oldest == nil {
			oldest = state
		}
	}
	return places, oldest, nil
}
