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
		t.Errorf("after opening: %d", opened)
	}
	f := &Frame{First: 1, Count: 1, Body: AppendRecord(nil, []byte("x"))}
	if err := w.Append(f); err != nil {
		t.Fatal(err)
	}
	if got := r.Moved(); got <= f.Time || got > clock {
		t.Errorf("a batch with time %d was durable at %d; now it is %d", f.Time, got, clock)
	}
	if err := r.Close(); err != nil || r.Moved() != 0 {
		t.Errorf("after Close: %d, %v", r.Moved(), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err = Open(dir, o); err != nil { // END's word for this time must not count as reserved bytes
		t.Fatal(err)
	}
}
