package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"assetledger/wal"
	"assetledger/wal/memfs"
)

// These tests fill a log from the wire form of another log's frames.

const copyDir = "/copy"

// original returns a log that was opened four times, with three different segment
// sizes. Once, its writer was killed during a rotation, before the new segment had a
// frame.
func original(t *testing.T) (*memfs.Disk, wal.FS) {
	d := memfs.New(1)
	var acked uint64
	for i, size := range []int64{64 << 10, 64 << 10, 96 << 10, 80 << 10} {
		p := d.Process()
		o := options(p, nil)
		o.SegmentSize = size
		w, err := wal.Open(crashDir, o)
		if err != nil {
			t.Fatal(err)
		}
		first := w.Segment()
		if i == 2 && first != w.LastSeq()+1 {
			t.Fatal("the segment that was just begun is not empty")
		}
		if i == 1 { // after the kill, the next frame goes to an empty segment of this size
			p.Plan(func(_ int, op memfs.Op, name string) memfs.Fault {
				return memfs.Fault{Kill: op == memfs.OpWrite && w.Segment() > first}
			})
		}
		killed := !memfs.Survives(func() {
			for range 12 {
				f := frameFor(w.LastSeq() + 1)
				if err := w.Append(f); err != nil {
					t.Fatal(err)
				}
				acked = f.Last()
			}
		})
		if killed != (i == 1) {
			t.Fatalf("opening %d: killed is %v, want it only at opening 1", i, killed)
		}
		p.Kill()
	}
	p := d.Process()
	if report, err := wal.Verify(crashDir, wal.VerifyOptions{FS: p}); err != nil || report.Segments < 6 || report.LastSeq != acked {
		t.Fatalf("Verify of the original: got %+v, %v; want at least 6 segments", report, err)
	}
	return d, p
}

// fillCopy continues the copy of a log, frame by frame through the wire form.
func fillCopy(from wal.FS, original string, to wal.FS, dir string) error {
	return fillCopyBy((*wal.Writer).AppendCopy, from, original, to, dir)
}

func fillCopyBy(appendCopy func(*wal.Writer, *wal.Frame) error, from wal.FS, original string, to wal.FS, dir string) error {
	r, err := wal.OpenReader(original, options(from, nil))
	if err != nil {
		return err
	}
	defer r.Close()
	origin, err := r.Origin()
	if err != nil {
		return err
	}
	o := options(to, nil)
	o.Origin, o.Copy = &origin, true
	if err := wal.MarkCopy(dir, "the original", o); err != nil {
		return err
	}
	w, err := wal.Open(dir, o)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := r.Seek(w.LastSeq() + 1); err != nil {
		return err
	}
	for {
		f, err := r.Next()
		if errors.Is(err, wal.ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		sent, rest, err := wal.ParseFrame(append(f.AppendWire(nil), "rest"...), origin.ID, w.Segment())
		if err != nil || string(rest) != "rest" {
			return fmt.Errorf("ParseFrame at commit %d left %q, want \"rest\": %w", f.First, rest, err)
		}
		if err := appendCopy(w, &sent); err != nil {
			return fmt.Errorf("commit %d: %w", f.First, err)
		}
		if f.Place() != sent.Place() || f.Segment != sent.Segment {
			return fmt.Errorf("the place %+v became %+v in the copy", f.Place(), sent.Place())
		}
	}
}

// sameSegments compares the segments of two logs byte for byte.
func sameSegments(original, copied *memfs.Disk) error {
	a, err := filesOf(original, crashDir+"/wal", ".seg")
	if err != nil {
		return err
	}
	b, err := filesOf(copied, copyDir+"/wal", ".seg")
	if err != nil {
		return err
	}
	if len(a) != len(b) {
		return fmt.Errorf("the original has %d segments, the copy %d", len(a), len(b))
	}
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			return fmt.Errorf("segment %s differs: %d bytes in the original, %d in the copy", name, len(a[name]), len(b[name]))
		}
	}
	return nil
}

func TestCopyIsTheSameBytes(t *testing.T) {
	d, from := original(t)
	to := memfs.New(2)
	if err := fillCopy(from, crashDir, to.Process(), copyDir); err != nil {
		t.Fatal(err)
	}
	if err := sameSegments(d, to); err != nil {
		t.Fatal(err)
	}
	// Both continue as logs of their own: the original with Append, and the copy by
	// encoding each frame first.
	if err := wal.UnmarkCopy(copyDir, options(to.Process(), nil)); err != nil {
		t.Fatal(err)
	}
	for _, log := range []struct {
		disk *memfs.Disk
		dir  string
	}{{d, crashDir}, {to, copyDir}} {
		w, err := wal.Open(log.dir, options(log.disk.Process(), nil))
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			f := frameFor(w.LastSeq() + 1)
			f.Time = w.LastTime() + 5
			if log.dir == copyDir {
				encodeAndCopy(t, w, f)
			} else if err := w.Append(f); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
	}
	if err := sameSegments(d, to); err != nil {
		t.Fatalf("after both continued: %v", err)
	}
}

// encodeAndCopy appends a frame with Encode and AppendCopy. The place and
// segment that Encode sets in f must be those of the wire form.
func encodeAndCopy(t *testing.T, w *wal.Writer, f *wal.Frame) {
	t.Helper()
	image, err := w.Encode([]byte("before"), f)
	if err != nil {
		t.Fatal(err)
	}
	sent, rest, err := wal.ParseFrame(image[len("before"):], w.LogID(), w.Segment())
	if err != nil || len(rest) > 0 || sent.Place() != f.Place() || sent.Segment != f.Segment {
		t.Fatalf("encoded %+v, parsed %+v, %v", f.Place(), sent.Place(), err)
	}
	if last := w.LastSeq(); last != f.First-1 {
		t.Fatalf("after Encode the log ends at %d, want %d", last, f.First-1)
	}
	if err := w.AppendCopy(f); err != nil {
		t.Fatal(err)
	}
}

// appendInHalves appends a frame with PutCopy and then SyncCopy, and checks that
// readers don't see the frame before it is synced.
func appendInHalves(w *wal.Writer, f *wal.Frame) error {
	r, err := w.OpenReader()
	if err != nil {
		return err
	}
	defer r.Close()
	before := r.Durable()
	if err := w.PutCopy(f); err != nil {
		return err
	}
	if r.Durable() != before || w.LastSeq() != f.Last() {
		return fmt.Errorf("after PutCopy of commits %d to %d readers see the log up to %d, and the writer's ends at %d", f.First, f.Last(), r.Durable(), w.LastSeq())
	}
	if err := w.SyncCopy(); err != nil {
		return err
	}
	if r.Durable() != f.Last() {
		return fmt.Errorf("after SyncCopy readers see the log up to %d, not up to %d", r.Durable(), f.Last())
	}
	return nil
}

// TestCopyRefuses passes frames other than the next one to a copy. They are not
// written, and the right frame is accepted afterwards.
func TestCopyRefuses(t *testing.T) {
	_, from := original(t)
	r, err := wal.OpenReader(crashDir, options(from, nil))
	if err != nil {
		t.Fatal(err)
	}
	origin, _ := r.Origin()
	to := memfs.New(2)
	o := options(to.Process(), nil)
	o.Origin = &origin
	w, err := wal.Open(copyDir, o)
	if err != nil {
		t.Fatal(err)
	}
	for cuts := 0; cuts < 3; {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Segment == f.First && f.First > 1 {
			cuts++
		}
		before, _ := filesOf(to, copyDir+"/wal", ".seg")
		forged := *f
		forged.Time++
		other := *f
		other.Digest++
		bare := *frameFor(f.First)
		bare.Time = f.Time
		late := *f
		late.First, late.Segment = f.First+1, f.Segment+1
		for i, bad := range []*wal.Frame{&forged, &other, &bare, &late} {
			if err := w.AppendCopy(bad); !errors.Is(err, wal.ErrForeign) && !errors.Is(err, wal.ErrUnannounced) {
				t.Fatalf("bad frame %d at commit %d: got %v, want ErrForeign or ErrUnannounced", i, f.First, err)
			}
		}
		after, _ := filesOf(to, copyDir+"/wal", ".seg")
		for name := range after {
			if !bytes.Equal(before[name], after[name]) {
				t.Fatalf("%s was changed by a frame that was rejected", name)
			}
		}
		if err := w.AppendCopy(f); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	o.Origin = &wal.Origin{ID: wal.LogID{1}, SegmentSize: 64 << 10}
	if _, err := wal.Open(copyDir, o); !errors.Is(err, wal.ErrForeign) {
		t.Errorf("opened as the copy of another log: got %v, want ErrForeign", err)
	}
}

// TestCopyOfOldLog checks that a copy of a log with segments from an older version must
// begin with a backup, and that the error says so.
func TestCopyOfOldLog(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/formats/v1/warehouse/log")); err != nil {
		t.Fatal(err)
	}
	if err := fillCopy(wal.OS{}, dir, wal.OS{}, t.TempDir()+"/new"); !errors.Is(err, wal.ErrUnannounced) {
		t.Fatalf("a new copy: got %v, want ErrUnannounced", err)
	}
	backup := t.TempDir() + "/backup"
	if _, err := wal.Backup(dir, backup, wal.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := wal.Open(dir, wal.Options{Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	f := frameFor(w.LastSeq() + 1)
	if err := w.Append(f); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := fillCopy(wal.OS{}, dir, wal.OS{}, backup); err != nil {
		t.Fatal(err)
	}
	if report, err := wal.Verify(backup, wal.VerifyOptions{}); err != nil || report.Chain != f.Chain || report.LastSeq != f.Last() {
		t.Fatalf("Verify of the continued backup: got %+v, %v; want LastSeq %d", report, err, f.Last())
	}
}

// FuzzParseFrame parses arbitrary bytes. An accepted frame has the wire form
// that it was parsed from, and no incomplete frame is accepted.
func FuzzParseFrame(f *testing.F) {
	d := memfs.New(1)
	var r run
	if err := r.work(d.Process(), 1, 9); err != nil {
		f.Fatal(err)
	}
	l, err := wal.OpenReader(crashDir, options(d.Process(), nil))
	if err != nil {
		f.Fatal(err)
	}
	var b []byte
	for range 9 {
		frame, err := l.Next()
		if err != nil {
			f.Fatal(err)
		}
		if b = frame.AppendWire(b); len(b) < 4000 {
			f.Add(frame.AppendWire(nil), frame.Segment)
		}
	}
	f.Add(b, uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, segment uint64) {
		frame, rest, err := wal.ParseFrame(b, l.LogID(), segment)
		if err != nil {
			return
		}
		wire := frame.AppendWire(nil)
		if !bytes.Equal(append(bytes.Clone(wire), rest...), b) || len(wire) < 64+len(frame.Body) {
			t.Error("the wire form of the parsed frame differs from the input")
		}
		for _, n := range []int{0, 63, 64, len(wire) - 1} {
			if _, _, err := wal.ParseFrame(wire[:n], l.LogID(), segment); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the first %d bytes of %d: got %v, want ErrUnexpectedEOF", n, len(wire), err)
			}
		}
	})
}
