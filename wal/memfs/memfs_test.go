package memfs

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assetledger/wal"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file and syncs it and its name.
func put(t *testing.T, p *Process, name, text string) wal.File {
	t.Helper()
	f, err := p.Create(name)
	check(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	check(t, err)
	check(t, f.Sync())
	check(t, p.SyncDir("/"))
	return f
}

func text(t *testing.T, d *Disk, name string) string {
	t.Helper()
	b, err := d.ReadFile(name)
	check(t, err)
	return string(b)
}

func block(c byte, n int) []byte { return bytes.Repeat([]byte{c}, n*sectorSize) }

// outcomes runs a scenario for each possible fate of what is in flight, and returns the
// distinct results of the function show after the crash.
func outcomes(t *testing.T, run func(d *Disk, p *Process), show func(d *Disk) string) []string {
	t.Helper()
	seen := map[string]bool{}
	for c := new(Choices); c.Next(); {
		d := New(1)
		d.Decide(c)
		run(d, d.Process())
		d.Crash()
		seen[show(d)] = true
	}
	var list []string
	for s := range seen {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

// sectors returns a function that shows each sector by its letter, "." for zeroes
// and "?" for a garbled one.
func sectors(name string) func(d *Disk) string {
	return func(d *Disk) string {
		b, err := d.ReadFile(name)
		if err != nil {
			return "absent"
		}
		var s strings.Builder
		for ; len(b) >= sectorSize; b = b[sectorSize:] {
			switch first := b[:sectorSize]; {
			case bytes.Count(first, first[:1]) != sectorSize:
				s.WriteByte('?')
			case first[0] == 0:
				s.WriteByte('.')
			default:
				s.WriteByte(first[0])
			}
		}
		return s.String()
	}
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("a crash can leave\n%q, want\n%q", got, want)
	}
}

func TestSectorsLandEachAlone(t *testing.T) {
	want(t, outcomes(t, func(d *Disk, p *Process) {
		f := put(t, p, "/f", string(block('a', 3)))
		f.WriteAt(block('b', 2), 0)
	}, sectors("/f")), "aaa", "aba", "baa", "bba", "?aa", "?ba", "a?a", "b?a", "??a")
}

// TestVersionsSinceTheSync checks that a crash leaves any version since the last sync,
// but none from before it.
func TestVersionsSinceTheSync(t *testing.T) {
	want(t, outcomes(t, func(d *Disk, p *Process) {
		f := put(t, p, "/f", string(block('x', 1)))
		f.WriteAt(block('a', 1), 0)
		f.Sync()
		f.WriteAt(block('b', 1), 0)
		f.WriteAt(block('c', 1), 0)
	}, sectors("/f")), "a", "b", "c", "?")
}

func TestSizesLandByThemselves(t *testing.T) {
	want(t, outcomes(t, func(d *Disk, p *Process) {
		f := put(t, p, "/f", "")
		f.WriteAt(block('a', 1), 0)
		f.WriteAt(block('b', 1), sectorSize)
	}, sectors("/f")), "", "a", ".", "?", "ab", "a.", "a?", ".b", "..", ".?", "?b", "?.", "??")
}

func TestSyncedSurvives(t *testing.T) {
	for seed := range uint64(50) {
		d := New(seed)
		p := d.Process()
		f := put(t, p, "/f", "old text")
		f.WriteAt([]byte("new"), 0)
		check(t, f.Sync())
		boot, _ := p.Boot()
		d.Crash()
		if got := text(t, d, "/f"); got != "new text" {
			t.Fatalf("seed %d: the file has %q, want \"new text\"", seed, got)
		}
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, ErrKilled) && !errors.Is(err, syscall.EBADF) {
			t.Fatalf("write by a dead process: got %v, want ErrKilled or EBADF", err)
		}
		if now, _ := d.Process().Boot(); now == boot {
			t.Fatal("the boot id is the same after a crash")
		}
	}
}

func names(d *Disk) string {
	list, _ := d.Process().List("/")
	return strings.Join(list, " ")
}

func TestNamesLandEachAlone(t *testing.T) {
	make := func(after func(p *Process)) func(d *Disk, p *Process) {
		return func(d *Disk, p *Process) {
			put(t, p, "/a", "a")
			after(p)
		}
	}
	want(t, outcomes(t, make(func(p *Process) { p.Create("/b"); p.Remove("/a") }), names), "", "a", "a b", "b")
	want(t, outcomes(t, make(func(p *Process) { p.Rename("/a", "/b") }), names), "a", "b", "a b")
	want(t, outcomes(t, make(func(p *Process) { p.Rename("/a", "/b"); p.SyncDir("/") }), names), "b")
	want(t, outcomes(t, make(func(p *Process) { p.Link("/a", "/b") }), names), "a", "a b")
	want(t, outcomes(t, make(func(p *Process) { p.Link("/a", "/b"); p.SyncDir("/"); p.Remove("/a") }), names), "a b", "b")
	want(t, outcomes(t, make(func(p *Process) { p.Mkdir("/d"); p.Create("/d/x"); p.SyncDir("/d") }), names), "a", "a d")
	want(t, outcomes(t, make(func(p *Process) { // a rename that replaces a name
		f, _ := p.Create("/b")
		f.WriteAt(block('b', 1), 0)
		f.Sync()
		p.SyncDir("/")
		p.Rename("/b", "/a")
		p.SyncDir("/")
	}), func(d *Disk) string { return names(d) + " " + sectors("/a")(d) }), "a b")
}

// TestSyncIsNotForNames checks that syncing a file does not make its name durable.
func TestSyncIsNotForNames(t *testing.T) {
	want(t, outcomes(t, func(d *Disk, p *Process) {
		f, _ := p.Create("/f")
		f.WriteAt(block('a', 1), 0)
		f.Sync()
	}, sectors("/f")), "absent", "a")
}

// TestFailedSync checks that, after a failed sync, the process sees its bytes and the
// next sync succeeds. The bytes may still be lost, unless they are written again.
func TestFailedSync(t *testing.T) {
	run := func(again bool) []string {
		return outcomes(t, func(d *Disk, p *Process) {
			f := put(t, p, "/f", string(block('a', 1)))
			f.WriteAt(block('b', 1), 0)
			p.Plan(FailFrom(0, syscall.EIO, false))
			if err := f.Sync(); !errors.Is(err, syscall.EIO) {
				t.Fatalf("got %v, want EIO", err)
			}
			b := make([]byte, sectorSize)
			if f.ReadAt(b, 0); b[0] != 'b' {
				t.Fatal("after the failed sync, the process no longer reads what it wrote")
			}
			if again {
				f.WriteAt(b, 0)
			}
			check(t, f.Sync())
		}, sectors("/f"))
	}
	want(t, run(false), "a", "b", "?")
	want(t, run(true), "b")
}

func TestShortWrites(t *testing.T) {
	lengths := map[int]bool{}
	for seed := range uint64(60) {
		d := New(seed)
		p := d.Process()
		f := put(t, p, "/f", "")
		p.Plan(FailFrom(0, syscall.EIO, false))
		n, err := f.WriteAt([]byte("abc"), 0)
		if !errors.Is(err, syscall.EIO) || text(t, d, "/f") != "abc"[:n] {
			t.Fatalf("wrote %d bytes with error %v, want EIO; the file has %q", n, err, text(t, d, "/f"))
		}
		lengths[n] = true
	}
	if len(lengths) != 4 {
		t.Errorf("failed writes of 3 bytes wrote %v bytes, want 0, 1, 2 and 3", lengths)
	}
}

func TestPlans(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		d := New(1)
		p := d.Process()
		p.Plan(FailFrom(1, syscall.EIO, lasting))
		check(t, p.Mkdir("/a"))
		if err := p.Mkdir("/b"); !errors.Is(err, syscall.EIO) {
			t.Fatalf("got %v, want EIO", err)
		}
		if err := p.Mkdir("/c"); (err != nil) != lasting {
			t.Errorf("operation 2, lasting %v: got %v", lasting, err)
		}
		if p.Operations() != 3 || d.Stats().Faults == 0 {
			t.Errorf("%d operations, want 3; stats %+v, want a fault", p.Operations(), d.Stats())
		}
	}
}

// TestKill checks that a killed process loses its locks and handles, but not the bytes
// that it wrote.
func TestKill(t *testing.T) {
	d := New(1)
	p := d.Process()
	lock, err := p.Lock("/lock")
	check(t, err)
	lock.WriteAt([]byte("mine"), 0)
	if _, err := d.Process().Lock("/lock"); !errors.Is(err, wal.ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}
	boot, _ := p.Boot()
	p.Plan(KillAt(0))
	reached := false
	if Survives(func() { p.Mkdir("/x"); reached = true }) || reached {
		t.Fatal("the process survived")
	}
	if !Survives(func() {}) {
		t.Fatal("Survives returned false, but no process was killed")
	}
	q := d.Process()
	if locked, err := q.Locked("/lock"); locked || err != nil {
		t.Fatalf("after the kill: Locked returned %v, %v; want false", locked, err)
	}
	if got := text(t, d, "/lock"); got != "mine" {
		t.Errorf("the file has %q, want \"mine\"", got)
	}
	if now, _ := q.Boot(); now != boot {
		t.Error("the boot id changed, but only a process was killed")
	}
	if _, err := lock.WriteAt([]byte("x"), 0); err == nil {
		t.Error("a dead process can write")
	}
	if err := p.Mkdir("/y"); !errors.Is(err, ErrKilled) {
		t.Errorf("got %v, want ErrKilled", err)
	}
}

func TestFullDisk(t *testing.T) {
	d := New(1)
	d.Limit(3 * pageSize)
	p := d.Process()
	a := put(t, p, "/a", strings.Repeat("a", pageSize+1))
	b, _ := p.Create("/b")
	n, err := b.WriteAt(make([]byte, 2*pageSize), 0)
	if n != pageSize || !errors.Is(err, syscall.ENOSPC) || d.Used() != 3*pageSize {
		t.Fatal(n, err, d.Used())
	}
	if _, err := a.WriteAt([]byte("bc"), 0); err != nil {
		t.Errorf("overwriting allocated bytes: %v", err)
	}
	check(t, p.Remove("/a"))
	if d.Used() != 3*pageSize {
		t.Error("the space of an open file was freed")
	}
	check(t, a.Close())
	if d.Used() != pageSize {
		t.Errorf("%d bytes are used, want %d", d.Used(), pageSize)
	}
	check(t, p.SyncDir("/"))
	d.Crash()
	if d.Used() > pageSize {
		t.Errorf("%d bytes are used after the crash, want at most %d", d.Used(), pageSize)
	}
}
