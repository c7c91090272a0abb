package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/ledger"
	"assetledger/server/logstream"
	"assetledger/server/servertest/longtest"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// late makes a log of several segments with a checkpoint after the first
// segment.
func late(t testing.TB) *original {
	o := newOriginal(t)
	o.append(20, "a")
	o.checkpoint()
	o.append(4, "a")
	if o.segments() < 3 {
		t.Fatal("the log has fewer than 3 segments")
	}
	return o
}

// TestBegins fills new directories, with the whole log or beginning with a checkpoint.
func TestBegins(t *testing.T) {
	for name, make := range map[string]func() *original{
		"empty":            func() *original { return newOriginal(t) },
		"no checkpoint":    func() *original { o := newOriginal(t); o.append(24, "a"); return o },
		"early checkpoint": func() *original { o := newOriginal(t); o.append(2, "a"); o.checkpoint(); o.append(22, "a"); return o },
		"checkpoint":       func() *original { return late(t) },
		"at the end":       func() *original { o := newOriginal(t); o.append(24, "a"); o.checkpoint(); return o },
	} {
		t.Run(name, func(t *testing.T) {
			o := make()
			d := memfs.New(1)
			if err := fill(t.Context(), sourceOf(t, o), d.Process(), o.w.LastSeq()); err != nil {
				t.Fatal(err)
			}
			first, err := o.same(d)
			if err != nil || (first > 1) != (name == "checkpoint" || name == "at the end") {
				t.Fatalf("the mirror begins at commit %d, %v; want commit 1 only without a checkpoint in a later segment", first, err)
			}
			if _, err := wal.Open(mirrorDir, wal.Options{FS: d.Process(), Manual: true}); !errors.Is(err, wal.ErrCopy) {
				t.Errorf("opening the mirror as a write daemon does: got %v, want ErrCopy", err)
			}
			// The mirror is then opened again, and copies later frames.
			o.append(9, "a")
			if err := fill(t.Context(), sourceOf(t, o), d.Process(), o.w.LastSeq()); err != nil {
				t.Fatal(err)
			}
			if _, err := o.same(d); err != nil {
				t.Fatalf("after later frames: %v", err)
			}
		})
	}
}

// TestCrashes kills the process of a mirror or crashes its machine at each file
// operation, or makes that operation fail, alone or with all later ones. The mirror
// then continues, and must end up with the same bytes.
func TestCrashes(t *testing.T) {
	o := late(t)
	s := sourceOf(t, o)
	up := o.w.LastSeq()
	step := 1
	switch {
	case testing.Short():
		step = 17
	case !longtest.Form(t, "four of five operations in each failure mode"):
		step = 5
	}
	for i, how := range []string{"process", "machine", "error", "errors"} {
		n := i
		for ; ; n += step {
			d := memfs.New(uint64(n))
			p := d.Process()
			switch how {
			case "error":
				p.Plan(memfs.FailFrom(n, syscall.EIO, false))
			case "errors":
				p.Plan(memfs.FailFrom(n, syscall.EIO, true))
			default:
				p.Plan(memfs.KillAt(n))
			}
			var err error
			alive := memfs.Survives(func() { err = fill(t.Context(), s, p, up) })
			if p.Operations() <= n {
				if err != nil || !alive {
					t.Fatalf("without a fault: %v", err)
				}
				break
			}
			if p.Kill(); how == "machine" {
				d.Crash()
			}
			if err := fill(t.Context(), s, d.Process(), up); err != nil {
				t.Fatalf("%s at operation %d: %v", how, n, err)
			}
			if first, err := o.same(d); err != nil || first == 1 && how != "error" && how != "errors" {
				t.Fatalf("%s at operation %d: the mirror begins at commit %d: %v", how, n, first, err)
			}
		}
		if n < 150 {
			t.Errorf("only %d operations, want at least 150", n)
		}
	}
}

// A wire changes the bodies of the responses that a Source receives.
type wire struct {
	http.RoundTripper
	change func(path string, body io.ReadCloser) io.ReadCloser
}

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = w.change(r.URL.Path, resp.Body)
	}
	return resp, err
}

// A brokenBody passes on bytes until its field left is 0. Then it fails, or flips one bit
// of the byte that follows.
type brokenBody struct {
	io.ReadCloser
	left int
	flip bool
}

func (b *brokenBody) Read(p []byte) (int, error) {
	if b.left <= 0 && !b.flip {
		return 0, syscall.ECONNRESET
	}
	if !b.flip {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.flip && b.left >= 0 && b.left < n {
		p[b.left] ^= 0x10
	}
	b.left -= n
	return n, err
}

// TestWire breaks connections and flips bits in transit, at many places in the
// stream. The mirror asks again, and stores nothing that is wrong.
func TestWire(t *testing.T) {
	o := late(t)
	step := 1
	switch {
	case testing.Short():
		step = 13
	case !longtest.Form(t, "two of three places"):
		step = 3
	}
	for _, flip := range []bool{false, true} {
		for n := 0; n < 60; n += step {
			s := sourceOf(t, o)
			at, hits := n*n*40+n, 0
			s.clients[0].Transport = wire{s.clients[0].Transport, func(path string, body io.ReadCloser) io.ReadCloser {
				// Each response breaks after fewer bytes than the previous one. After twelve, all are
				// intact.
				if hits++; hits > 12 || strings.HasSuffix(path, "/checkpoints") && flip {
					return body
				}
				return &brokenBody{body, at / hits, flip}
			}}
			d := memfs.New(uint64(n))
			if err := fill(t.Context(), s, d.Process(), o.w.LastSeq()); err != nil {
				t.Fatalf("at byte %d, flip %v: %v", at, flip, err)
			}
			if _, err := o.same(d); err != nil {
				t.Fatalf("at byte %d, flip %v: %v", at, flip, err)
			}
		}
	}
}

// TestGarbledCheckpoint checks that a mirror does not begin with a checkpoint
// that was corrupted in transit.
func TestGarbledCheckpoint(t *testing.T) {
	o := late(t)
	s := sourceOf(t, o)
	s.clients[0].Transport = wire{s.clients[0].Transport, func(path string, body io.ReadCloser) io.ReadCloser {
		if !strings.Contains(path, "/checkpoints/") {
			return body
		}
		return &brokenBody{body, 100, true}
	}}
	d := memfs.New(1)
	if err := fill(t.Context(), s, d.Process(), o.w.LastSeq()); err != nil {
		t.Fatal(err)
	}
	if first, err := o.same(d); err != nil || first != 1 {
		t.Errorf("the mirror begins at commit %d, %v; want 1", first, err)
	}
}

// TestNextSource checks that a mirror continues with another source when one fails.
func TestNextSource(t *testing.T) {
	o, dead := late(t), newOriginal(t)
	gone := func(*http.Request) *ledger.Error { return ledger.Errorf(ledger.ShuttingDown, "It stops.") }
	dead.fails.Store(&gone)
	d := memfs.New(1)
	s := sourceOf(t, dead, o)
	failures := 0
	s.failing = func(err error, _ bool) { failures++ }
	if err := fill(t.Context(), s, d.Process(), o.w.LastSeq()); err != nil {
		t.Fatal(err)
	}
	if _, err := o.same(d); err != nil || failures == 0 || s.URL() != o.url {
		t.Errorf("got %v; %d failures, want at least 1; the source is now %s, want %s", err, failures, s.URL(), o.url)
	}
}

// TestReportsWhatIsDurable checks that a mirror does not report frames that no sync
// has covered yet.
func TestReportsWhatIsDurable(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	o.append(2, "one")
	m, err := New(Config{From: o.url}, mirrorDir, "eu", "", silent)
	if err != nil {
		t.Fatal(err)
	}
	m.tick = 10 * time.Millisecond
	reported := make(chan string)
	hear := func(r *http.Request) *ledger.Error {
		if r.Method == http.MethodHead {
			reported <- r.Header.Get(logstream.HeaderMirror) + " from " + r.URL.Query().Get("from")
		}
		return nil
	}
	o.fails.Store(&hear)
	opt := memOptions(memfs.New(1).Process()) // nothing syncs the log until the test does
	if opt.Origin, err = m.src.Begin(t.Context(), mirrorDir, opt); err != nil {
		t.Fatal(err)
	}
	w, err := wal.Open(mirrorDir, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := m.src.Fill(t.Context(), mirrorDir, opt, w, o.w.LastSeq()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.report(ctx, w) }()
	const before = "eu 0 from 1"
	if got := <-reported; got != before {
		t.Errorf("before the sync the mirror reports %q, want %q", got, before)
	}
	if err := w.SyncCopy(); err != nil {
		t.Fatal(err)
	}
	got := <-reported
	for got == before {
		got = <-reported
	}
	if want := fmt.Sprint("eu 0 from ", o.w.LastSeq()+1); got != want {
		t.Errorf("after the sync the mirror reports %q, want %q", got, want)
	}
	cancel()
	<-ended
}

// TestArchived checks that a mirror that was away too long can't continue, and
// says why. A new one begins with a checkpoint.
func TestArchived(t *testing.T) {
	o := newOriginal(t)
	o.append(2, "a")
	old := memfs.New(1)
	if err := fill(t.Context(), sourceOf(t, o), old.Process(), o.w.LastSeq()); err != nil {
		t.Fatal(err)
	}
	o.append(20, "a")
	older := o.checkpoint()
	o.append(4, "a")
	o.checkpoint()
	if report, err := wal.Archive(o.dir, t.TempDir()+"/archive", older, nil); err != nil || len(report.Moved) < 2 {
		t.Fatalf("archive: got %+v, %v; want at least two segments moved", report, err)
	}
	err := refused(t, o, old)
	if !isRefusal(err, http.StatusGone) || !strings.Contains(err.Error(), "archive") {
		t.Fatalf("an old mirror: got %v, want a refusal with status 410 that names the archive", err)
	}
	d := memfs.New(2)
	if err := fill(t.Context(), sourceOf(t, o), d.Process(), o.w.LastSeq()); err != nil {
		t.Fatal(err)
	}
	if first, err := o.same(d); err != nil || first == 1 {
		t.Fatalf("a new mirror begins at commit %d, want a later one than 1: %v", first, err)
	}
}

// TestStopsAtOnce checks that a mirror that waits for frames ends as soon as it is stopped.
func TestStopsAtOnce(t *testing.T) {
	o := newOriginal(t)
	o.append(3, "a")
	ctx, cancel := context.WithCancel(t.Context())
	s := sourceOf(t, o)
	s.news = func(_ string, durable uint64) {
		if durable == o.w.LastSeq() {
			cancel()
		}
	}
	d := memfs.New(1)
	if err := fill(ctx, s, d.Process(), 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("the mirror ended with %v, want context.Canceled", err)
	}
}
