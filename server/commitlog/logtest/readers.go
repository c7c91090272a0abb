package logtest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

const long = time.Minute // longer than any wait in these tests

// seek tests that Next, after Seek, returns the frame that holds the commit.
func seek(t *testing.T, l *log) {
	l.start()
	r := l.reader()
	l.must(r.Seek(1)) // before the first commit
	for range 6 {
		l.append(3)
	}
	l.wantNext(r, 0)
	r.Wait(17, long)
	for _, seq := range []uint64{18, 1, 4, 6, 5, 16, 3} {
		l.must(r.Seek(seq))
		i := int(seq-1) / 3
		l.wantNext(r, i)
		if i+1 < len(l.all) {
			l.wantNext(r, i+1)
		}
	}
	l.must(r.Seek(19)) // the next commit to come
	if _, err := r.Next(); !errors.Is(err, wal.ErrEnd) {
		t.Errorf("Next at the end: got %v, want ErrEnd", err)
	}
	if err := r.Seek(20); !errors.Is(err, wal.ErrBeyond) {
		t.Errorf("seeking beyond the end: got %v, want ErrBeyond", err)
	}
	l.must(r.Seek(19))
	l.append(1)
	l.wantNext(r, 6)
}

// seekAfter tests that Next, after SeekAfter, returns the frame that follows the place,
// and that SeekAfter rejects a place that is not in the log.
func seekAfter(t *testing.T, l *log) {
	l.start()
	for range 4 {
		l.append(2)
	}
	r := l.reader()
	for i, f := range l.all {
		l.must(r.SeekAfter(f.Place()))
		if i+1 < len(l.all) {
			l.wantNext(r, i+1)
		} else if _, err := r.Next(); !errors.Is(err, wal.ErrEnd) {
			t.Errorf("Next after the last frame: got %v, want ErrEnd", err)
		}
	}
	l.must(r.SeekAfter(wal.Place{}))
	l.wantNext(r, 0)
	good := l.all[1].Place()
	for name, change := range map[string]func(p *wal.Place){
		"another digest":        func(p *wal.Place) { p.Digest++ },
		"another time":          func(p *wal.Place) { p.Time++ },
		"another chain":         func(p *wal.Place) { p.Chain++ },
		"the middle of a frame": func(p *wal.Place) { p.Seq-- },
	} {
		bad := good
		change(&bad)
		if _, ok := errors.AsType[*wal.MismatchError](r.SeekAfter(bad)); !ok {
			t.Errorf("SeekAfter with %s: got %v, want a MismatchError", name, r.SeekAfter(bad))
		}
	}
	good.Seq = 9
	if err := r.SeekAfter(good); !errors.Is(err, wal.ErrBeyond) {
		t.Errorf("seeking beyond the end: got %v, want ErrBeyond", err)
	}
}

// end tests two guarantees while a writer appends: Next never returns wal.ErrEnd
// when Durable is ahead, and Durable is never behind what Next has returned.
func end(t *testing.T, l *log) {
	l.start()
	var readers sync.WaitGroup
	const batches = 50
	for range 3 {
		r := l.reader()
		readers.Go(func() {
			var last uint64
			for last < batches {
				durable := r.Durable()
				if durable < last {
					t.Errorf("Durable is %d, but commit %d was read", durable, last)
					return
				}
				f, err := r.Next()
				switch {
				case err == nil:
					last = f.Last()
				case !errors.Is(err, wal.ErrEnd) || durable > last:
					t.Errorf("Next after commit %d, with Durable %d: got %v", last, durable, err)
					return
				default:
					r.Wait(last, long)
				}
			}
		})
	}
	for range batches {
		l.append(1)
	}
	readers.Wait()
}

// wait tests that Wait returns at once if the end is already beyond the commit,
// and otherwise when the end passes it or the timeout expires.
func wait(t *testing.T, l *log) {
	l.start()
	l.append(1)
	r := l.reader()
	r.Wait(0, long)
	r.Wait(1, time.Millisecond)
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Go(func() {
			if r.Wait(2, long); r.Durable() < 3 {
				t.Errorf("Wait(2) returned when Durable was %d, want at least 3", r.Durable())
			}
		})
	}
	l.append(1)
	l.append(1)
	waiting.Wait()
}

// waitEndsWithClose tests that Close may be called while other goroutines call
// Wait, Durable and Moved.
func waitEndsWithClose(t *testing.T, l *log) {
	l.start()
	l.append(1)
	r := l.reader()
	var waiting, begun sync.WaitGroup
	begun.Add(5)
	for range 5 {
		waiting.Go(func() {
			begun.Done()
			r.Wait(1, long)
			r.Durable()
			r.Moved()
		})
	}
	begun.Wait()
	l.must(r.Close())
	waiting.Wait()
}

// closed tests that a closed reader and a closed writer return errors, and that readers
// don't need a writer.
func closed(t *testing.T, l *log) {
	l.start()
	l.append(1)
	r := l.reader()
	l.must(r.Close())
	if _, err := r.Next(); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Next: got %v, want ErrClosed", err)
	}
	f := l.next(1)
	l.must(l.w.Close())
	if err := l.w.Append(f); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("Append: got %v, want ErrClosed", err)
	}
	if l.w.Room() == nil {
		t.Error("there is room in a closed log")
	}
	l.wantNext(l.reader(), 0) // readers don't need a writer
}

// registrations tests that the writer lists the registered readers by name, with the
// last commit that each has applied.
func registrations(t *testing.T, l *log) {
	l.start()
	want := func(list ...commitlog.ReaderInfo) {
		t.Helper()
		if got := l.w.Readers(); !slices.Equal(got, list) {
			t.Errorf("readers are %v, want %v", got, list)
		}
	}
	want()
	b, err := l.Register("b")
	l.must(err)
	a, err := l.Register("a")
	l.must(err)
	if _, err := l.Register("a"); !errors.Is(err, wal.ErrNameTaken) {
		t.Errorf("a second registration of a: got %v, want ErrNameTaken", err)
	}
	b.Applied(7)
	want(commitlog.ReaderInfo{Name: "a"}, commitlog.ReaderInfo{Name: "b", Seq: 7})
	l.must(a.Close())
	want(commitlog.ReaderInfo{Name: "b", Seq: 7})
	if a, err = l.Register("a"); err != nil {
		t.Fatalf("the name was not freed: %v", err)
	}
	l.must(errors.Join(a.Close(), b.Close()))
	want()
}
