package wal

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestVerifyAndStat(t *testing.T) {
	dir := t.TempDir()
	if _, err := Verify(dir, VerifyOptions{}); err != ErrNoLog {
		t.Fatalf("got %v, want ErrNoLog", err)
	}
	w := mustOpen(t, dir, small())
	if v, err := Verify(dir, VerifyOptions{}); err != nil || v.Frames != 0 || !v.Live || v.ID != w.LogID() {
		t.Fatalf("empty log: got %+v, %v; want no frames, Live and the writer's ID", v, err)
	}
	fill(t, w, 40, 2000)
	live, err := Verify(dir, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if live.Commits != 80 || live.LastSeq != 80 || live.Digest != w.LastDigest() || live.Chain != w.seg.prev || !live.Live || live.End != 80 {
		t.Fatalf("with a writer: got %+v, want 80 commits", live)
	}
	w.Close()
	var seen, progress []string
	next := uint64(1)
	v, err := Verify(dir, VerifyOptions{
		OnSegment: func(s *SegmentInfo) error { seen = append(seen, fmt.Sprint(s.Ordinal, s.First)); return nil },
		OnFrame: func(f *FrameInfo) error {
			if f.Frame.First != next || f.Seal != (f.Frame.Count == 0) || f.Seal != (len(f.Frame.Body) == 0) {
				t.Errorf("got frame %+v, want one that begins at %d", f, next)
			}
			next += uint64(f.Frame.Count)
			return nil
		},
		OnProgress: func(done, total int64) {
			progress = append(progress, fmt.Sprint(done/minSegment, "/", total/minSegment))
		},
	})
	live.Live = false
	if err != nil || v != live {
		t.Errorf("of a stopped log: got %+v, %v\nwant %+v", v, err, live)
	}
	if got := strings.Join(seen, ",") + " " + strings.Join(progress, ","); got != "0 1,1 29,2 57 1/3,2/3,3/3" {
		t.Errorf("got segments and progress %q, want %q", got, "0 1,1 29,2 57 1/3,2/3,3/3")
	}
	list, total, err := Stat(dir, nil)
	if err != nil || len(list) != 3 || total.Commits != 80 {
		t.Fatalf("Stat: got %+v, %+v, %v; want 3 segments and 80 commits", list, total, err)
	}
	if s := list[0]; !s.Sealed || s.Last != 28 || s.Frames != 14 || s.Commits != 28 || s.FirstTime == 0 || s.LastTime <= s.FirstTime || s.Used != 4096+14*4096+512 {
		t.Errorf("first segment: got %+v, want it sealed, with 14 frames and 28 commits", s)
	}
	if s := list[2]; s.Sealed || s.First != 57 || s.Last != 80 {
		t.Errorf("last segment: got %+v, want it not sealed, with commits 57 to 80", s)
	}
	os.Remove(join(dir, endName))
	if v, err := Verify(dir, VerifyOptions{}); err != nil || v.HasEnd || v.LastSeq != 80 {
		t.Errorf("without END: got %+v, %v; want LastSeq 80", v, err)
	}
	stop := errors.New("stop")
	if _, err := Verify(dir, VerifyOptions{OnFrame: func(*FrameInfo) error { return stop }}); err != stop {
		t.Errorf("error of a callback: got %v, want %v", err, stop)
	}
}

func TestVerifyTornTail(t *testing.T) {
	dir := damaged(t, func(d *damage) { d.put(d.off, []byte{1, 2, 3}) })
	before := snapshot(t, dir)
	if v, err := Verify(dir, VerifyOptions{}); err != nil || v.Torn != frameAlign {
		t.Errorf("got %+v, %v; want Torn %d", v, err, frameAlign)
	}
	if snapshot(t, dir) != before {
		t.Error("Verify changed the log")
	}
}

// TestVerifyBesideWriter verifies a log repeatedly while a writer appends.
func TestVerifyBesideWriter(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, Options{SegmentSize: minSegment})
	done := make(chan error, 1)
	go func() {
		for range 200 {
			if err := w.Append(testFrame(w.LastSeq()+1, 2, 1500)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for last := uint64(0); ; {
		v, err := Verify(dir, VerifyOptions{})
		if err != nil || v.LastSeq < last || v.LastSeq != v.End {
			t.Fatalf("got %+v, %v; want LastSeq equal to End, and at least %d", v, err, last)
		}
		last = v.LastSeq
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// TestRepair repairs the damage in refusals, except where no repair is possible. There,
// Repair must return an error.
func TestRepair(t *testing.T) {
	hopeless := map[string]bool{"first segment missing": true, "all segments missing": true, "segments and END missing": true, "END damaged, no segments": true}
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			var last uint64
			dir := damaged(t, func(d *damage) { c.damage(d); last = d.last })
			before := snapshot(t, dir)
			dry, err := Repair(dir, RepairOptions{FS: noSync{}})
			if after := snapshot(t, dir); after != before {
				t.Fatal("the log was changed without Accept")
			}
			if hopeless[c.name] {
				if err == nil {
					t.Fatal("nothing can be repaired, but the report does not say so")
				}
				return
			}
			var damage *CorruptError
			if err != nil || !dry.Needed || dry.Kept+dry.Lost < last || !errors.As(dry.Reason, &damage) {
				t.Fatalf("without Accept: got %+v, %v; want a repair that keeps or loses %d commits", dry, err, last)
			}
			did, err := Repair(dir, RepairOptions{FS: noSync{}, Accept: true})
			if err != nil || did.Kept != dry.Kept || (did.Copy != "") != (did.Bytes > 0) {
				t.Fatalf("with Accept: got %+v, %v; want Kept %d", did, err, dry.Kept)
			}
			w := mustOpen(t, dir, small())
			if w.LastSeq() != did.Kept {
				t.Fatalf("the log ends at %d, want %d", w.LastSeq(), did.Kept)
			}
			fill(t, w, 5, 2000)
			want := w.LastSeq()
			w.Close()
			if got := readAll(t, mustReader(t, dir, small())); got != want {
				t.Errorf("read up to %d, want %d", got, want)
			}
			for _, m := range did.Moved {
				if _, err := os.Stat(m); err != nil || filepath.Ext(m) != ".bad" {
					t.Error(err)
				}
			}
			if again, err := Repair(dir, RepairOptions{FS: noSync{}, Accept: true}); err != nil || again.Needed {
				t.Errorf("after the repair: got %+v, %v; want no further repair", again, err)
			}
		})
	}
}

// TestRepairWithAnothersEnd examines a log with the END of another, longer log. This
// END does not prove a loss.
func TestRepairWithAnothersEnd(t *testing.T) {
	other := endHeader{ID: LogID{1}}
	dir := damaged(t, func(d *damage) {
		if err := os.WriteFile(join(d.dir, endName), other.Marshal(1<<40), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	report, err := Repair(dir, RepairOptions{FS: noSync{}})
	if err != nil || !report.Needed || report.Kept == 0 || report.Lost != 0 {
		t.Errorf("got %+v, %v; want Needed and Lost 0", report, err)
	}
}

func TestRepairNeedsTheLock(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, small())
	for _, accept := range []bool{false, true} {
		if _, err := Repair(dir, RepairOptions{FS: noSync{}, Accept: accept}); !errors.Is(err, ErrLocked) {
			t.Fatalf("got %v, want ErrLocked", err)
		}
	}
}

// TestRepairOnlyLooks checks that Repair without Accept creates nothing, even in a
// read-only directory that has no LOCK, and that it detects a writer that starts
// meanwhile.
func TestRepairOnlyLooks(t *testing.T) {
	dir := damaged(t, func(d *damage) { patch(d.t, d.seg(2), d.off-bigFrame+100, flip, 1) })
	if err := os.Remove(join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	look := func(fsys FS) (RepairReport, error) { return Repair(dir, RepairOptions{FS: fsys}) }
	if report, err := look(readOnly{}); err != nil || !report.Needed {
		t.Errorf("got %+v, %v; want Needed", report, err)
	}
	if !maps.Equal(before, files(t, dir)) {
		t.Error("the directory was changed")
	}
	fsys := &faultFS{FS: noSync{}}
	fsys.setFail(func(_ int, op, name string) error {
		if op != "open" || filepath.Base(name) != segmentName(1) {
			return nil
		}
		fsys.fail = nil // the lock of fsys is held
		writer, err := (OS{}).Lock(join(dir, lockName))
		if err == nil {
			t.Cleanup(func() { writer.Close() })
		}
		return err
	})
	if report, err := look(fsys); !errors.Is(err, ErrLocked) {
		t.Errorf("with a writer that starts: got %+v, %v; want ErrLocked", report, err)
	}
}

// A readOnly filesystem does not permit creating, locking or writing files.
type readOnly struct{ OS }

func (readOnly) Create(string) (File, error) { return nil, syscall.EROFS }
func (readOnly) Lock(string) (File, error)   { return nil, syscall.EROFS }
func (readOnly) Open(name string, write bool) (File, error) {
	if write {
		return nil, syscall.EROFS
	}
	return OS{}.Open(name, false)
}

// TestRepairWithoutLog checks that Repair creates nothing in a directory that does not
// hold a log, and returns ErrNoLog. If checkpoints show that there was a log, it must
// return another error.
func TestRepairWithoutLog(t *testing.T) {
	log, _ := longLog(t)
	left := t.TempDir()
	for _, d := range []string{log, left} {
		if err := (OS{}).Mkdir(join(d, ckptDir)); err != nil {
			t.Fatal(err)
		}
		checkpointAt(t, d, 1)
	}
	for _, c := range []struct {
		dir  string
		none bool
	}{
		{t.TempDir(), true}, {join(t.TempDir(), "none"), true}, {segmentsPath(log), true}, {join(log, ckptDir), true}, {left, false},
	} {
		before, _ := (OS{}).List(c.dir)
		_, err := Repair(c.dir, RepairOptions{Accept: true})
		if err == nil || errors.Is(err, ErrNoLog) != c.none {
			t.Errorf("%s: got %v, want an error (ErrNoLog: %v)", c.dir, err, c.none)
		}
		if after, _ := (OS{}).List(c.dir); c.none && !slices.Equal(before, after) {
			t.Errorf("%s had %q, and now has %q", c.dir, before, after)
		}
	}
}

// TestRepairCheckpoints checks that Repair moves aside checkpoints that are damaged or
// belong to another log. The log itself is valid, and the other checkpoints stay.
func TestRepairCheckpoints(t *testing.T) {
	for _, c := range []struct {
		name     string
		archived bool
		bad      []uint64 // checkpoints that Repair must move: no frame ends at 9, and the others are damaged
		seqs     []uint64
		refuse   bool // Repair must return an error
	}{
		{name: "all good", seqs: []uint64{4, 8}},
		{name: "one damaged", seqs: []uint64{4, 8, 12}, bad: []uint64{8}},
		{name: "all damaged", seqs: []uint64{4, 8}, bad: []uint64{4, 8}},
		{name: "in the middle of a frame", seqs: []uint64{4, 9}, bad: []uint64{9}},
		{name: "archived, one damaged", archived: true, seqs: []uint64{12, 16}, bad: []uint64{16}},
		{name: "archived, all damaged", archived: true, seqs: []uint64{12, 16}, bad: []uint64{12, 16}, refuse: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := mustOpen(t, dir, small())
			places := map[uint64]Place{}
			for range 10 {
				f := testFrame(w.LastSeq()+1, 2, 6000)
				if err := w.Append(f); err != nil {
					t.Fatal(err)
				}
				places[f.Last()] = f.Place()
			}
			w.Close()
			for _, seq := range c.seqs {
				if err := os.WriteFile(CheckpointPath(dir, seq), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.archived {
				if err := os.Remove(segPath(t, dir, 0)); err != nil {
					t.Fatal(err)
				}
			}
			o := RepairOptions{FS: noSync{}, Checkpoint: func(seq uint64, _ LogID) (Place, error) {
				if slices.Contains(c.bad, seq) && seq%2 == 0 {
					return Place{}, &CorruptError{File: CheckpointPath(dir, seq), Rule: "checkpoint"}
				}
				p := places[seq+seq%2]
				p.Seq = seq
				return p, nil
			}}
			for run := range 2 { // in the second run, the names of the first are taken
				o.Accept = false
				before := snapshot(t, dir)
				dry, err := Repair(dir, o)
				if snapshot(t, dir) != before {
					t.Fatal("the log was changed without Accept")
				}
				if c.refuse {
					if err == nil {
						t.Fatalf("no valid checkpoint is left, but Repair reports %+v", dry)
					}
					return
				}
				o.Accept = true
				did, err := Repair(dir, o)
				if err != nil || dry.Needed != (c.bad != nil) || did.Needed != dry.Needed || did.Lost != 0 || did.Kept != 20 || len(did.Moved) != len(c.bad) {
					t.Fatalf("without Accept: %+v; with Accept: %+v, %v; want %d checkpoints moved", dry, did, err, len(c.bad))
				}
				for i, m := range did.Moved {
					if want := CheckpointPath(dir, c.bad[i]) + []string{".bad", "-1.bad"}[run]; m != want {
						t.Errorf("moved to %s, want %s", m, want)
					}
				}
				if again, err := Repair(dir, o); err != nil || again.Needed {
					t.Errorf("after the repair: got %+v, %v; want no further repair", again, err)
				}
				for _, seq := range c.bad {
					if err := os.WriteFile(CheckpointPath(dir, seq), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
