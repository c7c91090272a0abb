package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"syscall"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
	"assetledger/server/commitlog"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// The simulation: a whole ledger in one goroutine, from one seed. Its world has
// a disk and a machine, a writer, readers and clients. The writer consists of recovery,
// replay, the sequencer's core and the log's writer. The readers consist of the log's
// reader, the projection and checkpoints. Clients repeat each request with the
// same idempotency key until they know the outcome.
//
// Each step is drawn from the seed, and so are the faults. A process is killed
// in the middle of an operation on the disk, the machine loses power, operations fail
// once or for good, the disk is full, or the clock jumps. Readers may also run
// between any two operations of the writer.
//
// Whatever happens, the model must allow the history that the clients saw
// (modeltest.History). No state that any process saw may ever disappear.

const simDir = "/ledger"

// sabotage says what is broken on purpose, to test the simulation itself.
type sabotage struct {
	syncLies   bool // the disk reports success without syncing
	endEarly   bool // END is stored before the frame is synced
	replyEarly bool // clients get responses before the batch is durable
	shuffled   bool // the blocks of a stream are submitted as if they belonged to several streams
	goesOn     bool // a stream with on_error stop continues after an error
}

// simStats counts what happened in the runs.
type simStats struct {
	runs, steps, commits, acked, unknown, refused, reads int
	lines, stopped                                       int
	expired, reversed                                    int
	kills, crashes, faults, torn, ends, checkpoints      int
}

func (s *simStats) add(o *simStats) {
	s.runs += o.runs
	s.steps += o.steps
	s.commits += o.commits
	s.acked += o.acked
	s.unknown += o.unknown
	s.refused += o.refused
	s.reads += o.reads
	s.lines += o.lines
	s.stopped += o.stopped
	s.expired += o.expired
	s.reversed += o.reversed
	s.kills += o.kills
	s.crashes += o.crashes
	s.faults += o.faults
	s.torn += o.torn
	s.ends += o.ends
	s.checkpoints += o.checkpoints
}

func (s *simStats) String() string {
	return fmt.Sprintf("%d runs of %d steps: %d commits; %d requests acknowledged, %d unknown, %d rejected; %d lines of streams answered, %d after an error with on_error stop; %d reads; "+
		"%d commits that release expired holds, %d that reverse others; "+
		"%d processes killed, %d machine crashes, %d failed operations, %d torn frames, %d damaged ENDs, %d checkpoints",
		s.runs, s.steps, s.commits, s.acked, s.unknown, s.refused, s.lines, s.stopped, s.reads, s.expired, s.reversed, s.kills, s.crashes, s.faults, s.torn, s.ends, s.checkpoints)
}

type simWorld struct {
	rng      *rand.Rand
	disk     *memfs.Disk
	now      int64
	sabotage sabotage
	calm     bool // no more faults
	doom     int  // if not 0, the number of changes to the disk until the writer dies
	inside   bool // a reader is running between two operations of the writer
	virgin   bool // no writer has opened the log since the machine started

	writer  *simWriter // nil: it is not running
	readers []*simReader
	clients []*simClient
	streams []*simStream

	model   *modeltest.Model // of what is durable, for generating requests that fit
	records []*ledger.Record // of what is durable, for reversals
	gen     *modeltest.Gen
	digests map[uint64]uint64 // digests of the states that any process saw, by commit
	history modeltest.History
	stats   simStats
	end     func() uint64 // the durable end; a response to a request sent now may not be older
}

// A simFailure is a finding of the simulation.
type simFailure struct{ err error }

func (w *simWorld) failf(format string, args ...any) { panic(simFailure{fmt.Errorf(format, args...)}) }

// simulate runs one world from its seed to its end. The error is what it found.
func simulate(seed uint64, s sabotage) (stats simStats, err error) {
	w := &simWorld{
		rng: rand.New(rand.NewPCG(seed, 0x73696d)), disk: memfs.New(seed), now: 1_700_000_000_000_000_000, sabotage: s,
		model: modeltest.New(0), digests: map[uint64]uint64{}, virgin: true,
	}
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(simFailure)
			if !ok {
				f.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			stats, err = w.stats, f.err
		}
	}()
	w.disk.SyncLies = s.syncLies
	w.end = func() uint64 { return w.writer.core.Durable() }
	knobs := modeltest.DefaultKnobs()
	knobs.Keyed, knobs.Repeated, knobs.Bulky, knobs.Refused = 1, 0, 0.05, 0.02
	knobs.Wild = 0.03
	w.gen = modeltest.NewGen(seed, w.model, knobs)
	for i := range 2 + w.rng.IntN(5) {
		w.clients = append(w.clients, &simClient{simWorld: w, id: i})
	}
	for range 1 + w.rng.IntN(2) {
		w.streams = append(w.streams, &simStream{simWorld: w})
	}
	for i := range 1 + w.rng.IntN(2) {
		w.readers = append(w.readers, &simReader{simWorld: w, id: i})
	}
	for range 100 + w.rng.IntN(200) {
		w.stats.steps++
		w.step()
	}
	w.settle()
	return w.stats, w.judge()
}

// step does one random thing.
func (w *simWorld) step() {
	switch k := w.rng.IntN(200); {
	case k < 90:
		w.clients[w.rng.IntN(len(w.clients))].step()
		w.streams[w.rng.IntN(len(w.streams))].step()
	case k < 120:
		w.writer.judge()
	case k < 150:
		w.writer.sync()
	case k < 180:
		w.readers[w.rng.IntN(len(w.readers))].step()
	case k < 184:
		w.writer.syncEnd()
	case k < 187:
		w.now += w.rng.Int64N(30e9) - 10e9 // clocks jump, backwards too
	case k < 189:
		w.disk.Limit(0)
		if w.rng.IntN(2) == 0 {
			w.disk.Limit(w.disk.Used() + w.rng.Int64N(200<<10))
		}
	case k < 190:
		w.killWriter()
	case k < 191:
		w.crash()
	case k < 194:
		w.writer.stop()
	case k < 195:
		w.readers[w.rng.IntN(len(w.readers))].die()
	case w.writer == nil:
		w.startWriter()
	}
	if w.writer == nil && w.rng.IntN(6) == 0 {
		w.startWriter()
	}
}

// clock returns the writer's time, which may jump.
func (w *simWorld) clock() int64 {
	w.now += 1 + w.rng.Int64N(1e6)
	return w.now
}

// plan draws the faults of a process: being killed in the middle of an
// operation, and operations that fail once, for good, or now and then.
func (w *simWorld) plan(writer bool) memfs.Plan {
	deadly := []int{0, 0, 300, 40}[w.rng.IntN(4)] // one in this many writes and syncs is the last
	at, kind := w.rng.IntN(200), w.rng.IntN(20)
	return func(n int, op memfs.Op, name string) (f memfs.Fault) {
		if w.calm {
			return f
		}
		changes := op == memfs.OpWrite || op == memfs.OpSync || op == memfs.OpRename || op == memfs.OpSyncDir
		if writer && !w.inside && w.rng.IntN(16) < 6 && changes {
			w.inside = true
			w.readers[w.rng.IntN(len(w.readers))].step()
			w.inside = false
		}
		switch {
		case deadly > 0 && changes && w.rng.IntN(deadly) == 0, writer && changes && w.doomed():
			f.Kill = true
		case kind < 2 && n == at, kind == 2 && n >= at:
			f.Err = syscall.EIO
		case kind == 3 && n == at && op != memfs.OpRead:
			f.Err = syscall.ENOSPC
		case kind == 4 && n >= at && op == memfs.OpSync && w.rng.IntN(4) == 0:
			f.Err = syscall.EIO
		}
		return f
	}
}

// doomed counts the writer's operations down to the one that kills it.
func (w *simWorld) doomed() bool {
	if w.doom == 0 {
		return false
	}
	w.doom--
	return w.doom == 0
}

// injected reports whether the simulation itself caused an error.
func injected(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, wal.ErrNoSpace)
}

// crash makes the machine lose power.
func (w *simWorld) crash() {
	w.writer.leave()
	for _, r := range w.readers {
		r.die()
	}
	w.disk.Crash()
	w.virgin = true
}

// killWriter ends the writer's process.
func (w *simWorld) killWriter() {
	if w.writer != nil {
		w.writer.p.Kill()
		w.writer.leave()
	}
}

// saw records that a process saw the ledger after a commit. From then on, that
// commit may have no other state.
func (w *simWorld) saw(who string, seq, digest uint64) {
	if was, known := w.digests[seq]; known && was != digest {
		w.failf("%s sees the state %016x at commit %d, which was %016x before: a commit was undone", who, digest, seq, was)
	}
	w.digests[seq] = digest
}

// settle repairs the world, and lets every client learn the outcome of its
// request.
func (w *simWorld) settle() {
	w.calm = true
	w.disk.Limit(0)
	for range 400 {
		if w.writer == nil {
			w.startWriter()
		}
		busy := false
		for _, c := range w.clients {
			busy = busy || c.busy()
			c.finish()
		}
		for _, s := range w.streams {
			s.submit()
		}
		w.writer.judge()
		w.writer.sync()
		for _, r := range w.readers {
			r.step()
		}
		if !busy {
			w.expire()
			w.writer.stop()
			return
		}
	}
	w.failf("the clients' requests never end")
}

// expire lets time pass. No expired hold may then be left.
func (w *simWorld) expire() {
	w.now += 20e9
	for range 10 {
		w.writer.judge()
		w.writer.sync()
	}
	w.model.Now = w.now
	if ids := w.model.Expired(); len(ids) > 0 {
		w.failf("the holds %v have expired, but the writer has not released them", ids)
	}
}

// judge reads the final log and checks the history against it.
func (w *simWorld) judge() error {
	if w.rng.IntN(2) == 0 {
		w.crash()
		w.startWriter() // END may be damaged, and only a writer may repair it
		w.writer.stop()
	}
	p := w.disk.Process()
	if _, err := wal.Verify(simDir, wal.VerifyOptions{FS: p}); err != nil {
		return fmt.Errorf("verify at the end: %w", err)
	}
	state := ledger.NewState(ledger.Config{})
	replay := commitlog.NewReplayer(state)
	at := map[uint64]uint64{0: state.Digest()}
	err := readFrames(p, func(f *wal.Frame) error {
		at[f.Last()] = f.Digest
		if err := replay.ReplayFrame(f); err != nil {
			return err
		}
		return f.Each(func(seq uint64, record []byte) error {
			c := modeltest.Commit{Seq: seq, BatchSeq: uint32(seq - f.First + 1), Time: f.Time}
			w.history.Commits = append(w.history.Commits, c)
			return w.history.Commits[len(w.history.Commits)-1].Record.Decode(slices.Clone(record))
		})
	})
	if err != nil && !(errors.Is(err, wal.ErrNoLog) && len(w.digests) == 0) {
		return fmt.Errorf("reading the log at the end: %w", err)
	}
	for seq, digest := range w.digests {
		if at[seq] != digest {
			return fmt.Errorf("the state %016x was seen at commit %d, but the log has %016x there and ends at %d", digest, seq, at[seq], state.Seq())
		}
	}
	w.stats.runs = 1
	w.stats.commits = len(w.history.Commits)
	for i := range w.history.Commits {
		switch tx := &w.history.Commits[i].Record.Tx; {
		case string(tx.Principal) == ledger.PrincipalLedger:
			w.stats.expired++
		case tx.Reverses != 0:
			w.stats.reversed++
		}
	}
	d := w.disk.Stats()
	w.stats.kills, w.stats.crashes, w.stats.faults = d.Kills, d.Crashes, d.Faults
	return w.history.Check()
}

// readFrames calls fn for each durable frame.
func readFrames(p wal.FS, fn func(*wal.Frame) error) error {
	r, err := wal.OpenReader(simDir, wal.Options{FS: p})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if errors.Is(err, wal.ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(f); err != nil {
			return err
		}
	}
}
