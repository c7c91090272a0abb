package history

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
	"assetledger/server/commitlog"
	"assetledger/server/servertest/longtest"
	"assetledger/wal"
)

func TestMain(m *testing.M) {
	carryAfter = 6 // low, so that random histories have many carried entries
	blockRoom = 20 // low, so that generations have several blocks
	oftenHere = 4
	mergedFiles = 3
	os.Exit(longtest.Main(m))
}

// A testLog is a log in memory with checkpoints. Its front may be archived.
type testLog struct {
	frames      []*wal.Frame
	first       uint64 // first commit of the log; those before are archived
	checkpoints map[uint64][]byte
}

func (l *testLog) Name(seq uint64) string                              { return fmt.Sprint(seq) }
func (l *testLog) Claim() (io.Closer, error)                           { panic("unused") }
func (l *testLog) Write(seq uint64, write func(io.Writer) error) error { panic("unused") }
func (l *testLog) List() (list []uint64, err error) {
	for seq := range l.checkpoints {
		list = append(list, seq)
	}
	slices.Sort(list)
	return list, nil
}
func (l *testLog) Open(seq uint64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.checkpoints[seq])), nil
}

type testReader struct {
	commitlog.Reader
	log *testLog
	at  int
}

func (r *testReader) LogID() wal.LogID { return wal.LogID{1} }
func (r *testReader) Close() error     { return nil }
func (r *testReader) Next() (*wal.Frame, error) {
	if r.at == len(r.log.frames) {
		return nil, wal.ErrEnd
	}
	r.at++
	return r.log.frames[r.at-1], nil
}

func (r *testReader) Seek(seq uint64) error {
	if seq < r.log.first {
		return &wal.ArchivedError{Seq: seq, First: r.log.first}
	}
	r.at = slices.IndexFunc(r.log.frames, func(f *wal.Frame) bool { return f.Last() >= seq })
	return nil
}

func (r *testReader) SeekAfter(p wal.Place) error {
	if p.Seq == 0 {
		return r.Seek(1)
	}
	if p.Seq < r.log.first {
		return &wal.ArchivedError{Seq: p.Seq, First: r.log.first}
	}
	for i, f := range r.log.frames {
		if f.Last() == p.Seq {
			if f.Place() != p {
				return &wal.MismatchError{Seq: p.Seq, What: "another frame"}
			}
			r.at = i + 1
			return nil
		}
	}
	return wal.ErrBeyond
}

type testSource struct{ l *testLog }

func (s testSource) Open() (commitlog.Reader, error)                 { return &testReader{log: s.l}, nil }
func (s testSource) Register(string) (commitlog.Registration, error) { panic("unused") }
func (s testSource) Checkpoints() commitlog.CheckpointStore          { return s.l }

// A world is a random ledger, with a record of all past states of its
// containers.
type world struct {
	t     testing.TB
	log   *testLog
	ids   []int64
	dumps map[int64][]string // by container, then by commit
	times []int64            // by commit
	state *ledger.State

	reversals int
}

// newWorld returns a world whose log has batches of random transactions.
func newWorld(t testing.TB, seed uint64, commits int) *world {
	w := &world{t: t, log: &testLog{first: 1, checkpoints: map[uint64][]byte{}}, dumps: map[int64][]string{}, times: []int64{0}}
	for id := range int64(16) {
		w.ids = append(w.ids, id+1)
	}
	w.ids = append(w.ids, math.MaxInt64)
	m := modeltest.New(0)
	knobs := modeltest.DefaultKnobs()
	knobs.Keyed, knobs.Repeated, knobs.Bulky, knobs.Refused, knobs.Reversals = 0, 0, 0, 0, 0.15
	var records [][]byte // by commit, from 1
	gen := modeltest.NewGen(seed, m, knobs)
	w.state = ledger.NewState(ledger.Config{})
	w.note()
	chain := uint32(0)
	for int(w.state.Seq()) < commits {
		f := &wal.Frame{First: w.state.Seq() + 1, Time: 1_000_000 * int64(len(w.log.frames)+1)}
		for range 1 + w.state.Seq()%3 {
			tx := gen.Next()
			var out ledger.Outcome
			if m.Submit(&tx, 1).Refusal != nil {
				continue
			}
			if tx.Endpoint == ledger.EndpointReverse {
				var rec ledger.Record
				if err := rec.Decode(records[tx.Reverses-1]); err != nil {
					t.Fatal(err)
				}
				tx.Invert(&rec, tx.Reverses)
				w.reversals++
			}
			if err := w.state.Apply(&tx, f.Time, &out); err != nil {
				t.Fatal(err)
			}
			f.Count++
			records = append(records, ledger.AppendRecord(nil, &tx, &out))
			f.Body = wal.AppendRecord(f.Body, records[len(records)-1])
			w.times = append(w.times, f.Time)
			w.note()
		}
		if f.Count == 0 {
			continue
		}
		chain = chain*31 + 7
		f.Digest, f.Chain = w.state.Digest(), chain
		w.log.frames = append(w.log.frames, f)
		if len(w.log.frames)%40 == 0 {
			var b bytes.Buffer
			if err := w.state.WriteCheckpoint(&b, ledger.CheckpointPlace{LogID: wal.LogID{1}, Chain: f.Chain, Time: f.Time}); err != nil {
				t.Fatal(err)
			}
			w.log.checkpoints[w.state.Seq()] = b.Bytes()
		}
	}
	return w
}

// note records what reads show about every container.
func (w *world) note() {
	for _, id := range w.ids {
		w.dumps[id] = append(w.dumps[id], dump(w.state, id))
	}
}

// dump returns what reads show about a container.
func dump(s *ledger.State, id int64) string {
	c, err := s.Container(id)
	if err != nil {
		return string(err.Code)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", c)
	balances, _, _, err1 := s.Balances(nil, id, ledger.BalanceFilter{}, nil, math.MaxInt)
	slots, _, err2 := s.SlotEntries(nil, id, -1, math.MaxInt)
	placements, _, err3 := s.Placements(nil, id, nil, nil, math.MaxInt)
	holds, _, err4 := s.Holds(nil, id, 0, math.MaxInt)
	fmt.Fprintln(&b, balances, slots, placements, holds)
	for _, err := range []*ledger.Error{err1, err2, err3, err4} {
		if err != nil {
			fmt.Fprintln(&b, err.Code)
		}
	}
	return b.String()
}

// A follower is a tailer with an index.
type follower struct {
	*Index
	state  *ledger.State
	replay *commitlog.Replayer
	world  *world
	at     int
}

func (w *world) config(fsys wal.FS) Config {
	return Config{Dir: "/log", FS: fsys, Source: testSource{w.log}, Log: slog.New(slog.DiscardHandler), Generation: 16 << 10}
}

// follow starts an index as a daemon does after it has restored the state from the
// given checkpoint; 0 means none.
func (w *world) follow(x *Index, checkpoint uint64) *follower {
	f := &follower{Index: x, world: w, state: ledger.NewState(ledger.Config{})}
	place := wal.Place{}
	if checkpoint > 0 {
		state, info, err := ledger.ReadCheckpoint(bytes.NewReader(w.log.checkpoints[checkpoint]), ledger.Config{})
		if err != nil {
			w.t.Fatal(err)
		}
		f.state, place = state, commitlog.PlaceOf(&info)
		for f.at < len(w.log.frames) && w.log.frames[f.at].First <= checkpoint {
			f.at++
		}
	}
	f.replay = commitlog.NewReplayer(f.state)
	x.Begin(wal.LogID{1}, place, f.state)
	return f
}

// apply applies up to n batches, and reports whether there are more.
func (f *follower) apply(n int) bool {
	for range n {
		if f.at == len(f.world.log.frames) {
			return false
		}
		frame := f.world.log.frames[f.at]
		if err := f.replay.ReplayFrame(frame); err != nil {
			f.world.t.Fatal(err)
		}
		f.Applied(frame, frame.Last())
		f.at++
	}
	return f.at < len(f.world.log.frames)
}
