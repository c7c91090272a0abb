package etcdlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdfake"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// A trimmed is a log with a tail of 640,000 bytes and a clock that stands still.
type trimmed struct {
	*testing.T
	*etcdlog.Writer
	store  *etcdfake.Store
	client *etcdfake.Client
	now    time.Time
	here   []commitlog.Mirror // mirrors that read from the writer
}

func newTrimmed(t *testing.T, frames int) *trimmed {
	l := &trimmed{T: t, store: etcdfake.NewStore(), now: time.Unix(1e9, 0)}
	l.client = &etcdfake.Client{Store: l.store}
	d := newDriver(t, l.client, "/log", "a")
	d.Manual, d.Tail, d.Now = true, 640_000, func() time.Time { return l.now }
	d.Hear(func() []commitlog.Mirror { return l.here })
	l.Writer = openWriter(t, d)
	for range frames {
		l.grow()
	}
	return l
}

func (l *trimmed) grow() {
	l.Helper()
	if err := l.Append(frame(l.LastSeq(), 10_000)); err != nil {
		l.Fatal(err)
	}
}

// tell stores an announcement of a copy, as a standby does.
func (l *trimmed) tell(name, value string) {
	l.Helper()
	if _, err := l.client.Txn(l.Context(), &etcd.Txn{Then: []etcd.Op{{Put: "/log/mirror/" + name, Value: []byte(value)}}}); err != nil {
		l.Fatal(err)
	}
}

// look makes the writer read the announcements and trim with the next frame. It returns
// the first commit that etcd still has.
func (l *trimmed) look() uint64 {
	l.Helper()
	l.Beat(l.Context(), 0)
	l.grow()
	return l.LastSeq() - uint64(len(l.store.Range("/log/f/", "/log/f0", 0).KVs)) + 1
}

// TestTrimsWhatTwoLivingCopiesHave checks which copies count. A copy without recent
// announcements does not count. A copy that may have begun with a checkpoint counts
// only up to the older of its checkpoints.
func TestTrimsWhatTwoLivingCopiesHave(t *testing.T) {
	l := newTrimmed(t, 100)
	l.tell("b", `{"seq":90,"url":"http://b"}`)
	l.tell("c", `{"seq":10,"url":"http://c"}`)
	if first := l.look(); first != 11 {
		t.Errorf("with copies up to 90 and 10, etcd has the log from %d on, want 11", first)
	}
	l.now = l.now.Add(9 * time.Second)
	l.tell("c", `{"seq":20,"url":"http://c"}`)
	if first := l.look(); first != 21 || len(l.Report().Mirrors) != 2 {
		t.Errorf("with copies up to 90 and 20, etcd has the log from %d on, want 21; copies: %v, want 2", first, l.Report().Mirrors)
	}
	l.now = l.now.Add(2 * time.Second)
	l.tell("c", `{"seq":30,"url":"http://c"}`)
	if first := l.look(); first != 21 || len(l.Report().Mirrors) != 1 {
		t.Errorf("after b has been silent, etcd has the log from %d on, want 21; copies: %v, want only c", first, l.Report().Mirrors)
	}
	l.tell("d", `{"seq":35,"kept":25,"url":"http://d"}`)
	if first := l.look(); first != 26 {
		t.Errorf("with a copy up to 30 and one with a checkpoint at 25, etcd has the log from %d on, want 26", first)
	}
	l.here = []commitlog.Mirror{{Name: "e", Seq: 33, Kept: 28}}
	if first := l.look(); first != 29 {
		t.Errorf("with a mirror of the writer that has a checkpoint at 28, etcd has the log from %d on, want 29", first)
	}
	want := []commitlog.Mirror{{Name: "c", Seq: 30, Kept: 30, URL: "http://c"}, {Name: "d", Seq: 35, Kept: 25, URL: "http://d"}, {Name: "e", Seq: 33, Kept: 28}}
	if diff := cmp.Diff(want, l.Report().Mirrors); diff != "" {
		t.Errorf("copies, -want +got:\n%s", diff)
	}
}

// TestStandbyTellsOfItsMirrors checks that a standby announces the mirrors that read
// from it, and that the standby counts as alive even while nothing is appended.
func TestStandbyTellsOfItsMirrors(t *testing.T) {
	l := newTrimmed(t, 3)
	d := newDriver(t, l.client, "/log", "b")
	d.Manual, d.Now = true, func() time.Time { return l.now }
	d.Hear(func() []commitlog.Mirror {
		return []commitlog.Mirror{{Name: "shop-eu", Seq: 2, Kept: 1, URL: "http://eu"}}
	})
	m, err := d.Join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	want := []commitlog.Mirror{{Name: "b", Seq: 3, Kept: 3, URL: "http://b"}, {Name: "shop-eu", Seq: 2, Kept: 1, URL: "http://eu"}}
	for i := range 10 {
		if _, err := m.(*etcdlog.Member).Step(t.Context(), func(*wal.Frame) error { return nil }); err != nil {
			t.Fatal(err)
		}
		l.Beat(t.Context(), 0)
		if diff := cmp.Diff(want, l.Report().Mirrors); diff != "" {
			t.Fatalf("announced copies after %d s, -want +got:\n%s", 5*i, diff)
		}
		l.now = l.now.Add(5 * time.Second)
	}
}

// TestStandbyTellsWhatIsDurable checks that a standby does not report frames that no
// sync has covered yet.
func TestStandbyTellsWhatIsDurable(t *testing.T) {
	l := newTrimmed(t, 3)
	d := newDriver(t, l.client, "/log", "b")
	d.Now = func() time.Time { return l.now }
	d.Opt.Manual = true // nothing syncs the copy
	for _, want := range []uint64{0, 3} {
		m, err := d.Join(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		applied := uint64(0)
		if _, err := m.(*etcdlog.Member).Step(t.Context(), func(f *wal.Frame) error { applied = f.Last(); return nil }); err != nil || applied != 3 {
			t.Fatalf("the standby has followed up to commit %d, want 3: %v", applied, err)
		}
		l.Beat(t.Context(), 0)
		if diff := cmp.Diff([]commitlog.Mirror{{Name: "b", Seq: want, Kept: want, URL: "http://b"}}, l.Report().Mirrors); diff != "" {
			t.Errorf("announced copies, -want +got:\n%s", diff)
		}
		if err := m.Close(); err != nil { // Close syncs the copy
			t.Fatal(err)
		}
	}
}

// TestNearFull checks that health warns when much of the quota is in use.
func TestNearFull(t *testing.T) {
	l := newTrimmed(t, 0)
	l.store.Quota = 100_000
	var at []string
	for range 6 {
		l.look()
		at = append(at, fmt.Sprint(l.Report().NearFull))
	}
	if diff := cmp.Diff([]string{"false", "false", "false", "false", "true", "true"}, at); diff != "" {
		t.Errorf("NearFull after each tenth of the quota, -want +got:\n%s", diff)
	}
}

// TestFailedSyncOfTheCopyIsFinal checks that the frame whose sync fails is
// acknowledged, since etcd has it, and that no frame after the failure is.
func TestFailedSyncOfTheCopyIsFinal(t *testing.T) {
	d := newDriver(t, &etcdfake.Client{Store: etcdfake.NewStore()}, "/log", "a")
	p := memfs.New(1).Process()
	d.Dir, d.Opt.FS = "/copy", p
	w := openWriter(t, d)
	if err := w.Append(frame(0, 10)); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(1, func(*ledger.Record) {}); err == nil { // waits for the sync; the frame holds no valid record
		t.Error("a record of zeroes was read back")
	}
	broken := errors.New("broken")
	p.Plan(func(_ int, op memfs.Op, _ string) (f memfs.Fault) {
		if op == memfs.OpSync {
			f.Err = broken
		}
		return f
	})
	if err := w.Append(frame(1, 10)); err != nil {
		t.Errorf("Append of a frame that etcd has: %v", err)
	}
	if err := w.Commit(2, func(*ledger.Record) {}); !errors.Is(err, broken) { // it waits for the sync
		t.Errorf("Commit after a failed sync: got %v, want that error", err)
	}
	w.Beat(t.Context(), 0) // finds the failure although nothing is appended
	gaveUp(t, w, broken)
	if err := w.Append(frame(2, 10)); !errors.Is(err, broken) {
		t.Errorf("Append after a failed sync: got %v, want that error", err)
	}
	if err := w.Room(); !errors.Is(err, broken) {
		t.Errorf("Room after a failed sync: got %v, want that error", err)
	}
}

// gaveUp checks that a writer has given up its place for the given reason.
func gaveUp(t *testing.T, w commitlog.ClusterWriter, reason error) {
	t.Helper()
	select {
	case err := <-w.Lost():
		if !errors.Is(err, reason) {
			t.Errorf("the writer has given up its place because of %v, want %v", err, reason)
		}
	default:
		t.Error("the writer has not given up its place")
	}
}
