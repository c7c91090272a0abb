package wal

import "testing"

func TestMoved(t *testing.T) {
	dir := t.TempDir()
	clock := int64(100)
	o := Options{SegmentSize: 1 << 20, Now: func() int64 { clock++; return clock }}
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := OpenReader(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	opened := r.Moved()
	if opened <= 100 || opened > clock {
		t.Errorf("after opening, Moved is %d, want 101 to %d", opened, clock)
	}
	f := &Frame{First: 1, Count: 1, Body: AppendRecord(nil, []byte("x"))}
	if err := w.Append(f); err != nil {
		t.Fatal(err)
	}
	if got := r.Moved(); got <= f.Time || got > clock {
		t.Errorf("the batch has time %d, Moved is %d, and the clock is at %d; want them in this order", f.Time, got, clock)
	}
	if err := r.Close(); err != nil || r.Moved() != 0 {
		t.Errorf("after Close: Moved is %d, want 0; Close returned %v", r.Moved(), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(dir, o); err != nil { // the time in END must not be rejected as reserved bytes that are not zero
		t.Fatal(err)
	}
}
