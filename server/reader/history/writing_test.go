package history

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assetledger/wal"
	"assetledger/wal/memfs"
)

// A guardedFS checks which locks are held during each operation on a name. mu must not
// be held, so that no reader waits for the disk. writing must be held, so that no other
// goroutine changes files or reuses a generation.
type guardedFS struct {
	wal.FS
	t testing.TB
	x *Index // nil until there is one
}

func (g *guardedFS) look(op, name string) {
	if g.x == nil {
		return
	}
	if !g.x.mu.TryLock() {
		g.t.Errorf("%s %s: mu is held, so readers wait for the disk", op, name)
		return
	}
	g.x.mu.Unlock()
}

func (g *guardedFS) change(op, name string) {
	g.look(op, name)
	if g.x != nil && g.x.writing.TryLock() {
		g.x.writing.Unlock()
		g.t.Errorf("%s %s: writing is not held, so another goroutine may change files too", op, name)
	}
}

func (g *guardedFS) Open(name string, write bool) (wal.File, error) {
	g.change("open", name)
	return g.FS.Open(name, write)
}
func (g *guardedFS) List(dir string) ([]string, error) { g.change("list", dir); return g.FS.List(dir) }
func (g *guardedFS) Create(name string) (wal.File, error) {
	g.change("create", name)
	return g.FS.Create(name)
}
func (g *guardedFS) Rename(a, b string) error { g.change("rename", b); return g.FS.Rename(a, b) }
func (g *guardedFS) Remove(name string) error { g.change("remove", name); return g.FS.Remove(name) }
func (g *guardedFS) Mkdir(dir string) error   { g.change("mkdir", dir); return g.FS.Mkdir(dir) }
func (g *guardedFS) SyncDir(dir string) error { g.change("syncdir", dir); return g.FS.SyncDir(dir) }
func (g *guardedFS) Lock(name string) (wal.File, error) {
	g.change("lock", name)
	return g.FS.Lock(name)
}

// TestFilesChangeInTurn maintains an index in every way: files are written, merged,
// and rebuilt after damage and after the tailer was too far ahead, and an index begins
// at a checkpoint. All of that happens while writing is held and mu is not.
func TestFilesChangeInTurn(t *testing.T) {
	w, disk := newWorld(t, 5, 400), newDisk(1)
	g := &guardedFS{FS: disk.Process(), t: t}
	index := func() *Index {
		g.x = nil
		g.x = New(w.config(g))
		return g.x
	}
	f := w.follow(index(), 0)
	for more := true; more; {
		more = f.apply(25)
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
	}
	if f.Meter.Built.Load() <= uint64(len(f.files)) {
		t.Error("nothing was merged")
	}
	whole, err := disk.ReadFile(f.files[0].name)
	if err != nil {
		t.Fatal(err)
	}
	whole[headerBytes+100] ^= 1
	if err := disk.WriteFile(f.files[0].name, whole); err != nil {
		t.Fatal(err)
	}
	if f.ask([]uint64{f.files[0].last}) == 0 {
		t.Error("the damage was not found")
	}
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	f.compare(rand.New(rand.NewPCG(1, 1)), 0, 50)
	f.Close()
	seqs, _ := w.log.List()
	g.FS = newDisk(1).Process()
	f = w.follow(index(), seqs[0])
	f.apply(1000) // closes more generations than may wait
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, old := range seqs[:len(seqs)-2] {
		delete(w.log.checkpoints, old)
	}
	w.log.first = seqs[len(seqs)-2] - 20
	g.FS = newDisk(1).Process()
	f = w.follow(index(), seqs[len(seqs)-1])
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	if v, err := f.View(1); err != nil || v.Base() == 0 {
		t.Errorf("the index did not begin at a checkpoint: %v", err)
	}
	f.Close()
}

// TestDamageOfAnothersFile finds damage in a file that another daemon writes. Only that
// daemon removes the file, because it may have rebuilt it.
func TestDamageOfAnothersFile(t *testing.T) {
	w := newWorld(t, 3, 60)
	disk := newDisk(1)
	name, whole := w.oneFile(disk)
	p := disk.Process()
	a := w.follow(New(w.config(p)), 0)
	if held, err := a.hold(); !held || err != nil {
		t.Fatalf("acquiring the duty of writing files: %v, %v", held, err)
	}
	b := w.follow(New(w.config(p)), 0)
	for _, f := range []*follower{a, b} {
		f.apply(1000)
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
	}
	bad := append([]byte(nil), whole...)
	bad[headerBytes+100] ^= 1
	if err := disk.WriteFile(name, bad); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(disk.RemoveFile(name), disk.WriteFile(name, whole)); err != nil { // daemon a rebuilds it
		t.Fatal(err)
	}
	if b.ask([]uint64{b.files[0].last}) == 0 {
		t.Fatal("the damage was not found")
	}
	if err := b.keep(t); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.ReadFile(name); err != nil {
		t.Errorf("the rebuilt file is gone: %v", err)
	}
	if b.ask([]uint64{b.files[0].last}) != 0 {
		t.Error("the rebuilt file is not used")
	}
}

// TestProgressOfAnother checks that a daemon that waits for another one to build
// the index reports how much of it is built.
func TestProgressOfAnother(t *testing.T) {
	w := newWorld(t, 3, 120)
	p := newDisk(1).Process()
	a := w.follow(New(w.config(p)), 0)
	a.apply(10)
	if err := a.keep(t); err != nil {
		t.Fatal(err)
	}
	a.Cut()
	if err := a.keep(t); err != nil {
		t.Fatal(err)
	}
	seqs, _ := w.log.List()
	b := w.follow(New(w.config(p)), seqs[0])
	if _, err := b.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	var making *NotReadyError
	if made := covered(a.files); made == 0 || !errors.As(b.Ready(), &making) || making.Done != made || making.Of != seqs[0] {
		t.Errorf("the daemon reports %+v, want %d of %d commits", making, made, seqs[0])
	}
}

// TestMergedFilesAreRemoved kills a daemon after a merge, before it has removed the
// merged files. The next daemon removes them, but not while another one writes the
// files.
func TestMergedFilesAreRemoved(t *testing.T) {
	w, disk := newWorld(t, 5, 400), newDisk(1)
	p := disk.Process()
	p.Plan(func(_ int, op memfs.Op, name string) memfs.Fault {
		return memfs.Fault{Kill: op == memfs.OpRemove && strings.HasSuffix(name, fileExt)}
	})
	if memfs.Survives(func() {
		f := w.follow(New(w.config(p)), 0)
		for f.apply(25) {
			if err := f.keep(t); err != nil {
				t.Fatal(err)
			}
		}
	}) {
		t.Fatal("nothing was merged")
	}
	q := disk.Process()
	start := func(batches int) (here, used []string) {
		f := w.follow(New(w.config(q)), 0)
		defer f.Close()
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
		names, err := q.List("/log/history")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, fileExt) {
				here = append(here, join("/log/history", name))
			}
		}
		for _, file := range f.files {
			used = append(used, file.name)
		}
		f.apply(batches)
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
		f.compare(rand.New(rand.NewPCG(1, 1)), 0, 50)
		return here, used
	}
	lock, err := q.Lock("/log/history/LOCK")
	if err != nil {
		t.Fatal(err)
	}
	if here, used := start(1); len(here) <= len(used) {
		t.Errorf("while another daemon writes the files: there are %q, and %q are used; want none removed", here, used)
	}
	lock.Close()
	if here, used := start(1000); !slices.Equal(here, used) {
		t.Errorf("there are the files %q, and %q are used; want the same", here, used)
	}
}

// TestRemovedDirectory removes the directory while a daemon writes files in it. The
// daemon creates it again, with all files, and other daemons use them.
func TestRemovedDirectory(t *testing.T) {
	w, disk := newWorld(t, 5, 400), newDisk(1)
	p := disk.Process()
	f := w.follow(New(w.config(p)), 0)
	f.apply(60)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	names, err := p.List("/log/history")
	if err != nil || len(names) < 2 {
		t.Fatalf("the directory holds %q (%v), want at least 2 files", names, err)
	}
	for _, name := range names {
		err = errors.Join(err, p.Remove(join("/log/history", name)))
	}
	if err = errors.Join(err, p.Remove("/log/history")); err != nil {
		t.Fatal(err)
	}
	f.apply(30)
	f.Cut()
	if err := f.keep(t); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that does not exist: %v, want %v", err, fs.ErrNotExist)
	}
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	f.compare(r, 0, 50)
	f.Close()
	g := w.follow(New(w.config(p)), 0)
	g.apply(60)
	if err := g.keep(t); err != nil {
		t.Fatal(err)
	}
	g.compare(r, 0, 50)
	if g.Meter.Built.Load() != 0 {
		t.Errorf("the next daemon made %d files, want none", g.Meter.Built.Load())
	}
}

// TestMergeIsGivenUp stops a daemon when it has begun to merge files. It keeps the
// files, and the next daemon merges them.
func TestMergeIsGivenUp(t *testing.T) {
	w, disk := newWorld(t, 5, 400), newDisk(1)
	p := disk.Process()
	f := w.follow(New(w.config(p)), 0)
	for len(f.files) < mergedFiles-1 || len(f.gens) < 2 {
		if !f.apply(1) {
			t.Fatal("the log has too few commits")
		}
		if len(f.files) < mergedFiles-1 {
			if err := f.keep(t); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	made := 0
	p.Plan(func(_ int, op memfs.Op, name string) memfs.Fault {
		if op == memfs.OpCreate && strings.HasSuffix(name, tmpName) {
			if made++; made == 2 { // the first was for the generation
				stop()
				for !f.quit.Load() { // set by another goroutine
					runtime.Gosched()
				}
			}
		}
		return memfs.Fault{}
	})
	f.Run(ctx)
	if made != 2 || len(f.files) != mergedFiles {
		t.Errorf("%d files were begun, and there are %d; want 2 and %d", made, len(f.files), mergedFiles)
	}
	if _, err := disk.ReadFile(join("/log/history", tmpName)); err == nil {
		t.Error("the unfinished file is still there")
	}
	f.Close()
	g := w.follow(New(w.config(disk.Process())), 0)
	g.apply(1000)
	if err := g.keep(t); err != nil {
		t.Fatal(err)
	}
	g.compare(rand.New(rand.NewPCG(1, 1)), 0, 50)
}

// TestDamagedFileCannotBeRemoved finds damage on a disk that can't be written.
// Maintaining the index fails, and what is not damaged is served at once.
func TestDamagedFileCannotBeRemoved(t *testing.T) {
	w, disk := newWorld(t, 3, 60), newDisk(1)
	name, whole := w.oneFile(disk)
	p := disk.Process()
	f := w.follow(New(w.config(p)), 0)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	whole[headerBytes+100] ^= 1
	if err := disk.WriteFile(name, whole); err != nil {
		t.Fatal(err)
	}
	p.Plan(func(_ int, op memfs.Op, _ string) (fault memfs.Fault) {
		if op == memfs.OpLock || op == memfs.OpRemove {
			fault.Err = errInjected
		}
		return fault
	})
	if f.ask([]uint64{f.files[0].last}) == 0 {
		t.Fatal("the damage was not found")
	}
	if err := f.keep(t); !errors.Is(err, errInjected) {
		t.Errorf("maintaining the index: %v, want the injected error", err)
	}
	if err := f.Ready(); err != nil {
		t.Errorf("what is not damaged is not served: %v", err)
	}
}
