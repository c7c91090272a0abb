package commitlog

import (
	"errors"
	"fmt"

	"assetledger/ledger"
	"assetledger/wal"
)

// A PlacedReader is a Reader that keeps track of its position.
type PlacedReader struct {
	Reader
	At uint64 // first commit of the batch that Next will return; 0 if unknown
	// Text is a buffer for the user of the reader, for example to hold the text of
	// one commit.
	Text []byte

	record ledger.Record
}

// An idle PlacedReader keeps buffers up to these sizes.
const (
	keepText = 64 << 10 // bytes
	keepOps  = 1 << 10  // operations
)

// Rest releases large buffers. It is called before the reader becomes idle.
func (r *PlacedReader) Rest() {
	if cap(r.Text) > keepText {
		r.Text = nil
	}
	if cap(r.record.Tx.Ops) > keepOps {
		r.record = ledger.Record{}
	}
}

var errEnough = errors.New("no more commits are needed")

// Commits calls fn for the commits from..to, in order, until fn returns false. The
// frame and the record are valid only during the call.
func (r *PlacedReader) Commits(from, to uint64, fn func(f *wal.Frame, rec *ledger.Record, seq uint64) bool) error {
	r.At = 0
	if err := r.Seek(from); err != nil { // even if the reader is already there: that segment may have been archived since
		return err
	}
	for from <= to {
		r.At = 0
		f, err := r.Next()
		if err != nil {
			return fmt.Errorf("reading commit %d back: %w", from, err)
		}
		err = f.Each(func(seq uint64, record []byte) error {
			if seq < from {
				return nil
			}
			if seq > to {
				return errEnough
			}
			if err := r.record.Decode(record); err != nil {
				return fmt.Errorf("commit %d in the log can't be read: %w", seq, err)
			}
			from = seq + 1
			if !fn(f, &r.record, seq) {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
		r.At = from
	}
	return nil
}
