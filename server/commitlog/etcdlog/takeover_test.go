package etcdlog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdfake"
	"assetledger/wal"
)

// frame returns the next frame of a log that ends at commit last.
func frame(last uint64, size int) *wal.Frame {
	return &wal.Frame{First: last + 1, Count: 1, Time: int64(last + 1), Digest: last, Body: wal.AppendRecord(nil, make([]byte, size))}
}

// openWriter opens d as the writer.
func openWriter(t *testing.T, d *etcdlog.Driver) *etcdlog.Writer {
	t.Helper()
	w, err := d.OpenWriter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w.(*etcdlog.Writer)
}

// sameFiles compares the segments of two directories.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	names, err := filepath.Glob(a + "/wal/*.seg")
	if err != nil || len(names) == 0 {
		t.Fatalf("no segments in %s: %v", a, err)
	}
	for _, name := range names {
		mine, err := os.ReadFile(name)
		others, err2 := os.ReadFile(filepath.Join(b, "wal", filepath.Base(name)))
		if err != nil || err2 != nil || !slices.Equal(mine, others) {
			t.Errorf("%s differs in %s: %v, %v", name, b, err, err2)
		}
	}
}

// TestFence checks that after another daemon has taken over, the first can append and
// confirm nothing more, and that both copies are the same.
func TestFence(t *testing.T) {
	store := etcdfake.NewStore()
	a := newDriver(t, &etcdfake.Client{Store: store}, "/log", "a")
	b := newDriver(t, &etcdfake.Client{Store: store}, "/log", "b")
	a.Manual, b.Manual = true, true
	wa := openWriter(t, a)
	for range 3 {
		if err := errors.Join(wa.Append(frame(wa.LastSeq(), 100)), wa.Confirm()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.OpenWriter(); !errors.Is(err, wal.ErrLocked) {
		t.Fatalf("OpenWriter while the first writes: got %v, want ErrLocked", err)
	}
	for _, id := range store.Leases() {
		store.Revoke(id)
	}
	wb := openWriter(t, b)
	if wb.LastSeq() != 3 {
		t.Errorf("the second begins after commit %d, want 3", wb.LastSeq())
	}
	if err := wa.Confirm(); !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("Confirm of the first: got %v, want ErrFenced", err)
	}
	if err := wa.Append(frame(3, 100)); !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("Append of the first: got %v, want ErrFenced", err)
	}
	if err := wa.Room(); !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("Room of the first: got %v, want ErrFenced", err)
	}
	select {
	case err := <-wa.Lost():
		if !errors.Is(err, commitlog.ErrFenced) {
			t.Errorf("Lost: got %v, want ErrFenced", err)
		}
	default:
		t.Error("the first does not report that it has lost its place")
	}
	if err := errors.Join(wb.Append(frame(3, 200)), wb.Confirm(), wa.Close(), wb.Close()); err != nil {
		t.Fatal(err)
	}
	wa = openWriter(t, a)
	if err := errors.Join(wa.Append(frame(4, 300)), wa.Close()); err != nil {
		t.Fatal(err)
	}
	wb = openWriter(t, b)
	sameFiles(t, a.Dir, b.Dir)
}

// TestLeaseIsReplaced checks that a writer replaces an expired lease, unless
// another daemon has taken the place.
func TestLeaseIsReplaced(t *testing.T) {
	store := etcdfake.NewStore()
	a := newDriver(t, &etcdfake.Client{Store: store}, "/log", "a")
	b := newDriver(t, &etcdfake.Client{Store: store}, "/log", "b")
	a.Manual, b.Manual = true, true
	w := openWriter(t, a)
	end := func() {
		for _, id := range store.Leases() {
			store.Revoke(id)
		}
	}
	end()
	w.Beat(t.Context(), 1)
	if kv := store.Range("/log/active", "", 0).KVs; len(kv) != 1 || !strings.Contains(string(kv[0].Value), `"name":"a"`) {
		t.Fatalf("the key of the writer's place is %v, want one with the name a", kv)
	}
	if err := w.Append(frame(0, 10)); err != nil {
		t.Fatal(err)
	}
	end()
	openWriter(t, b)
	w.Beat(t.Context(), 1)
	if err := w.Append(frame(1, 10)); !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("Append after another daemon took the place: got %v, want ErrFenced", err)
	}
}

// TestStandby checks that a standby sees every frame, and becomes the writer when
// the place is released.
func TestStandby(t *testing.T) {
	t.Parallel()
	store := etcdfake.NewStore()
	a := newDriver(t, &etcdfake.Client{Store: store}, "/log", "a")
	b := newDriver(t, &etcdfake.Client{Store: store}, "/log", "b")
	w := openWriter(t, a)
	m, err := b.Join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.Leader() != "http://a" {
		t.Errorf("Leader is %q, want \"http://a\"", m.Leader())
	}
	seen, done := make(chan uint64, 100), make(chan commitlog.Writer)
	go func() {
		w, err := m.Follow(t.Context(), func(f *wal.Frame) error { seen <- f.Last(); return nil })
		if err != nil {
			t.Error(err)
		}
		done <- w
	}()
	for seq := range uint64(20) {
		if err := w.Append(frame(seq, 1000)); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != seq+1 {
			t.Fatalf("commit %d was seen, want %d", got, seq+1)
		}
	}
	if err := w.Append(frame(20, 10)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	second := <-done
	if second == nil {
		t.FailNow()
	}
	if last := second.LastSeq(); last != 21 || len(seen) != 1 {
		t.Errorf("the second begins after commit %d and has applied %d more frames, want 21 and 1", last, len(seen))
	}
	if err := errors.Join(second.Append(frame(21, 10)), second.Close()); err != nil {
		t.Error(err)
	}
}

// TestStandbyWithoutWatches checks that a standby follows the log even if every watch
// breaks off immediately. Watches only save time.
func TestStandbyWithoutWatches(t *testing.T) {
	t.Parallel()
	store := etcdfake.NewStore()
	broken := make(chan struct{})
	close(broken)
	w := openWriter(t, newDriver(t, &etcdfake.Client{Store: store}, "/log", "a"))
	m, err := newDriver(t, &etcdfake.Client{Store: store, Broken: broken}, "/log", "b").Join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen, done := make(chan uint64, 10), make(chan error)
	go func() {
		_, err := m.Follow(ctx, func(f *wal.Frame) error { seen <- f.Last(); return nil })
		done <- err
	}()
	for seq := range uint64(2) {
		if err := w.Append(frame(seq, 10)); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != seq+1 {
			t.Fatalf("commit %d was seen, want %d", got, seq+1)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Canceled", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnreachable checks that an append without a response is retried, and takes
// effect once.
func TestUnreachable(t *testing.T) {
	client := &etcdfake.Client{Store: etcdfake.NewStore()}
	d := newDriver(t, client, "/log", "a")
	d.Manual = true
	d.Again = func() func() bool {
		left := 3
		return func() bool { left--; return left > 0 }
	}
	w := openWriter(t, d)
	f := frame(0, 10)
	for _, fault := range []etcdfake.Fault{etcdfake.RequestLost, etcdfake.CarriedLate, etcdfake.ReplyLost} {
		client.Fault = func(string) etcdfake.Fault { return fault }
		if err := w.Append(f); !errors.Is(err, commitlog.ErrUnreachable) {
			t.Fatalf("Append with fault %d: got %v, want ErrUnreachable", fault, err)
		}
		if err := w.Confirm(); !errors.Is(err, commitlog.ErrUnreachable) {
			t.Fatalf("Confirm with fault %d: got %v, want ErrUnreachable", fault, err)
		}
	}
	if err := w.Append(frame(1, 10)); err == nil {
		t.Error("another frame was accepted")
	}
	client.Fault = nil
	if err := errors.Join(w.Append(f), w.Append(frame(1, 10))); err != nil || w.LastSeq() != 2 {
		t.Errorf("after the faults: %v; the log ends at %d, want 2", err, w.LastSeq())
	}
	for client.Store.Ghosts() > 0 { // their conditions name heads that were replaced
		client.Store.Ghost(0)
	}
	if err := errors.Join(w.Confirm(), w.Append(frame(2, 10))); err != nil {
		t.Errorf("after the late requests were executed: %v", err)
	}
}

// lateReads is an etcd client with slow reads: it calls its function meanwhile before it
// returns the result of a read.
type lateReads struct {
	etcd.API
	meanwhile func()
}

func (l *lateReads) Range(ctx context.Context, key, end string, limit int) (*etcd.RangeResult, error) {
	r, err := l.API.Range(ctx, key, end, limit)
	l.meanwhile()
	return r, err
}

// TestConfirmBesideAppends checks that a writer does not mistake an older head of its
// own for another writer's, if it has appended since the head was read.
func TestConfirmBesideAppends(t *testing.T) {
	api := &lateReads{&etcdfake.Client{Store: etcdfake.NewStore()}, func() {}}
	d := newDriver(t, &etcdfake.Client{Store: etcdfake.NewStore()}, "/log", "a")
	d.Manual, d.API = true, api
	w := openWriter(t, d)
	for range 3 {
		api.meanwhile = func() {
			if err := errors.Join(w.Append(frame(w.LastSeq(), 10)), w.Append(frame(w.LastSeq(), 10))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Confirm(); err != nil {
			t.Fatal(err)
		}
		api.meanwhile = func() {}
	}
}

// TestWaitsForTheLease checks that an append returns with an unknown outcome when
// the lease may have ended, since another daemon may be the writer by then.
func TestWaitsForTheLease(t *testing.T) {
	client := &etcdfake.Client{Store: etcdfake.NewStore()}
	d := newDriver(t, client, "/log", "a")
	now, tries := time.Unix(1, 0), 0
	d.Manual, d.Now = true, func() time.Time { return now }
	d.Again = func() func() bool {
		return func() bool { now = now.Add(time.Second); tries++; return tries < 100 }
	}
	w := openWriter(t, d)
	client.Fault = func(string) etcdfake.Fault { return etcdfake.RequestLost }
	f := frame(0, 10)
	if err := w.Append(f); !errors.Is(err, commitlog.ErrUnreachable) || tries < 3 || tries > 5 {
		t.Errorf("Append gave up after %d seconds, want 3 to 5: %v, want ErrUnreachable", tries, err)
	}
	client.Fault = nil
	w.Beat(t.Context(), 1)
	if err := errors.Join(w.Append(f), w.Confirm()); err != nil {
		t.Error(err)
	}
}

// TestQuota checks that frames are rejected when etcd is full, and that nothing is
// written.
func TestQuota(t *testing.T) {
	store := etcdfake.NewStore()
	d := newDriver(t, &etcdfake.Client{Store: store}, "/log", "a")
	d.Manual = true
	d.Again = func() func() bool { return func() bool { return false } }
	w := openWriter(t, d)
	store.Full = true
	if err := w.Append(frame(0, 10)); !errors.Is(err, wal.ErrNoSpace) {
		t.Errorf("Append with a full etcd: got %v, want ErrNoSpace", err)
	}
	store.Full = false
	if err := w.Append(frame(0, 10)); err != nil {
		t.Error(err)
	}
	store.Quota = 100_000
	for w.Beat(t.Context(), 0); w.LastSeq() < 1000; {
		if err := w.Room(); errors.Is(err, wal.ErrNoSpace) {
			break
		}
		if err := w.Append(frame(w.LastSeq(), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if n := store.Size(); n < 65_000 || n > 75_000 || !w.Report().NearFull {
		t.Errorf("commits are rejected when %d of %d bytes are used, want 65,000 to 75,000", n, store.Quota)
	}
}

// TestTrim checks that frames are deleted once two other hosts have them, that no other
// frames are deleted, and that the tail is kept.
func TestTrim(t *testing.T) {
	store := etcdfake.NewStore()
	client := &etcdfake.Client{Store: store}
	d := newDriver(t, client, "/log", "a")
	d.Manual, d.Tail = true, 640_000
	w := openWriter(t, d)
	grow := func(n int) {
		for range n {
			if err := w.Append(frame(w.LastSeq(), 10_000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := func() int { return len(store.Range("/log/f/", "/log/f0", 0).KVs) }
	tell := func(name string, seq string) {
		t.Helper()
		if _, err := client.Txn(context.Background(), &etcd.Txn{Then: []etcd.Op{{Put: "/log/mirror/" + name, Value: []byte(`{"seq":` + seq + `,"url":"http://x"}`)}}}); err != nil {
			t.Fatal(err)
		}
		w.Beat(t.Context(), 0)
		grow(1)
	}
	grow(100)
	tell("b", "90")
	if n := kept(); n != 101 {
		t.Fatalf("with one copy on another host, %d of 101 frames are kept, want all", n)
	}
	tell("c", "5")
	if n := kept(); n != 102-5 {
		t.Errorf("%d frames are kept, want 97: the second copy has 5 of 102", n)
	}
	tell("c", "90")
	if n := kept(); n < 64 || n > 72 {
		t.Errorf("%d frames are kept, want a tail of 64 to 72", n)
	}
	d2 := newDriver(t, client, "/log", "d")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d2.OpenWriter(); err == nil {
		t.Error("a host without the first frames became the writer")
	}
}
