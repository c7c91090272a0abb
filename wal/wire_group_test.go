package wal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"assetledger/wal"
)

// A slowFS is a filesystem on which a sync of frames sends to begun, and then
// waits for goOn.
type slowFS struct {
	wal.OS
	begun, goOn chan struct{}
}

func (s slowFS) Create(name string) (wal.File, error) { return s.slow(s.OS.Create(name)) }
func (s slowFS) Open(name string, write bool) (wal.File, error) {
	return s.slow(s.OS.Open(name, write))
}

func (s slowFS) slow(f wal.File, err error) (wal.File, error) {
	if err != nil {
		return nil, err
	}
	return &slowFile{File: f, fs: s}, nil
}

type slowFile struct {
	wal.File
	fs    slowFS
	frame bool // the last write was a frame
}

// WriteAt recognizes a frame by its global_seq. Spares are zeroes, and the header of a
// segment is before offset 4096.
func (f *slowFile) WriteAt(b []byte, off int64) (int, error) {
	if len(b) >= 512 && off >= 4096 {
		f.frame = !bytes.Equal(b[8:16], make([]byte, 8))
	}
	return f.File.WriteAt(b, off)
}

func (f *slowFile) Sync() error {
	if f.frame {
		f.fs.begun <- struct{}{}
		<-f.fs.goOn
	}
	return f.File.Sync()
}

// TestCopySyncsInGroups checks that 60 frames need two syncs when the first sync is
// slow, and that no frame counts as durable before the end of its sync.
func TestCopySyncsInGroups(t *testing.T) {
	const frames = 60
	original, copied := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	a, err := wal.Open(original, wal.Options{SegmentSize: 8 << 20, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	for range frames {
		if err := a.Append(frameFor(a.LastSeq() + 1)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.OpenReader()
	if err != nil {
		t.Fatal(err)
	}
	origin, err := r.Origin()
	if err != nil {
		t.Fatal(err)
	}
	slow := slowFS{begun: make(chan struct{}), goOn: make(chan struct{})}
	b, err := wal.Open(copied, wal.Options{Origin: &origin, FS: slow})
	if err != nil {
		t.Fatal(err)
	}
	put := func() uint64 {
		f, err := r.Next()
		if err == nil {
			err = b.PutCopy(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f.Last()
	}
	seen, err := b.OpenReader()
	if err != nil {
		t.Fatal(err)
	}
	durable := func(want uint64) {
		t.Helper()
		if b.Durable() != want || seen.Durable() != want || b.LastSeq() < want {
			t.Fatalf("the writer counts commits up to %d as durable, and readers up to %d; the last completed sync covers %d", b.Durable(), seen.Durable(), want)
		}
	}
	first := put()
	<-slow.begun
	for range frames - 1 {
		put()
	}
	durable(0)
	slow.goOn <- struct{}{}
	<-slow.begun // the second one
	durable(first)
	slow.goOn <- struct{}{}
	if err := b.SyncCopy(); err != nil { // a third sync would block on begun
		t.Fatal(err)
	}
	durable(a.LastSeq())
	if b.Close() != nil || a.Close() != nil || seen.Close() != nil || r.Close() != nil {
		t.Fatal("a Close returned an error")
	}
	const segment = "wal/00000000000000000001.seg"
	want, err := os.ReadFile(filepath.Join(original, segment))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(copied, segment)); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the segment of the copy differs from the original: %v", err)
	}
}
