package wal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrashAtEveryOperation stops the process at its n-th operation on the
// filesystem, for n = 0, 1, 2 … until there is no operation n. If that is a write,
// half of it is written. All later operations fail, except that files can be removed.
func TestCrashAtEveryOperation(t *testing.T) {
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "log")
		var fired bool
		f := &faultFS{FS: noSync{}, fail: func(i int, op, name string) error {
			if i >= n && op != "remove" {
				fired = true
				return errBroken
			}
			return nil
		}}
		o := small()
		o.FS = f
		acked := scenario(dir, o)
		w, err := Open(dir, small())
		if err != nil {
			t.Fatalf("crash at operation %d (%s): %v", n, f.log[n], err)
		}
		if w.LastSeq() < acked || w.LastSeq() > acked+2 {
			t.Fatalf("crash at operation %d (%s): the log ends at %d, but %d was acknowledged", n, f.log[n], w.LastSeq(), acked)
		}
		if err := w.Append(testFrame(w.LastSeq()+1, 2, 2000)); err != nil {
			t.Fatalf("crash at operation %d (%s): %v", n, f.log[n], err)
		}
		want := w.LastSeq()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := mustReader(t, dir, small())
		if got := readAll(t, r); got != want {
			t.Fatalf("crash at operation %d: read up to %d, want %d", n, got, want)
		}
		r.Close()
		if v, err := Verify(dir, VerifyOptions{}); err != nil || v.LastSeq != want || v.Torn != 0 {
			t.Fatalf("crash at operation %d: Verify: got %+v, %v; want LastSeq %d and no torn tail", n, v, err, want)
		}
		if !fired {
			t.Logf("%d operations", n)
			if n < 60 {
				t.Fatal("too few operations: the scenario does not rotate")
			}
			return
		}
	}
}

// scenario creates a log, appends ten frames, drops the writer as a crash would, and
// does all of this once more with the same log, which then has a second segment. It
// returns the last acknowledged sequence number.
func scenario(dir string, o Options) (acked uint64) {
	for range 2 {
		w, err := Open(dir, o)
		if err != nil {
			return acked
		}
		for range 10 {
			if w.Append(testFrame(w.LastSeq()+1, 2, 2000)) != nil {
				break
			}
			acked = w.LastSeq()
		}
		crash(w)
	}
	return acked
}

// TestErrorAtEveryOperation makes only the n-th operation fail. The writer must
// stop for good, or continue as if nothing had happened.
func TestErrorAtEveryOperation(t *testing.T) {
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "log")
		var fired string
		f := &faultFS{FS: noSync{}, fail: func(i int, op, name string) error {
			if i == n {
				fired = op + " " + filepath.Base(name)
				return errBroken
			}
			return nil
		}}
		o := small()
		o.FS = f
		var acked uint64
		w, err := Open(dir, o)
		if err == nil {
			for range 20 {
				err := w.Append(testFrame(w.LastSeq()+1, 2, 2000))
				switch {
				case err == nil && w.Err() != nil:
					t.Fatalf("%s failed, but Append continued", fired)
				case err == nil:
					acked = w.LastSeq()
				case !errors.Is(err, ErrFailed) || !errors.Is(err, errBroken):
					t.Fatalf("%s failed, but Append returned %v", fired, err)
				}
			}
			err = errors.Join(w.Err(), w.Close())
		}
		if fired == "" {
			return
		}
		if err == nil && !strings.HasPrefix(fired, "remove") {
			t.Errorf("%s failed, but no error was returned", fired)
		}
		w = mustOpen(t, dir, small())
		if w.LastSeq() < acked || w.LastSeq() > acked+2 {
			t.Fatalf("%s failed: the log ends at %d, but %d was acknowledged", fired, w.LastSeq(), acked)
		}
		w.Close()
	}
}

// TestHalfMadeLogs opens directories in states that a crash during the first start can
// leave.
func TestHalfMadeLogs(t *testing.T) {
	for name, make := range map[string]func(dir string){
		"empty directory": func(string) {},
		"empty wal":       func(dir string) { os.Mkdir(segmentsPath(dir), 0o700) },
		"half a spare": func(dir string) {
			os.Mkdir(segmentsPath(dir), 0o700)
			writeTestFile(t, join(segmentsPath(dir), spareName), zeroes[:999])
		},
		"END without a byte": func(dir string) { writeTestFile(t, join(dir, endName), nil) },
		"half an END":        func(dir string) { writeTestFile(t, join(dir, endName), zeroes[:100]) },
		"END of zeroes":      func(dir string) { writeTestFile(t, join(dir, endName), zeroes[:4096]) },
		"a segment, no END":  func(dir string) { mustOpen(t, dir, small()).Close(); os.Remove(join(dir, endName)) },
		"a segment, zero END": func(dir string) {
			mustOpen(t, dir, small()).Close()
			writeTestFile(t, join(dir, endName), zeroes[:4096])
		},
	} {
		dir := t.TempDir()
		make(dir)
		if _, err := OpenReader(dir, Options{}); err != ErrNoLog {
			t.Errorf("%s: OpenReader: got %v, want ErrNoLog", name, err)
		}
		w, err := Open(dir, small())
		if err != nil {
			t.Errorf("%s: Open: %v", name, err)
			continue
		}
		fill(t, w, 2, 10)
		if got := readAll(t, mustReader(t, dir, Options{})); got != 4 {
			t.Errorf("%s: read up to %d, want 4", name, got)
		}
		w.Close()
	}
}

// TestSealedWithoutNext crashes between the seal and the rename.
func TestSealedWithoutNext(t *testing.T) {
	dir := t.TempDir()
	o := small()
	f := &faultFS{FS: OS{}}
	o.FS = f
	w := mustOpen(t, dir, o)
	fill(t, w, 5, 2000)
	f.setFail(func(_ int, op, _ string) error {
		if op == "rename" {
			return errBroken
		}
		return nil
	})
	for w.Append(testFrame(w.LastSeq()+1, 2, 2000)) == nil {
	}
	last := w.LastSeq()
	crash(w)
	w = mustOpen(t, dir, small())
	if !w.seg.sealed || w.LastSeq() != last {
		t.Fatalf("sealed is %v, want true; the log ends at %d, want %d", w.seg.sealed, w.LastSeq(), last)
	}
	w.Close()
	w = mustOpen(t, dir, small()) // once more, without a write in between
	fill(t, w, 3, 2000)
	if got := readAll(t, mustReader(t, dir, Options{})); got != last+6 {
		t.Errorf("read up to %d, want %d", got, last+6)
	}
}
