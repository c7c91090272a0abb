package reader

import (
	"log/slog"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// A Core is the read daemon without HTTP or goroutines. Its caller passes it one
// batch after another. The simulation uses it.
type Core struct {
	proj  *projection
	saver *saver
}

// NewCore returns a core that starts from the newest valid checkpoint that store holds for
// the log of l, or from the empty state if there is none. It positions l after that
// state.
func NewCore(store commitlog.CheckpointStore, l commitlog.Reader, keys int) (*Core, error) {
	log := slog.New(slog.DiscardHandler)
	state, place, err := commitlog.Restore(store, l, keys, log)
	if err != nil {
		return nil, err
	}
	c := &Core{newProjection(keys), &saver{store: store, every: 1, logID: l.LogID(), log: log, meter: new(saverMeter)}}
	c.proj.adopt(state)
	c.saver.start(place)
	return c, nil
}

// State returns the state after the last batch.
func (c *Core) State() *ledger.State { return c.proj.state }

// Apply applies the next batch.
func (c *Core) Apply(f *wal.Frame) error {
	if err := c.proj.apply(f, endless); err != nil {
		return err
	}
	c.saver.place = f.Place()
	return nil
}

// Checkpoint makes a checkpoint if that is this daemon's duty, and reports whether it
// did. A failing store is not an error, since a later attempt may succeed.
func (c *Core) Checkpoint() (made bool, err error) {
	if !c.saver.haveDuty() {
		return false, nil
	}
	image, err := c.saver.take(c.proj.state)
	if err != nil {
		return false, err
	}
	c.saver.write(image)
	return c.saver.meter.made.Swap(0) > 0, nil
}
