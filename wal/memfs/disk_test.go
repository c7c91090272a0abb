package memfs

import (
	"bytes"
	"errors"
	"io/fs"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"assetledger/wal"
)

func word(p wal.Page, at int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&p.Bytes()[at])) }

// TestSharedPage checks that every process sees a store into a shared page at once, and
// that stores may reach the disk at any time, completely or in part.
func TestSharedPage(t *testing.T) {
	found := map[uint64]bool{}
	noise := false
	for seed := range uint64(300) {
		d := New(seed)
		p := d.Process()
		put(t, p, "/end", string(make([]byte, pageSize)))
		page, err := p.Share("/end", true)
		check(t, err)
		other, err := d.Process().Share("/end", false)
		check(t, err)
		word(page, 64).Store(1)
		check(t, page.Sync())
		for v := uint64(2); v <= 4; v++ {
			word(page, 64).Store(v)
			if word(other, 64).Load() != v {
				t.Fatal("the other process reads a value other than the one that was stored")
			}
			p.Locked("/end") // any operation
		}
		d.Crash()
		b, _ := d.ReadFile("/end")
		v := uint64(b[64])
		clean := bytes.Count(b, []byte{0}) == pageSize-1
		noise = noise || !clean
		if clean {
			found[v] = true
		}
	}
	for v := uint64(1); v <= 4; v++ {
		if !found[v] {
			t.Errorf("no crash left the value %d", v)
		}
	}
	if found[0] || !noise {
		t.Errorf("synced bytes were lost: %v, want false; bytes were garbled: %v, want true", found[0], noise)
	}
}

func TestStale(t *testing.T) {
	d := New(1)
	p := d.Process()
	put(t, p, "/end", string(make([]byte, pageSize)))
	page, _ := p.Share("/end", true)
	if page.Stale() {
		t.Error("the page is stale before the rename")
	}
	p.Rename("/end", "/other")
	if !page.Stale() {
		t.Error("the page is not stale after the rename")
	}
}

func TestSameSeedSameCrash(t *testing.T) {
	run := func() string {
		d := New(7)
		p := d.Process()
		f := put(t, p, "/f", string(block('a', 9)))
		f.WriteAt(block('b', 7), 300)
		p.Create("/g")
		p.Rename("/g", "/h")
		d.Crash()
		return names(d) + text(t, d, "/f")
	}
	if run() != run() {
		t.Error("two runs with the same seed have different results")
	}
}

func TestCloneIsApart(t *testing.T) {
	d := New(1)
	p := d.Process()
	f := put(t, p, "/f", string(block('a', 1)))
	f.WriteAt(block('b', 1), 0)
	seen := map[string]bool{}
	for c := new(Choices); c.Next(); {
		e := d.Clone(c, 1)
		e.Crash()
		seen[sectors("/f")(e)] = true
	}
	if len(seen) != 3 || sectors("/f")(d) != "b" {
		t.Errorf("crashes of clones left %v, want three results; the original has %q, want \"b\"", seen, sectors("/f")(d))
	}
}

func TestSyncLies(t *testing.T) {
	d := New(1)
	d.SyncLies = true
	want(t, outcomes(t, func(d *Disk, p *Process) {
		f := put(t, p, "/f", string(block('a', 1)))
		d.SyncLies = true
		f.WriteAt(block('b', 1), 0)
		check(t, f.Sync())
	}, sectors("/f")), "a", "b", "?")
}

func TestErrors(t *testing.T) {
	p := New(1).Process()
	put(t, p, "/f", "")
	_, open := p.Open("/g", false)
	_, create := p.Create("/f")
	_, below := p.Create("/d/f")
	_, share := p.Share("/f", true)
	_, locked := p.Locked("/g")
	for i, c := range []struct{ got, want error }{
		{open, fs.ErrNotExist}, {create, fs.ErrExist}, {below, fs.ErrNotExist}, {share, syscall.EINVAL},
		{locked, fs.ErrNotExist}, {p.Remove("/g"), fs.ErrNotExist}, {p.Rename("/g", "/h"), fs.ErrNotExist}, {p.Mkdir("/f"), fs.ErrExist},
		{p.Link("/g", "/h"), fs.ErrNotExist}, {p.Link("/f", "/f"), fs.ErrExist}, {p.Link("/", "/h"), syscall.EPERM},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("case %d: got %v, want %v", i, c.got, c.want)
		}
	}
}
