package history

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal/memfs"
)

// failReads makes the n-th read of a file fail, counted from 0. If lasting is set,
// all later reads fail too. It counts the failed reads in hit.
func failReads(n int, lasting bool, hit *int) memfs.Plan {
	reads := 0
	return func(_ int, op memfs.Op, _ string) (fault memfs.Fault) {
		if op != memfs.OpRead {
			return fault
		}
		if reads == n || lasting && reads > n {
			fault.Err = errInjected
			*hit++
		}
		reads++
		return fault
	}
}

// ask requests everything that views return about every container, at a few commits.
// Each result must be right, or a *NotReadyError. ask returns the number of those
// errors.
func (f *follower) ask(seqs []uint64) (unanswered int) {
	t := f.world.t
	t.Helper()
	told := func(err error) bool {
		t.Helper()
		if notReady := new(*NotReadyError); err != nil && !errors.As(err, notReady) {
			t.Fatalf("an error that is not answered with 503: %v", err)
		}
		if err != nil {
			unanswered++
		}
		return err == nil
	}
	for _, id := range f.world.ids {
		for _, seq := range seqs {
			v, err := f.View(id)
			if !told(err) {
				continue
			}
			if s, err := v.At(seq, noLimit); told(err) {
				if dump(s, id) != f.world.dumps[id][seq] {
					t.Fatalf("container %d at commit %d:\n%s\nwant\n%s", id, seq, dump(s, id), f.world.dumps[id][seq])
				}
				f.Reclaim(s)
			}
			if s, err := v.BareAt(seq); told(err) {
				f.Reclaim(s)
				if at, err := v.Time(seq); told(err) && at != f.world.times[seq] {
					t.Fatalf("commit %d was made at %d, want %d", seq, at, f.world.times[seq])
				}
			}
			if got, err := v.SeqAt(f.world.times[seq]); told(err) && f.world.times[got] != f.world.times[seq] {
				t.Fatalf("the last commit at the time of commit %d is %d, want one of the same time", seq, got)
			}
			newest, oldest := []Entry(nil), []Entry(nil)
			err1 := v.Newest(seq, func(e *Entry) bool { newest = append(newest, *e); return true })
			err2 := v.Oldest(1, func(e *Entry) bool {
				if e.Seq <= seq {
					oldest = append(oldest, *e)
				}
				return e.Seq <= seq
			})
			slices.Reverse(newest)
			if ok1, ok2 := told(err1), told(err2); ok1 && ok2 && !slices.Equal(newest, oldest) {
				t.Fatalf("container %d up to commit %d: %d entries from one end, %d from the other", id, seq, len(newest), len(oldest))
			}
		}
	}
	return unanswered
}

// TestUnreadableFiles makes the disk fail the n-th read of the index's files,
// once or for good, for n from 0 to the last in steps of 3, or larger ones in short runs.
// It does so while the files are opened and while views are read. Each response is
// right or an error. Once the disk can be read again, every response is right, from
// files that are rebuilt if necessary.
func TestUnreadableFiles(t *testing.T) {
	w := newWorld(t, 11, 190)
	made := newDisk(1)
	f := w.follow(New(w.config(made.Process())), 0)
	for more := true; more; {
		more = f.apply(25)
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.files) < 2 || f.Meter.Built.Load() <= uint64(len(f.files)) {
		t.Fatalf("%d files of %d made are left, want at least 2, and fewer because of a merge", len(f.files), f.Meter.Built.Load())
	}
	f.Close()
	step := 3
	if testing.Short() {
		step = 37
	} else if !longtest.Form(t, "three of four errors") {
		step = 12
	}
	refused, passed, again := 0, 0, 0
	for _, lasting := range []bool{false, true} {
		for n, hit := 0, 1; hit > 0; n += step {
			disk := made.Clone(memfs.Random(uint64(n)), uint64(n))
			p := disk.Process()
			hit = 0
			p.Plan(failReads(n, lasting, &hit))
			f := w.follow(New(w.config(p)), 0)
			for more := true; more; {
				more = f.apply(25)
				if err := f.keep(t); err != nil && !errors.Is(err, errInjected) {
					t.Fatalf("read %d: %v, want no error or the injected one", n, err)
				}
			}
			seqs := []uint64{1, f.state.Seq() / 3, f.state.Seq()}
			if missed := f.ask(seqs); missed > 0 {
				refused++
			} else if hit > 0 {
				passed++
			}
			if !lasting && f.Meter.Built.Load() > 0 {
				t.Errorf("read %d: a file was rebuilt because of a temporary error", n)
			}
			p.Plan(nil)
			if err := f.keep(t); err != nil {
				t.Fatalf("read %d, when the disk can be read again: %v", n, err)
			}
			if missed := f.ask(seqs); missed > 0 {
				t.Fatalf("read %d, when the disk can be read again: %d reads fail, want none", n, missed)
			}
			f.compare(rand.New(rand.NewPCG(uint64(n), 1)), 0, 5)
			if f.Meter.Built.Load() > 0 {
				again++
			}
			f.Close()
		}
	}
	t.Logf("in %d runs some reads failed, in %d none did, and in %d files were rebuilt", refused, passed, again)
	if refused == 0 || passed == 0 || again == 0 {
		t.Error("some case was not tested")
	}
}
