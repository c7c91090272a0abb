package mirror

import (
	"errors"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// TestRefusesAnotherHistory checks that a mirror stores nothing from a source
// that has another log, or that was restored from an older backup.
func TestRefusesAnotherHistory(t *testing.T) {
	o := late(t)
	d := memfs.New(1)
	if err := fill(t.Context(), sourceOf(t, o), d.Process(), o.w.LastSeq()); err != nil {
		t.Fatal(err)
	}
	end := o.w.LastSeq()
	for name, c := range map[string]struct {
		source func() *original
		want   string
	}{
		"another log": {func() *original { b := newOriginal(t); b.append(30, "b"); return b }, "log id"},
		"shorter":     {func() *original { return fork(t, o, end, false) }, "differs from the one here"},
		"longer":      {func() *original { return fork(t, o, end, true) }, "differs from the one here"},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.source()
			err := refused(t, b, d)
			if foreign, ok := errors.AsType[*ForeignError](err); !ok || foreign.URL != b.url || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want a ForeignError with %q", err, c.want)
			}
			if _, err := o.same(d); err != nil {
				t.Fatalf("the directory was changed: %v", err)
			}
		})
	}
	// A source that has less of the same history is only behind.
	b := fork(t, o, 0, false)
	if err := refused(t, b, d); !errors.Is(err, errBehind) {
		t.Errorf("a source that is behind: got %v, want errBehind", err)
	}
}

// fork copies the original's log, except for about the last eight commits. If end is
// not 0, the copy then continues differently, to a commit before end or after it.
func fork(t *testing.T, o *original, end uint64, beyond bool) *original {
	t.Helper()
	b := &original{TB: t, dir: t.TempDir() + "/fork", state: ledger.NewState(ledger.Config{IdempotencyKeys: 100})}
	w, err := wal.Open(b.dir, wal.Options{Manual: true, Origin: originOf(t, o), SegmentSize: testSegment})
	if err != nil {
		t.Fatal(err)
	}
	b.w = w
	t.Cleanup(func() { w.Close() })
	for b.w.LastSeq() < o.w.LastSeq()-8 {
		b.append(1, "a")
	}
	for end > 0 && (!beyond && b.w.LastSeq() < end-4 || beyond && b.w.LastSeq() < end+4) {
		b.append(1, "other")
	}
	b.serve()
	return b
}

func originOf(t *testing.T, o *original) *wal.Origin {
	t.Helper()
	r, err := wal.OpenReader(o.dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	origin, err := r.Origin()
	if err != nil {
		t.Fatal(err)
	}
	return &origin
}

// refused tries once to copy from a source, and returns why it was rejected.
func refused(t *testing.T, b *original, d *memfs.Disk) error {
	t.Helper()
	p := d.Process()
	defer p.Kill()
	o := memOptions(p)
	w, err := wal.Open(mirrorDir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return sourceOf(t, b).fillOnce(t.Context(), mirrorDir, o, w, 0)
}
