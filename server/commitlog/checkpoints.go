package commitlog

import (
	"errors"
	"fmt"
	"log/slog"

	"assetledger/ledger"
	"assetledger/wal"
)

// Restore returns the state of the newest checkpoint that is valid and belongs to
// this log, or the empty state if there is none. It positions the log after that
// state. Checkpoints that can't be used are skipped with a warning. Errors come from
// listing the checkpoints, or from the log. If the front of the log is archived and no
// checkpoint can be used, the error is a *wal.CorruptError. If one of these checkpoints
// is valid but holds too few idempotency keys, the error wraps
// ledger.ErrCheckpointWindow instead.
func Restore(store CheckpointStore, l Reader, keys int, log *slog.Logger) (*ledger.State, wal.Place, error) {
	seqs, err := store.List()
	if err != nil {
		return nil, wal.Place{}, err
	}
	var narrow error // error for the newest checkpoint that is valid, except that it holds too few keys
	for i := len(seqs) - 1; i >= 0; i-- {
		state, place, err := Load(store, seqs[i], l, keys)
		if err == nil {
			log.Info("started from a checkpoint", "file", store.Name(seqs[i]), "seq", place.Seq)
			return state, place, nil
		}
		if _, damage := errors.AsType[*wal.CorruptError](err); damage || errors.Is(err, wal.ErrReplaced) { // the log is at fault, so an older checkpoint would lead to the same error
			return nil, place, err
		}
		if narrow == nil && errors.Is(err, ledger.ErrCheckpointWindow) {
			narrow = err
		}
		log.Warn("skipping a checkpoint", "file", store.Name(seqs[i]), "reason", err)
	}
	err = l.Seek(1)
	archived, late := errors.AsType[*wal.ArchivedError](err)
	switch {
	case !late:
	case narrow != nil:
		err = fmt.Errorf("-idempotency-keys is %d: %w; the log before commit %d is archived, so the keys can't be read again: "+
			"start with the smaller number, or move the archived segments back", keys, narrow, archived.First)
	default:
		err = &wal.CorruptError{File: store.Name(archived.First), Rule: "front of the log missing",
			Err: fmt.Errorf("the log begins at commit %d, and none of the %d checkpoints can be used", archived.First, len(seqs))}
	}
	return ledger.NewState(ledger.Config{IdempotencyKeys: keys}), wal.Place{}, err
}

// Load reads one checkpoint, and positions the log after it. The argument keys is the
// number of idempotency keys that the state must hold. Load returns the errors of the
// store, of ledger.ReadCheckpoint and of Reader.SeekAfter, and an error if the checkpoint
// belongs to another log or commit.
func Load(store CheckpointStore, seq uint64, l Reader, keys int) (*ledger.State, wal.Place, error) {
	f, err := store.Open(seq)
	if err != nil {
		return nil, wal.Place{}, err
	}
	defer f.Close()
	state, info, err := ledger.ReadCheckpoint(f, ledger.Config{IdempotencyKeys: keys})
	if err != nil {
		return nil, wal.Place{}, err
	}
	place := PlaceOf(&info)
	switch {
	case info.LogID != l.LogID():
		err = fmt.Errorf("it belongs to the log %x, but this is the log %s", info.LogID, l.LogID())
	case info.Seq != seq:
		err = fmt.Errorf("it contains the state after commit %d, but its name says %d", info.Seq, seq)
	default:
		err = l.SeekAfter(place)
	}
	return state, place, err
}

// PlaceOf returns the place in the log that a checkpoint follows.
func PlaceOf(info *ledger.CheckpointInfo) wal.Place {
	return wal.Place{Seq: info.Seq, Chain: info.Chain, Time: info.Time, Digest: info.Digest}
}
