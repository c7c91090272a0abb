package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/server/metrics"
	"assetledger/server/servertest/longtest"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

func TestMain(m *testing.M) { os.Exit(longtest.Main(m)) }

const (
	mirrorDir   = "/mirror"
	testSegment = 64 << 10
)

var silent = slog.New(slog.DiscardHandler)

// An original is a log with real commits, and a server of that log.
type original struct {
	testing.TB
	dir   string
	w     *wal.Writer
	state *ledger.State
	clock int64
	url   string
	fails atomic.Pointer[func(*http.Request) *ledger.Error] // returns the error to send instead of a response
}

// newOriginal creates an empty log in a new directory and serves it.
func newOriginal(t testing.TB) *original {
	o := &original{TB: t, dir: t.TempDir(), state: ledger.NewState(ledger.Config{IdempotencyKeys: 100})}
	o.open()
	o.serve()
	return o
}

func (o *original) open() {
	w, err := wal.Open(o.dir, wal.Options{SegmentSize: testSegment, Manual: true})
	if err != nil {
		o.Fatal(err)
	}
	o.w = w
	o.Cleanup(func() { w.Close() })
}

func (o *original) serve() {
	s := logstream.New(commitlog.File{Dir: o.dir}, &httpserver.Streams{Max: 64}, silent)
	routes := s.Routes()
	for i := range routes {
		handle := routes[i].Handle
		routes[i].Handle = func(x *httpserver.Exchange) *ledger.Error {
			if fail := o.fails.Load(); fail != nil {
				if err := (*fail)(x.R); err != nil {
					return err
				}
			}
			return handle(x)
		}
	}
	api := httpserver.NewAPI(routes, "test_", new(metrics.Registry), silent)
	s.ServedBy(api)
	server := httptest.NewServer(api)
	o.Cleanup(server.Close)
	o.Cleanup(s.Drain)
	o.url = server.URL
}

// append appends frames of a few commits each. Logs with different names have
// different histories.
func (o *original) append(frames int, name string) {
	o.Helper()
	for range frames {
		o.clock += 1000
		f := &wal.Frame{First: o.state.Seq() + 1, Time: o.clock}
		for range 1 + f.First%3 {
			op, err := ledger.ParseOpWords(fmt.Sprintf("CreateContainer container_id=%d kind=Standard", o.state.Seq()+1))
			if err != nil {
				o.Fatal(err)
			}
			tx, out := ledger.Transaction{Ops: []ledger.Op{op}}, ledger.Outcome{}
			tx.Metadata = fmt.Appendf(nil, `{"of":%q,"x":"%0*d"}`, name, 1+f.First*977%9000, 0)
			if err := o.state.Apply(&tx, f.Time, &out); err != nil {
				o.Fatal(err)
			}
			f.Body = wal.AppendRecord(f.Body, ledger.AppendRecord(nil, &tx, &out))
			f.Count++
		}
		f.Digest = o.state.Digest()
		if err := o.w.Append(f); err != nil {
			o.Fatal(err)
		}
	}
}

// checkpoint writes a checkpoint at the end of the log.
func (o *original) checkpoint() uint64 {
	o.Helper()
	seq := o.w.LastSeq()
	at, err := placeAt(o.dir, wal.Options{}, seq)
	if err != nil {
		o.Fatal(err)
	}
	place := ledger.CheckpointPlace{LogID: o.w.LogID(), Chain: at.Chain, Time: at.Time}
	if err := wal.WriteCheckpoint(o.dir, seq, wal.Options{}, func(w io.Writer) error { return o.state.WriteCheckpoint(w, place) }); err != nil {
		o.Fatal(err)
	}
	return seq
}

// segments returns the number of segments of the log.
func (o *original) segments() int {
	names, err := filepath.Glob(o.dir + "/wal/*.seg")
	if err != nil {
		o.Fatal(err)
	}
	return len(names)
}

// sourceOf returns a source that reads from the originals in turn.
func sourceOf(t testing.TB, list ...*original) *Source {
	t.Helper()
	from := ""
	for _, o := range list {
		from += "," + o.url
	}
	s, err := NewSource(Config{From: from[1:]}, silent, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	t.Cleanup(func() {
		for _, c := range s.clients {
			c.CloseIdleConnections()
		}
	})
	return s
}

func memOptions(p wal.FS) wal.Options {
	return wal.Options{FS: p, Copy: true, Manual: true, SegmentSize: testSegment}
}

// fill fills the mirror's directory up to commit upTo, as Mirror does.
func fill(ctx context.Context, s *Source, p wal.FS, upTo uint64) error {
	o := memOptions(p)
	origin, err := s.Begin(ctx, mirrorDir, o)
	if err != nil {
		return err
	}
	o.Origin = origin
	w, err := wal.Open(mirrorDir, o)
	if err != nil {
		return err
	}
	if err := wal.ClearBegin(mirrorDir, o); err != nil {
		return errors.Join(err, w.Close())
	}
	if upTo == 0 { // with 0, Fill would copy until ctx is done
		return w.Close()
	}
	return errors.Join(s.Fill(ctx, mirrorDir, o, w, upTo), w.Close())
}

// same compares every segment and checkpoint of the mirror with the original's,
// verifies the mirror, and replays it from its checkpoint. It returns the first
// commit of the mirror.
func (o *original) same(d *memfs.Disk) (first uint64, err error) {
	p := d.Process()
	defer p.Kill()
	for _, part := range []string{"wal", "ckpt"} {
		names, err := p.List(mirrorDir + "/" + part)
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			if ext := filepath.Ext(name); ext != ".seg" && ext != ".ckpt" {
				continue
			}
			mine, err := d.ReadFile(mirrorDir + "/" + part + "/" + name)
			if err != nil {
				return 0, err
			}
			theirs, err := os.ReadFile(filepath.Join(o.dir, part, name))
			if err != nil {
				return 0, err
			}
			if !bytes.Equal(mine, theirs) {
				return 0, fmt.Errorf("%s/%s differs from the original", part, name)
			}
		}
	}
	report, err := wal.Verify(mirrorDir, wal.VerifyOptions{FS: p})
	if err != nil {
		return 0, err
	}
	if report.LastSeq != o.w.LastSeq() || report.Torn != 0 {
		return 0, fmt.Errorf("the mirror ends at commit %d, the original at %d; %d bytes are torn", report.LastSeq, o.w.LastSeq(), report.Torn)
	}
	segments, _, err := wal.Stat(mirrorDir, p)
	if err != nil {
		return 0, err
	}
	return segments[0].First, o.replays(p)
}

// replays replays the mirror to its end, as a read daemon does.
func (o *original) replays(p wal.FS) error {
	r, err := wal.OpenReader(mirrorDir, memOptions(p))
	if err != nil {
		return err
	}
	defer r.Close()
	file := commitlog.File{Dir: mirrorDir, Opt: memOptions(p)}
	state, _, err := commitlog.Restore(file.Checkpoints(), r, 0, silent)
	if err != nil {
		return err
	}
	replay := commitlog.NewReplayer(state)
	for {
		f, err := r.Next()
		if errors.Is(err, wal.ErrEnd) {
			break
		}
		if err == nil {
			err = replay.ReplayFrame(f)
		}
		if err != nil {
			return err
		}
	}
	if state.Digest() != o.state.Digest() {
		return errors.New("the mirror leads to a different state")
	}
	return nil
}
