package commitlog

import (
	"errors"

	"assetledger/ledger"
	"assetledger/wal"
)

// RestoreNear makes the state from which what follows commit seq, or a time in
// Unix nanoseconds, is replayed, and sets the log to what follows that state: the
// newest good checkpoint at or before both, else the empty state. Where the front
// of the log is archived and there is no such checkpoint, it is the oldest good
// one, which is later. The state remembers that many idempotency keys.
func RestoreNear(store CheckpointStore, l Reader, keys int, seq uint64, time int64) (*ledger.State, wal.Place, error) {
	seqs, err := store.List()
	if err != nil {
		return nil, wal.Place{}, err
	}
	later := 0
	for later < len(seqs) && seqs[later] <= seq {
		later++
	}
	for i := later - 1; i >= 0; i-- {
		if state, place, err := Load(store, seqs[i], l, keys); err == nil && place.Time <= time {
			return state, place, nil
		}
	}
	err = l.Seek(1)
	var archived *wal.ArchivedError
	if err == nil || !errors.As(err, &archived) {
		return ledger.NewState(ledger.Config{IdempotencyKeys: keys}), wal.Place{}, err
	}
	for _, at := range seqs {
		if state, place, err := Load(store, at, l, keys); err == nil {
			return state, place, nil
		}
	}
	return nil, wal.Place{}, err
}
