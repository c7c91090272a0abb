package wal

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testBody returns count records that depend on seq.
func testBody(seq uint64, count, size int) []byte {
	var body []byte
	for i := range count {
		rec := bytes.Repeat([]byte{byte(seq) + byte(i) + 1}, size)
		body = AppendRecord(body, rec)
	}
	return body
}

func testFrame(first uint64, count, size int) *Frame {
	return &Frame{First: first, Count: uint32(count), Digest: first * 0x9e3779b97f4a7c15, Body: testBody(first, count, size)}
}

// clock returns a clock that counts 1000, 2000, 3000 …
func clock() func() int64 {
	var mu sync.Mutex
	var t int64
	return func() int64 { mu.Lock(); defer mu.Unlock(); t += 1000; return t }
}

// small returns options with small segments, no goroutines and no sync. Without
// crashes, these tests see only the page cache anyway.
func small() Options {
	return Options{FS: noSync{}, SegmentSize: minSegment, Now: clock(), Manual: true, Rand: bytes.NewReader([]byte("0123456789abcdef"))}
}

func mustOpen(t testing.TB, dir string, o Options) *Writer {
	t.Helper()
	w, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func mustReader(t testing.TB, dir string, o Options) *Reader {
	t.Helper()
	r, err := OpenReader(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// fill appends n frames of two records of the given size each.
func fill(t testing.TB, w *Writer, n, size int) {
	t.Helper()
	for range n {
		if err := w.Append(testFrame(w.LastSeq()+1, 2, size)); err != nil {
			t.Fatal(err)
		}
	}
}

// readAll reads to the end and checks everything that fill wrote.
func readAll(t testing.TB, r *Reader) (last uint64) {
	t.Helper()
	for {
		f, err := r.Next()
		if err == ErrEnd {
			return last
		}
		if err != nil {
			t.Fatal(err)
		}
		checkFrame(t, f)
		last = f.Last()
	}
}

func checkFrame(t testing.TB, f *Frame) {
	t.Helper()
	size := len(f.Body)/int(f.Count) - recordPrefix
	want := testFrame(f.First, int(f.Count), size)
	if f.Digest != want.Digest || !bytes.Equal(f.Body, want.Body) || f.Time == 0 {
		t.Fatalf("frame %d differs from the one that was appended: %d records, digest %x, %d bytes", f.First, f.Count, f.Digest, len(f.Body))
	}
}

// crash drops a writer as a kill of its process would: its lock is released, but END is
// not synced, and a spare is not removed.
func crash(w *Writer) {
	if w.shell != nil {
		w.shell.stop()
	}
	w.seg.file.Close()
	w.end.Close()
	w.lock.Close()
	w.lock = nil
}

// segPath returns the path of the i-th segment.
func segPath(t testing.TB, dir string, i int) string {
	t.Helper()
	firsts, err := listSeqs(OS{}, segmentsPath(dir), segmentExt)
	if err != nil || i >= len(firsts) {
		t.Fatalf("no segment %d in %v: %v", i, firsts, err)
	}
	return join(segmentsPath(dir), segmentName(firsts[i]))
}

// patch changes bytes of a file.
func patch(t testing.TB, path string, off int64, change func(b []byte), n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, n)
	if err := readFull(f, b, off); err != nil {
		t.Fatal(err)
	}
	change(b)
	if _, err := f.WriteAt(b, off); err != nil {
		t.Fatal(err)
	}
}

func flip(b []byte) { b[0] ^= 0x10 }

// copyDir copies the directory of a log. The copy is not locked.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// wantRule checks that err is a CorruptError of that rule.
func wantRule(t testing.TB, err error, rule string) *CorruptError {
	t.Helper()
	var c *CorruptError
	if !errors.As(err, &c) {
		t.Fatalf("got %v, want a CorruptError (%s)", err, rule)
	}
	if c.Rule != rule {
		t.Fatalf("got rule %q (%v), want %q", c.Rule, err, rule)
	}
	return c
}

// A noSync is the operating system's filesystem, except that syncs of files and
// directories do nothing.
type noSync struct{ OS }

func (n noSync) Create(name string) (File, error) { return unsynced(n.OS.Create(name)) }

func (n noSync) Open(name string, write bool) (File, error) {
	return unsynced(n.OS.Open(name, write))
}

func (noSync) SyncDir(string) error { return nil }

func unsynced(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}

type noSyncFile struct{ File }

func (noSyncFile) Sync() error { return nil }

// A faultFS passes operations on to another FS. It counts those that create, open, lock,
// map, write, sync, rename, link or remove something. A counted operation fails if the
// function fail returns an error for it. A faultFS is not a Mapper, so readers use ReadAt.
type faultFS struct {
	FS
	mu   sync.Mutex
	n    int
	fail func(n int, op, name string) error // nil: no operation fails
	boot *BootID                            // if not nil, the result of Boot
	log  []string
	open map[string]*faultFile // by name, the newest file
}

func (f *faultFS) op(op, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.n
	f.n++
	f.log = append(f.log, op+" "+filepath.Base(name))
	if f.fail == nil {
		return nil
	}
	if err := f.fail(n, op, name); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

func (f *faultFS) setFail(fail func(n int, op, name string) error) {
	f.mu.Lock()
	f.fail = fail
	f.mu.Unlock()
}

func (f *faultFS) wrap(op, name string, open func() (File, error)) (File, error) {
	if err := f.op(op, name); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	ff := &faultFile{File: file, fs: f}
	ff.name.Store(&name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[string]*faultFile{}
	}
	f.open[name] = ff
	return ff, nil
}

func (f *faultFS) Create(name string) (File, error) {
	return f.wrap("create", name, func() (File, error) { return f.FS.Create(name) })
}

func (f *faultFS) Open(name string, write bool) (File, error) {
	return f.wrap("open", name, func() (File, error) { return f.FS.Open(name, write) })
}

func (f *faultFS) Lock(name string) (File, error) {
	return f.wrap("lock", name, func() (File, error) { return f.FS.Lock(name) })
}

func (f *faultFS) Rename(a, b string) error {
	if err := f.op("rename", b); err != nil {
		return err
	}
	f.mu.Lock()
	if ff := f.open[a]; ff != nil {
		ff.name.Store(&b)
	}
	f.mu.Unlock()
	return f.FS.Rename(a, b)
}

func (f *faultFS) Link(a, b string) error {
	if err := f.op("link", b); err != nil {
		return err
	}
	return f.FS.Link(a, b)
}

func (f *faultFS) Remove(name string) error {
	if err := f.op("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faultFS) Mkdir(name string) error {
	if err := f.op("mkdir", name); err != nil {
		return err
	}
	return f.FS.Mkdir(name)
}

func (f *faultFS) SyncDir(name string) error {
	if err := f.op("syncdir", name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f *faultFS) Boot() (BootID, error) {
	if f.boot != nil {
		return *f.boot, nil
	}
	return f.FS.Boot()
}

func (f *faultFS) Share(name string, write bool) (Page, error) {
	if err := f.op("share", name); err != nil {
		return nil, err
	}
	p, err := f.FS.Share(name, write)
	if err != nil {
		return nil, err
	}
	return &faultPage{Page: p, fs: f, name: name}, nil
}

type faultFile struct {
	File
	fs   *faultFS
	name atomic.Pointer[string]
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.op("write", *f.name.Load()); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], off) // half of it is written
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultFile) Sync() error {
	if err := f.fs.op("sync", *f.name.Load()); err != nil {
		return err
	}
	return f.File.Sync()
}

type faultPage struct {
	Page
	fs   *faultFS
	name string
}

func (p *faultPage) Sync() error {
	if err := p.fs.op("sync", p.name); err != nil {
		return err
	}
	return p.Page.Sync()
}

// within waits for c, and fails the test if nothing arrives in time.
func within(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s did not happen within 30 s", what)
	}
}
