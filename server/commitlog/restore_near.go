package commitlog

import (
	"errors"

	"assetledger/ledger"
	"assetledger/wal"
)

// RestoreNear returns a state from which the log can be replayed up to commit seq or to a
// time in Unix nanoseconds, and positions the log after that state. It is the state of
// the newest valid checkpoint that is at or before both. If there is none, it is the
// empty state or, if the front of the log is archived, the state of the oldest valid
// checkpoint, which is later than requested. The argument keys is the number of
// idempotency keys that the state remembers.
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
