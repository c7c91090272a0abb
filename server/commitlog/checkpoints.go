package commitlog

import (
	"errors"
	"fmt"
	"log/slog"

	"assetledger/ledger"
	"assetledger/wal"
)

// Restore makes the state of the newest checkpoint that validates wholly and is
// of this log, or the empty state, and sets the log to what follows it. Those
// that can't be used are skipped with a warning. The error is the log's. When
// the log begins after all that can be used, it is a *wal.CorruptError; or it
// wraps ledger.ErrCheckpointWindow, if a checkpoint is good but for its window.
func Restore(store CheckpointStore, l Reader, keys int, log *slog.Logger) (*ledger.State, wal.Place, error) {
	seqs, err := store.List()
	if err != nil {
		return nil, wal.Place{}, err
	}
	var narrow error // why the newest good checkpoint has too few keys
	for i := len(seqs) - 1; i >= 0; i-- {
		state, place, err := Load(store, seqs[i], l, keys)
		if err == nil {
			log.Info("started from a checkpoint", "file", store.Name(seqs[i]), "seq", place.Seq)
			return state, place, nil
		}
		if _, damage := errors.AsType[*wal.CorruptError](err); damage || errors.Is(err, wal.ErrReplaced) { // of the log: an older checkpoint would lead there too
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

// Load reads one checkpoint, and sets the log to what follows it.
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
		err = fmt.Errorf("it is of the log %x, and this is the log %s", info.LogID, l.LogID())
	case info.Seq != seq:
		err = fmt.Errorf("it holds the state after commit %d, and its name says %d", info.Seq, seq)
	default:
		err = l.SeekAfter(place)
	}
	return state, place, err
}

// PlaceOf is the place in the log at which a checkpoint stands.
func PlaceOf(info *ledger.CheckpointInfo) wal.Place {
	return wal.Place{Seq: info.Seq, Chain: info.Chain, Time: info.Time, Digest: info.Digest}
}
