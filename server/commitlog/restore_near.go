package commitlog

import (
	"errors"

	"assetledger/ledger"
	"assetledger/wal"
)

// RestoreNear makes the state from which what follows commit seq is replayed,
// and sets the log to what follows that state: the newest good checkpoint at or
// before seq, else the empty state. Where the front of the log is archived and
// there is no such checkpoint, it is the oldest good one, which is after seq.
// The state remembers no idempotency keys.
func RestoreNear(store CheckpointStore, l Reader, seq uint64) (*ledger.State, wal.Place, error) {
	seqs, err := store.List()
	if err != nil {
		return nil, wal.Place{}, err
	}
	later := 0
	for later < len(seqs) && seqs[later] <= seq {
		later++
	}
	for i := later - 1; i >= 0; i-- {
		if state, place, err := load(store, seqs[i], l, 0); err == nil {
			return state, place, nil
		}
	}
	err = l.Seek(1)
	var archived *wal.ArchivedError
	if err == nil || !errors.As(err, &archived) {
		return ledger.NewState(ledger.Config{}), wal.Place{}, err
	}
	for _, at := range seqs[later:] {
		if state, place, err := load(store, at, l, 0); err == nil {
			return state, place, nil
		}
	}
	return nil, wal.Place{}, err
}
