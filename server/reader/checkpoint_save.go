package reader

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/reader/history"
	"assetledger/wal"
)

// A saver makes checkpoints for the tailer:
//
//	enough commits → copy the state in memory, between two batches → write it to disk, in the background
//
// While the state is copied, the tailer applies nothing. Reads reflect the commit
// where it stopped, and their freshness says so. The write daemon is not affected.
// The copy takes about 40 ns and 7 bytes for each stack. To keep it out of the 99th
// percentile of waits for freshness, it takes at most one part in saverShare of the
// tailer's time. No read waits until the checkpoint is on disk.
type saver struct {
	store commitlog.CheckpointStore
	every uint64 // commits between two checkpoints; 0 to make none
	logID wal.LogID
	log   *slog.Logger
	meter *saverMeter
	index *history.Index // flushed before a checkpoint is written, so that its files reach as far; nil for none

	// Used only by the tailer.
	place  wal.Place // place of the batch applied last
	claim  io.Closer // holds the duty of making checkpoints; nil until this daemon has it
	due    uint64    // commit at which the next checkpoint is due
	rested time.Time // time before which no checkpoint is made

	writing sync.WaitGroup
	busy    atomic.Bool
	quit    atomic.Int64 // Unix nanoseconds after which writing is given up; 0 for never
}

// saverMeter has the values for metrics.
type saverMeter struct {
	made, failed, last atomic.Uint64
	took, held         atomic.Int64 // durations of the last checkpoint, in nanoseconds
}

const (
	saverShare = 100
	// saverStop is how long a daemon that is stopping may continue to write a
	// checkpoint.
	saverStop = 9 * time.Second
)

// start sets the place at which the state begins: a checkpoint, or the beginning of
// the log.
func (s *saver) start(place wal.Place) {
	s.place, s.due = place, place.Seq+s.every
	s.meter.last.Store(place.Seq)
}

// applied is called after each batch, while nothing changes the state. It starts a
// checkpoint if one is due, unless another daemon has the duty, the previous
// checkpoint is still being written, or taking another one so soon would exceed
// saverShare.
func (s *saver) applied(state *ledger.State, f *wal.Frame) {
	s.place = f.Place()
	if s.every == 0 || s.place.Seq < s.due || s.busy.Load() || time.Now().Before(s.rested) {
		return
	}
	if !s.haveDuty() {
		if s.index != nil { // so that the files of the index reach as far as the other daemon's checkpoint
			s.index.Cut()
		}
		return
	}
	image, err := s.take(state)
	if err != nil {
		return
	}
	s.busy.Store(true)
	s.writing.Go(func() {
		s.write(image)
		s.busy.Store(false)
	})
}

// haveDuty reports whether this daemon must make a checkpoint now.
func (s *saver) haveDuty() bool {
	if s.claim == nil {
		claim, err := s.store.Claim()
		if err != nil {
			s.due = s.place.Seq + s.every // try again at that commit
			if !errors.Is(err, wal.ErrLocked) {
				s.failed(err)
			}
			return false
		}
		s.claim = claim
		seqs, err := s.store.List()
		if n := len(seqs); err == nil && n > 0 && seqs[n-1] > s.meter.last.Load() { // made by another daemon
			s.meter.last.Store(seqs[n-1])
			s.due = seqs[n-1] + s.every
		}
	}
	return s.place.Seq >= s.due
}

func (s *saver) failed(err error) {
	s.meter.failed.Add(1)
	s.log.Warn("no checkpoint was made; the log and older checkpoints are unchanged", "seq", s.place.Seq, "reason", err)
}

// An image is a checkpoint in memory.
type image struct {
	seq    uint64
	blocks [][]byte
	begun  time.Time
}

// Write stores a copy of a block.
func (m *image) Write(b []byte) (int, error) {
	m.blocks = append(m.blocks, slices.Clone(b))
	return len(b), nil
}

// take copies the state into memory.
func (s *saver) take(state *ledger.State) (*image, error) {
	m := &image{seq: s.place.Seq, begun: time.Now()}
	if s.index != nil {
		s.index.Cut()
	}
	s.due = m.seq + s.every
	err := state.WriteCheckpoint(m, ledger.CheckpointPlace{LogID: s.logID, Chain: s.place.Chain, Time: s.place.Time})
	held := time.Since(m.begun)
	s.meter.held.Store(int64(held))
	s.rested = time.Now().Add(saverShare * held)
	return m, err
}

var errHurry = errors.New("the daemon is stopping, and its time is up")

// write makes the image durable.
func (s *saver) write(m *image) {
	if s.index != nil {
		if _, err := s.index.Flush(); err != nil {
			s.log.Warn("the history index was not written before a checkpoint", "seq", m.seq, "reason", err)
		}
	}
	err := s.store.Write(m.seq, func(w io.Writer) error {
		for i, b := range m.blocks {
			if quit := s.quit.Load(); quit != 0 && time.Now().UnixNano() > quit {
				return errHurry
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
			m.blocks[i] = nil
		}
		return nil
	})
	took := time.Since(m.begun)
	if err != nil {
		s.failed(err)
		return
	}
	s.meter.made.Add(1)
	s.meter.last.Store(m.seq)
	s.meter.took.Store(int64(took))
	s.log.Info("made a checkpoint", "file", s.store.Name(m.seq), "took", took, "applying_held", time.Duration(s.meter.held.Load()))
}

// stop makes a last checkpoint if clean is true, there are new commits, and this daemon
// has the duty of making checkpoints. Then it gives up that duty.
func (s *saver) stop(state *ledger.State, clean bool) {
	s.quit.Store(time.Now().Add(saverStop).UnixNano())
	s.writing.Wait()
	s.due = min(s.due, s.place.Seq)
	if clean && s.every > 0 && s.place.Seq > s.meter.last.Load() && s.haveDuty() {
		if m, err := s.take(state); err == nil {
			s.write(m)
		}
	}
	if s.claim != nil {
		s.claim.Close()
	}
}
