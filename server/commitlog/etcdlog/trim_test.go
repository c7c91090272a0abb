package etcdlog_test

import (
	"errors"
	"fmt"
	"testing"

	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdfake"
	"assetledger/wal"
)

// fullWriter returns a writer whose etcd is so full that it rejects commits.
func fullWriter(t *testing.T) (*etcdfake.Client, *etcdfake.Store, *etcdlog.Writer) {
	t.Helper()
	store := etcdfake.NewStore()
	store.Quota = 100_000
	client := &etcdfake.Client{Store: store}
	d := newDriver(t, client, "/log", "a")
	d.Manual = true
	d.Again = func() func() bool { return func() bool { return false } }
	w := openWriter(t, d)
	for w.Beat(t.Context(), 0); w.Room() == nil; {
		if err := w.Append(frame(w.LastSeq(), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	return client, store, w
}

// follow announces two copies on other hosts that have everything up to seq.
func follow(t *testing.T, client *etcdfake.Client, seq uint64) {
	t.Helper()
	for _, name := range []string{"b", "c"} {
		value := fmt.Appendf(nil, `{"seq":%d,"url":"http://x"}`, seq)
		if _, err := client.Txn(t.Context(), &etcd.Txn{Then: []etcd.Op{{Put: "/log/mirror/" + name, Value: value}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrimWhileFull checks that frames that the copies have are deleted even while etcd
// is too full to append anything, and that commits are then accepted again.
func TestTrimWhileFull(t *testing.T) {
	client, store, w := fullWriter(t)
	w.Beat(t.Context(), 3)
	if err := w.Room(); !errors.Is(err, wal.ErrNoSpace) {
		t.Fatalf("Room without copies on other hosts: got %v, want ErrNoSpace", err)
	}
	follow(t, client, w.LastSeq())
	w.Beat(t.Context(), 6) // deletes
	w.Beat(t.Context(), 9) // measures again
	if err := w.Room(); err != nil {
		t.Errorf("Room when two copies have everything: %v", err)
	}
	if n := store.Size(); n < 25_000 || n > 30_000 {
		t.Errorf("%d bytes are kept, want 25,000 to 30,000: a quarter of the quota, which is less than the usual tail", n)
	}
	if err := errors.Join(w.Append(frame(w.LastSeq(), 10)), w.Confirm()); err != nil {
		t.Error(err)
	}
}

// TestTrimInDoubt checks that an append first resolves a deletion of frames
// whose outcome is unknown, whether etcd has executed it, executes it later, or
// never does.
func TestTrimInDoubt(t *testing.T) {
	for _, fault := range []etcdfake.Fault{etcdfake.RequestLost, etcdfake.ReplyLost, etcdfake.CarriedLate} {
		client, store, w := fullWriter(t)
		follow(t, client, w.LastSeq())
		client.Fault = func(call string) etcdfake.Fault {
			if call == "Txn" {
				return fault
			}
			return etcdfake.None
		}
		w.Beat(t.Context(), 3)
		if err := w.Append(frame(w.LastSeq(), 10)); err == nil {
			t.Fatal("Append succeeded without a reply")
		}
		client.Fault = nil
		if err := errors.Join(w.Confirm(), w.Append(frame(w.LastSeq(), 10)), w.Confirm()); err != nil {
			t.Errorf("fault %d: %v", fault, err)
		}
		for store.Ghosts() > 0 {
			store.Ghost(0)
		}
		if err := errors.Join(w.Append(frame(w.LastSeq(), 10)), w.Confirm()); err != nil || store.Size() > 35_000 {
			t.Errorf("fault %d, after the late transactions: %v; %d bytes are kept, want at most 35,000", fault, err, store.Size())
		}
	}
}
