package wal_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// The tests here reproduce past defects, most of which docs/durability.md lists.

// TestPowerCutGarblesEnd corrupts END as a power cut may, since END may be written at
// any time. The frames must then decide where the log ends, and a notice must say so.
func TestPowerCutGarblesEnd(t *testing.T) {
	for name, harm := range map[string]func(b []byte){
		"magic":       func(b []byte) { b[0] ^= 1 },
		"log id":      func(b []byte) { b[20] ^= 1 },
		"durable end": func(b []byte) { binary.LittleEndian.PutUint64(b[64:], 1<<40) },
		"all":         func(b []byte) { clear(b[:512]); b[7] = 1 },
		"version":     func(b []byte) { b[8] = 77 },
	} {
		d, r := newLog(t, 1)
		b, _ := d.ReadFile(crashDir + "/END")
		harm(b)
		d.WriteFile(crashDir+"/END", b)
		var notices []string
		p := d.Process()
		w, err := wal.Open(crashDir, options(p, &notices))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if w.LastSeq() != r.acked || len(notices) != 1 || !strings.Contains(notices[0], "END was damaged") {
			t.Errorf("%s: the log ends at %d, want %d; notices %q, want one that END was damaged", name, w.LastSeq(), r.acked, notices)
		}
		w.Close()
		if err := r.recovers(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRestOfTornFrameBehindSeal zeroes a torn frame, but the sync of the zeroes fails.
// The next open still sees the zeroes, and a seal is written where the frame began.
// Then a power cut undoes the zeroes. The rest of the frame, after the seal, must not
// be a reason to reject the log.
func TestRestOfTornFrameBehindSeal(t *testing.T) {
	sealed := 0
	for seed := range uint64(40) {
		d := memfs.New(seed)
		var r run
		killedIn(t, d, &r, 4, memfs.OpSync) // the fifth frame, of 28 KB, is torn
		d.Crash()
		p := d.Process()
		p.Plan(func(_ int, op memfs.Op, name string) (f memfs.Fault) {
			if op == memfs.OpSync && strings.HasSuffix(name, ".seg") {
				f.Err = syscall.EIO
			}
			return f
		})
		if _, err := wal.Open(crashDir, options(p, nil)); err == nil {
			continue // none of it reached the disk
		}
		p.Kill()
		p = d.Process()
		p.Plan(func(_ int, op memfs.Op, _ string) memfs.Fault { return memfs.Fault{Kill: op == memfs.OpRename} })
		memfs.Survives(func() {
			w, err := wal.Open(crashDir, options(p, nil))
			if err != nil {
				t.Fatal(err)
			}
			if w.LastSeq() > r.acked { // the frame was complete
				return
			}
			large := &wal.Frame{First: w.LastSeq() + 1, Count: 1, Body: wal.AppendRecord(nil, make([]byte, 30000))}
			w.Append(large)
			t.Fatal("the frame was appended without a rotation")
		})
		d.Crash()
		sealed++
		if err := r.recovers(d); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if sealed < 20 {
		t.Errorf("only %d seals were written, want at least 20", sealed)
	}
}

// TestNameOfEndIsSynced makes the sync of END's name fail when END is created. The next
// open, which finds END, must then sync the name. makeDirs does that.
func TestNameOfEndIsSynced(t *testing.T) {
	for seed := range uint64(20) {
		d := memfs.New(seed)
		p := d.Process()
		last := ""
		p.Plan(func(_ int, op memfs.Op, name string) (f memfs.Fault) {
			if op == memfs.OpSyncDir && strings.HasSuffix(last, "/END") {
				f.Err = syscall.EIO
			}
			last = name
			return f
		})
		if _, err := wal.Open(crashDir, options(p, nil)); err == nil {
			t.Fatal("the failed sync was not reported")
		}
		p.Kill()
		var r run
		if err := r.work(d.Process(), 1, 2); err != nil {
			t.Fatal(err)
		}
		d.Crash()
		if _, err := d.ReadFile(crashDir + "/END"); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestKilledBeforeNewEnd corrupts END as a power cut may, kills the next open before it
// has created a new END, and cuts the power during the open after that. The second open,
// in the same boot, once treated commits acknowledged before the first power cut as
// doubtful, and rewrote them (found by simulation 8485).
func TestKilledBeforeNewEnd(t *testing.T) {
	made, acked := newLog(t, 1)
	step := raceFactor
	if !longtest.Form(t, "two of three operations of the second open") {
		step *= 3
	}
	for n := 0; ; n++ {
		dead := true
		for m := n % step; dead; m += step {
			seed := uint64(100*n + m)
			d, r := made.Clone(memfs.Random(seed), seed), acked
			d.Crash()
			b, _ := d.ReadFile(crashDir + "/END")
			b[0] ^= 1
			d.WriteFile(crashDir+"/END", b)
			for i, at := range []int{n, m} {
				p := d.Process()
				p.Plan(memfs.KillAt(at))
				dead = !memfs.Survives(func() {
					if _, err := wal.Open(crashDir, options(p, nil)); err != nil {
						t.Fatal(err)
					}
				})
				p.Kill()
				if !dead && i == 0 {
					return
				}
			}
			d.Crash()
			if err := r.recovers(d); err != nil {
				t.Fatalf("killed at operation %d, and the machine at operation %d after that: %v", n, m, err)
			}
		}
	}
}

// TestSecondPowerCutHarmsNothing checks that recovery after a power cut does not write
// to frames that may have been acknowledged. A second power cut could damage them.
func TestSecondPowerCutHarmsNothing(t *testing.T) {
	for _, gone := range []bool{false, true} { // END too low; END corrupted
		d, r := newLog(t, 1)
		d.Crash()
		b, _ := d.ReadFile(crashDir + "/END")
		if gone {
			b[0] ^= 1
		} else {
			e := memfs.New(2)
			var early run
			if err := early.work(e.Process(), 1, 1); err != nil {
				t.Fatal(err)
			}
			b, _ = e.ReadFile(crashDir + "/END")
		}
		d.WriteFile(crashDir+"/END", b)
		d.Crash() // the boot that END names has ended
		p := d.Process()
		p.Plan(func(_ int, op memfs.Op, name string) (f memfs.Fault) {
			if op == memfs.OpWrite && strings.HasSuffix(name, ".seg") {
				t.Errorf("END garbled %v: recovery writes to %s, want no write", gone, name)
			}
			return f
		})
		w, err := wal.Open(crashDir, options(p, nil))
		if err != nil || w.LastSeq() != r.acked {
			t.Fatal(err)
		}
		d.Crash()
		if err := r.recovers(d); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreadableHeaderIsDamage checks that readers report damage if the disk can't read
// the header of a segment, as they do for a frame: with the file and the place in the
// log.
func TestUnreadableHeaderIsDamage(t *testing.T) {
	d := memfs.New(1)
	var r run
	if err := r.work(d.Process(), 1, 7); err != nil { // two segments
		t.Fatal(err)
	}
	p := d.Process()
	reader, err := wal.OpenReader(crashDir, options(p, nil))
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	p.Plan(func(_ int, op memfs.Op, name string) memfs.Fault {
		if op == memfs.OpRead && last > 0 && strings.HasSuffix(name, ".seg") && !strings.HasSuffix(name, firstSegment) {
			return memfs.Fault{Err: syscall.EIO}
		}
		return memfs.Fault{}
	})
	for err == nil {
		var f *wal.Frame
		if f, err = reader.Next(); err == nil {
			last = f.Last()
		}
	}
	var c *wal.CorruptError
	if !errors.As(err, &c) || !errors.Is(err, syscall.EIO) || c.Rule != "unreadable" || c.Seq != last || c.Offset != 0 {
		t.Errorf("after commit %d: got %v, want rule \"unreadable\" at offset 0, and EIO", last, err)
	}
}
