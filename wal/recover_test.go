package wal

import (
	"bytes"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damaged writes a log of three segments, the last of which holds 6 frames of
// two records. It then drops the writer as a crash would, and calls the function harm,
// which damages the log.
func damaged(t *testing.T, harm func(d *damage)) string {
	t.Helper()
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	for w.seg.head.Ordinal < 2 {
		fill(t, w, 1, 2000)
	}
	fill(t, w, 5, 2000)
	d := &damage{t: t, dir: dir, off: w.seg.off, prev: w.seg.prev, head: w.seg.head, last: w.LastSeq()}
	crash(w)
	harm(d)
	return dir
}

// A damage is a valid log that a test is about to damage, and the place where that log
// ends.
type damage struct {
	t    *testing.T
	dir  string
	off  int64 // end of the last frame
	prev uint32
	head segmentHeader // of the last segment
	last uint64
}

const bigFrame = 4096 // bytes of a frame of fill(…, 2000)

func (d *damage) seg(i int) string { return segPath(d.t, d.dir, i) }

// staleEnd moves END back by n records.
func (d *damage) staleEnd(n uint64) {
	d.end(d.last - n)
}

// end sets END.
func (d *damage) end(seq uint64) {
	patch(d.t, join(d.dir, endName), endDurableAt, func(b []byte) {
		le.PutUint64(b, seq)
		le.PutUint64(b[endCheckAt-endDurableAt:], ^seq)
	}, endCheckAt+8-endDurableAt)
}

func (d *damage) put(off int64, b []byte) {
	patch(d.t, d.seg(2), off, func(dst []byte) { copy(dst, b) }, len(b))
}

func (d *damage) zero(off int64, n int) { d.put(off, make([]byte, n)) }

// next returns the frame that would come next.
func (d *damage) next(change func(f *Frame, prev *uint32)) []byte {
	f := testFrame(d.last+1, 2, 2000)
	f.Time = 1 << 40
	prev := d.prev
	if change != nil {
		change(f, &prev)
	}
	b, _ := appendFrame(nil, f, prev, d.head.salt())
	return b
}

// refusals lists kinds of damage, each with the rule by which Open then rejects the
// log.
var refusals = []struct {
	name   string
	rule   string
	damage func(d *damage)
}{
	{"flip in the last frame, END covers it", "acknowledged frames missing", func(d *damage) { patch(d.t, d.seg(2), d.off-bigFrame+100, flip, 1) }},
	{"last frame zeroed, END covers it", "acknowledged frames missing", func(d *damage) { d.zero(d.off-bigFrame, bigFrame) }},
	{"flip in an earlier frame, END stale", "damage before the end", func(d *damage) {
		d.staleEnd(8)
		patch(d.t, d.seg(2), d.off-2*bigFrame+100, flip, 1)
	}},
	{"header flip in an earlier frame, END stale", "damage before the end", func(d *damage) {
		d.staleEnd(8)
		patch(d.t, d.seg(2), d.off-3*bigFrame+9, flip, 1)
	}},
	{"stray bytes far off", "unexplained bytes", func(d *damage) { d.put(minSegment-4096, []byte{1}) }},
	{"whole frame of another sequence", "frame does not fit", func(d *damage) {
		d.put(d.off, d.next(func(f *Frame, _ *uint32) { f.First += 5 }))
	}},
	{"whole frame of another chain", "frame does not fit", func(d *damage) {
		d.put(d.off, d.next(func(_ *Frame, prev *uint32) { *prev++ }))
	}},
	{"time goes back", "frame does not fit", func(d *damage) {
		d.put(d.off, d.next(func(f *Frame, _ *uint32) { f.Time = 1 }))
	}},
	{"records do not add up", "frame does not fit", func(d *damage) {
		d.put(d.off, d.next(func(f *Frame, _ *uint32) { f.Count++ }))
	}},
	{"checkpoint beyond the log", "acknowledged frames missing", func(d *damage) {
		writeTestFile(d.t, join(d.dir, ckptDir, strings.Replace(segmentName(d.last+1), segmentExt, ckptExt, 1)), nil)
	}},
	{"END beyond the log", "acknowledged frames missing", func(d *damage) {
		d.end(d.last + 1)
	}},
	{"END damaged, no segments", "END damaged", func(d *damage) {
		patch(d.t, join(d.dir, endName), 3, flip, 1)
		os.RemoveAll(segmentsPath(d.dir))
	}},
	{"END of another log", "END of another log", func(d *damage) {
		other := endHeader{ID: LogID{1}}
		patch(d.t, join(d.dir, endName), 0, func(b []byte) { copy(b, other.Marshal(3)) }, pageSize)
	}},
	{"middle segment missing", ruleGap, func(d *damage) { os.Remove(d.seg(1)) }},
	{"first segment missing", "front of the log missing", func(d *damage) { os.Remove(d.seg(0)) }},
	{"last segment missing", "acknowledged frames missing", func(d *damage) { os.Remove(d.seg(2)) }},
	{"all segments missing", "log missing, END present", func(d *damage) {
		os.RemoveAll(segmentsPath(d.dir))
	}},
	{"segments and END missing", "log missing, checkpoints present", func(d *damage) {
		os.RemoveAll(segmentsPath(d.dir))
		os.Remove(join(d.dir, endName))
		writeTestFile(d.t, join(d.dir, ckptDir, "00000000000000000003.ckpt"), nil)
	}},
	{"segment cut short", ruleSize, func(d *damage) { os.Truncate(d.seg(2), 32<<10) }},
	{"segment almost empty", ruleSize, func(d *damage) { os.Truncate(d.seg(2), 10) }},
	{"segment header flip", ruleHeader, func(d *damage) { patch(d.t, d.seg(1), 200, flip, 1) }},
	{"segment renamed", ruleHeader, func(d *damage) { os.Rename(d.seg(2), join(segmentsPath(d.dir), segmentName(d.last+9))) }},
	{"segment of another log", ruleForeign, func(d *damage) {
		patch(d.t, d.seg(2), 0, func(b []byte) { b[16]++; reseal(b) }, segmentHeaderSize)
	}},
	{"seal gone", ruleUnsealed, func(d *damage) { d.zeroSeal(1) }},
	{"seal damaged", "frame header", func(d *damage) { patch(d.t, d.seg(1), d.sealAt(1)+8, flip, 1) }},
	{"segment chain broken", ruleLink, func(d *damage) {
		patch(d.t, d.seg(2), 0, func(b []byte) { b[48]++; reseal(b) }, segmentHeaderSize)
	}},
}

// sealAt returns the place of the seal of the i-th segment.
func (d *damage) sealAt(i int) int64 {
	var at int64
	_, err := Verify(d.dir, VerifyOptions{HeadersOnly: true, OnFrame: func(f *FrameInfo) error {
		if f.Seal && f.File == d.seg(i) {
			at = f.Offset
		}
		return nil
	}})
	if err != nil || at == 0 {
		d.t.Fatalf("segment %d: seal at %d, %v; want one", i, at, err)
	}
	return at
}

func (d *damage) zeroSeal(i int) {
	patch(d.t, d.seg(i), d.sealAt(i), func(b []byte) { clear(b) }, sealSize)
}

func writeTestFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			dir := damaged(t, c.damage)
			before := snapshot(t, dir)
			_, err := Open(dir, small())
			got := wantRule(t, err, c.rule)
			if got.File == "" || !strings.Contains(err.Error(), "ledgerctl wal repair") || !strings.Contains(err.Error(), dir) {
				t.Errorf("the error does not say where and what to do: %v", err)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("a rejected log was changed: before\n%s\nafter\n%s", before, after)
			}
			if _, err := Verify(dir, VerifyOptions{}); err == nil {
				t.Error("Verify finds no damage")
			}
		})
	}
}

// snapshot returns everything that matters in a directory, as text.
func snapshot(t *testing.T, dir string) string {
	var s strings.Builder
	for _, pattern := range []string{"END", "wal/*", "ckpt/*"} {
		paths, _ := filepath.Glob(join(dir, pattern))
		for _, p := range paths {
			if st, err := os.Stat(p); err == nil && st.IsDir() {
				continue
			}
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			s.WriteString(filepath.Base(p) + " " + strings.Repeat("x", len(b)%97) + string(bytes.TrimRight(b, "\x00")) + "\n")
		}
	}
	return s.String()
}

// TestTornTail lets every subset of the sectors of an unacknowledged frame
// reach the disk.
func TestTornTail(t *testing.T) {
	var off int64
	var frame []byte
	var last uint64
	base := damaged(t, func(d *damage) {
		off, last = d.off, d.last

		f := testFrame(d.last+1, 2, 1000)
		f.Time = 1 << 40
		frame, _ = appendFrame(nil, f, d.prev, d.head.salt())
	})
	sectors := len(frame) / frameAlign
	for set := range 1 << sectors {
		dir := copyDir(t, base)
		landed := make([]byte, len(frame))
		for i := range sectors {
			if set>>i&1 == 1 {
				copy(landed[i*frameAlign:(i+1)*frameAlign], frame[i*frameAlign:])
			}
		}
		patch(t, segPath(t, dir, 2), off, func(b []byte) { copy(b, landed) }, len(landed))
		var notice string
		o := small()
		o.OnNotice = func(s string) { notice = s }
		w, err := Open(dir, o)
		if err != nil {
			t.Fatalf("sectors %b: %v", set, err)
		}
		copies, _ := filepath.Glob(join(dir, "wal", "torn-*.bad"))
		whole, none := set == 1<<sectors-1, set == 0
		switch {
		case whole && w.LastSeq() != last+2, !whole && w.LastSeq() != last:
			t.Errorf("sectors %b: the log ends at %d, but the complete frame is %d to %d", set, w.LastSeq(), last+1, last+2)
		case (whole || none) != (len(copies) == 0) || (whole || none) != (notice == ""):
			t.Errorf("sectors %b: copies %v, notice %q; want both only for a torn frame", set, copies, notice)
		}
		if len(copies) == 1 {
			if b, _ := os.ReadFile(copies[0]); !bytes.HasPrefix(landed, b) || !allZero(landed[len(b):]) {
				t.Errorf("sectors %b: the copy differs from the bytes of the torn frame", set)
			}
		}
		fill(t, w, 3, 700)
		want := w.LastSeq()
		w.Close()
		if got := readAll(t, mustReader(t, dir, small())); got != want {
			t.Errorf("sectors %b: read up to %d, want %d", set, got, want)
		}
		if _, err := Verify(dir, VerifyOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestEveryFlip flips a bit in each byte of a small log, one at a time, except in most
// of the zeroes of the segment header. What END covers is never lost silently.
func TestEveryFlip(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 3, 20)
	end := w.seg.off
	crash(w)
	path := segPath(t, dir, 0)
	for off := int64(0); off < end; off++ {
		if off >= 100 && off < segmentHeaderSize && off%97 != 0 {
			continue // one CRC covers these zeroes, so a sample is enough
		}
		patch(t, path, off, flip, 1)
		w, err := Open(dir, small())
		if err == nil {
			w.Close()
			t.Fatalf("a flip at %d is not detected", off)
		}
		var c *CorruptError
		if !errors.As(err, &c) {
			t.Fatalf("a flip at %d: got %v, want a CorruptError", off, err)
		}
		patch(t, path, off, flip, 1)
	}
	if w := mustOpen(t, dir, small()); w.LastSeq() != 6 {
		t.Fatalf("after all flips were undone, the log ends at %d, want 6", w.LastSeq())
	}
}

func TestNewerVersions(t *testing.T) {
	for name, damage := range map[string]func(d *damage){
		"segment": func(d *damage) {
			patch(d.t, d.seg(2), 0, func(b []byte) { b[8] = 9; reseal(b) }, segmentHeaderSize)
		},
		"END": func(d *damage) {
			patch(d.t, join(d.dir, endName), 0, func(b []byte) {
				b[8] = 9
				le.PutUint32(b[endCRCAt:], crc32.Checksum(b[:endCRCAt], castagnoli))
			}, pageSize)
		},
		"frame": func(d *damage) {
			h := frameHeader{Kind: 7, First: d.last + 1, Prev: d.prev}
			b := make([]byte, frameHeaderSize)
			h.Marshal(b, d.head.salt())
			d.put(d.off, b)
		},
	} {
		dir := damaged(t, damage)
		if _, err := Open(dir, small()); !errors.Is(err, ErrVersion) {
			t.Errorf("%s: got %v, want ErrVersion", name, err)
		}
	}
}

// TestDoubtfulFramesAreRewritten checks that Open after a crash rewrites frames that
// END does not cover, unless they are from an earlier boot.
func TestDoubtfulFramesAreRewritten(t *testing.T) {
	other := BootID{42}
	for _, c := range []struct {
		name    string
		boot    *BootID
		damage  func(d *damage)
		rewrite bool
	}{
		{"same boot, END covers all", nil, func(*damage) {}, false},
		{"same boot, END stale", nil, func(d *damage) { d.staleEnd(4) }, true},
		{"other boot, END stale", &other, func(d *damage) { d.staleEnd(4) }, false},
		{"unknown boot, END stale", &BootID{}, func(d *damage) { d.staleEnd(4) }, true},
		{"same boot, END missing", nil, func(d *damage) { os.Remove(join(d.dir, endName)) }, true},
		{"same boot, END damaged", nil, func(d *damage) { patch(d.t, join(d.dir, endName), endDurableAt, flip, 1) }, true},
		{"other boot, END missing", &other, func(d *damage) { os.Remove(join(d.dir, endName)) }, false},
		{"other boot, END empty", &other, func(d *damage) { os.Truncate(join(d.dir, endName), 0) }, false},
		{"other boot, END damaged", &other, func(d *damage) { patch(d.t, join(d.dir, endName), endDurableAt, flip, 1) }, false},
		{"unknown boot, END missing", &BootID{}, func(d *damage) { os.Remove(join(d.dir, endName)) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seg string
			var last uint64
			dir := damaged(t, func(d *damage) { c.damage(d); seg, last = filepath.Base(d.seg(2)), d.last })
			before, _ := os.ReadFile(segPath(t, dir, 2))
			o := small()
			f := &faultFS{FS: OS{}, boot: c.boot}
			o.FS = f
			w := mustOpen(t, dir, o)
			if w.LastSeq() != last {
				t.Fatalf("the log ends at %d, want %d", w.LastSeq(), last)
			}
			wrote, synced := -1, -1
			for i, op := range f.log {
				switch op {
				case "write " + seg:
					wrote = i
				case "sync " + seg:
					synced = i
				}
			}
			if (wrote >= 0) != c.rewrite || synced < wrote {
				t.Errorf("rewritten at operation %d (want a rewrite: %v), synced at %d: %v", wrote, c.rewrite, synced, f.log)
			}
			if after, _ := os.ReadFile(segPath(t, dir, 2)); !bytes.Equal(before, after) {
				t.Error("the rewritten bytes differ")
			}
			if got := readAll(t, mustReader(t, dir, small())); got != last {
				t.Errorf("a reader sees commits up to %d, want %d", got, last)
			}
		})
	}
}
