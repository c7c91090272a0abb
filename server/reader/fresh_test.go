package reader

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
)

// advance marks commits up to seq as applied, as the tailer does.
func (f *freshness) advance(seq uint64) {
	f.applied.Store(seq)
	f.wake(seq)
}

func TestWaitWakesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFreshness()
		var mu sync.Mutex
		woken := map[uint64]int{}
		for _, seq := range []uint64{5, 3, 3, 9, 1, 7} {
			go func() {
				if ok, err := f.wait(t.Context(), seq, time.Hour); !ok || err != nil {
					t.Errorf("waiting for %d: %v, %v; want it reached", seq, ok, err)
				}
				mu.Lock()
				woken[seq]++
				mu.Unlock()
			}()
		}
		synctest.Wait()
		for _, step := range []struct {
			seq  uint64
			left int
		}{{0, 6}, {2, 5}, {3, 3}, {6, 2}, {8, 1}, {9, 0}} {
			f.advance(step.seq)
			synctest.Wait()
			if f.waiting() != step.left {
				t.Errorf("at %d, %d requests wait, want %d", step.seq, f.waiting(), step.left)
			}
			for seq := range woken {
				if seq > step.seq {
					t.Errorf("at %d, a read that waited for %d was woken", step.seq, seq)
				}
			}
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFreshness()
		f.advance(4)
		if ok, err := f.wait(t.Context(), 4, 0); !ok || err != nil {
			t.Errorf("waiting for what is applied: %v, %v; want true at once", ok, err)
		}
		if ok, err := f.wait(t.Context(), 5, 0); ok || err != nil {
			t.Errorf("waiting for no time: %v, %v; want false", ok, err)
		}
		start := time.Now()
		if ok, err := f.wait(t.Context(), 5, 3*time.Second); ok || err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("waiting for 3 s: %v, %v after %v; want false after 3 s", ok, err, time.Since(start))
		}
		gone, leave := context.WithCancel(t.Context())
		done := make(chan bool)
		go func() {
			ok, _ := f.wait(gone, 5, time.Hour)
			done <- ok
		}()
		synctest.Wait()
		leave()
		if <-done {
			t.Error("a client that disconnected got a response")
		}
		if f.waiting() != 0 {
			t.Errorf("%d still wait", f.waiting())
		}
		go func() {
			_, err := f.wait(t.Context(), 6, time.Hour)
			done <- err != nil && err.Code == ledger.ShuttingDown
		}()
		synctest.Wait()
		f.end(ledger.Errorf(ledger.ShuttingDown, "over"))
		f.end(ledger.Errorf(ledger.Internal, "the first reason counts"))
		if !<-done {
			t.Error("the waiting request did not get the error of end")
		}
		if _, err := f.wait(t.Context(), 6, time.Hour); err == nil || err.Code != ledger.ShuttingDown {
			t.Errorf("after the end: %v, want ShuttingDown", err)
		}
	})
}

func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFreshness()
		for range maxWaiters {
			go f.wait(t.Context(), 1, time.Hour)
		}
		synctest.Wait()
		if _, err := f.wait(t.Context(), 1, time.Hour); err == nil || err.Code != ledger.Overloaded {
			t.Errorf("one waiter too many: %v, want Overloaded", err)
		}
		f.advance(1)
	})
}

// Many requests wait. Some are canceled at the same time as others are woken. None is
// left waiting.
func TestWaitRace(t *testing.T) {
	f := newFreshness()
	const last = 2000
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for seq := uint64(1); seq <= last; seq += 1 + rand.Uint64N(5) {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(4) == 0 {
					go cancel()
				}
				if ok, _ := f.wait(ctx, seq, time.Minute); !ok && ctx.Err() == nil {
					t.Errorf("the wait for commit %d timed out", seq)
				}
				cancel()
			}
		})
	}
	for seq := uint64(1); seq <= last; seq++ {
		f.advance(seq)
		runtime.Gosched()
	}
	all.Wait()
	if f.waiting() != 0 {
		t.Errorf("%d still wait", f.waiting())
	}
}
