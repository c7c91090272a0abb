package sim

import (
	"errors"
	"fmt"
	"math"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
	"assetledger/server/commitlog"
	"assetledger/server/reader"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// A simReader is the read daemon without HTTP or goroutines.
type simReader struct {
	*simWorld
	id, life int
	p        *memfs.Process
	log      *wal.Reader // nil: it is not running
	core     *reader.Core
	early    bool // it was started before the writer had repaired the log after a crash
}

func (r *simReader) name() string { return fmt.Sprintf("reader %d.%d", r.id, r.life) }

func (r *simReader) die() {
	if r.p != nil {
		r.p.Kill()
	}
	r.p, r.log = nil, nil
}

// step starts the reader, or applies a batch and reads something.
func (r *simReader) step() {
	var err error
	if !memfs.Survives(func() { err = r.run() }) {
		r.die()
		return
	}
	if err == nil || errors.Is(err, wal.ErrEnd) {
		return
	}
	// The reader ends. It may find damage only where the writer has not repaired
	// the log yet.
	var damage *wal.CorruptError
	repairable := r.early && (errors.As(err, &damage) || errors.Is(err, wal.ErrReplaced))
	if !injected(err) && !errors.Is(err, wal.ErrNoLog) && !repairable {
		r.failf("%s: %v", r.name(), err)
	}
	r.die()
}

func (r *simReader) run() (err error) {
	if r.log == nil {
		r.life++
		r.p, r.early = r.disk.Process(), r.virgin
		r.p.Plan(r.plan(false))
		return r.open()
	}
	f, err := r.log.Next()
	if err != nil {
		return err
	}
	if err := r.core.Apply(f); err != nil {
		return err
	}
	r.saw(r.name(), f.Last(), r.core.State().Digest())
	for range r.rng.IntN(4) {
		r.read()
	}
	if r.rng.IntN(12) == 0 {
		r.checkpoint()
	}
	return nil
}

// open begins from the newest checkpoint, as the tailer does.
func (r *simReader) open() error {
	o := wal.Options{FS: r.p, Manual: true}
	l, err := wal.OpenReader(simDir, o)
	if err != nil {
		return err
	}
	core, err := reader.NewCore(commitlog.File{Dir: simDir, Opt: o}.Checkpoints(), l, simKeys)
	if err != nil {
		return err
	}
	r.log, r.core = l, core
	if state := core.State(); state.Seq() > 0 {
		r.saw(r.name()+" (checkpoint)", state.Seq(), state.Digest())
	}
	return nil
}

// checkpoint writes a checkpoint, as the saver does in the background.
func (r *simReader) checkpoint() {
	made, err := r.core.Checkpoint()
	if err != nil {
		r.failf("%s: making a checkpoint: %v", r.name(), err)
	}
	if made {
		r.stats.checkpoints++
	}
}

var simQueries = []modeltest.What{
	modeltest.ReadContainer, modeltest.ReadBalances, modeltest.ReadSlots, modeltest.ReadGrid, modeltest.ReadClass, modeltest.ReadClasses,
	modeltest.ReadShapes, modeltest.ReadStats, modeltest.ReadInstance, modeltest.ReadContainers, modeltest.ReadHold, modeltest.ReadHolds,
}

func (r *simReader) read() {
	q := modeltest.Query{What: simQueries[r.rng.IntN(len(simQueries))], ID: 1 + r.rng.Int64N(12)}
	if q.What == modeltest.ReadClasses || q.What == modeltest.ReadContainers {
		q.ID = 0
	}
	r.stats.reads++
	r.history.Reads = append(r.history.Reads, modeltest.Read{
		Client: r.name(), Query: q, Seq: r.core.State().Seq(), Reply: askState(r.core.State(), q)})
}

// askState answers a query from the ledger's state, as Model.Ask answers it from the
// model.
func askState(s *ledger.State, q modeltest.Query) modeltest.Reply {
	const all = math.MaxInt
	switch q.What {
	case modeltest.ReadContainer:
		return stateReply(s.Container(q.ID))
	case modeltest.ReadBalances:
		list, _, _, err := s.Balances(nil, q.ID, ledger.BalanceFilter{}, nil, all)
		return stateReply(list, err)
	case modeltest.ReadSlots:
		list, _, err := s.SlotEntries(nil, q.ID, -1, all)
		return stateReply(list, err)
	case modeltest.ReadGrid:
		list, _, err := s.Placements(nil, q.ID, nil, nil, all)
		return stateReply(list, err)
	case modeltest.ReadClass:
		return stateReply(s.Class(q.ID))
	case modeltest.ReadClasses:
		list, _ := s.Classes(nil, 0, all)
		return stateReply(list, nil)
	case modeltest.ReadShapes:
		return stateReply(s.Shapes(nil, q.ID))
	case modeltest.ReadStats:
		return stateReply(s.Stats(q.ID))
	case modeltest.ReadInstance:
		info, err := s.Instance(q.ID)
		info.Children, _ = s.Children(nil, q.ID, 0, all)
		return stateReply(info, err)
	case modeltest.ReadHold:
		return stateReply(s.Hold(q.ID))
	case modeltest.ReadHolds:
		list, _, err := s.Holds(nil, q.ID, 0, all)
		return stateReply(list, err)
	}
	list, _, _ := s.Containers(nil, ledger.ContainerFilter{}, 0, all)
	return stateReply(list, nil)
}

func stateReply[T any](value T, err *ledger.Error) modeltest.Reply {
	if err != nil {
		return modeltest.Reply{Code: err.Code}
	}
	return modeltest.Reply{Value: value}
}
