package writer

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestGather checks that small requests that can be submitted at once share a
// sync: those of goroutines that are ready to run join the batch before it is
// handed over.
func TestGather(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so the goroutines run only when the sequencer lets them
	for range 20 {
		b := newBench(t, newRAMLog())
		b.now = func() int64 { return 1 } // the scheduler of a busy machine must not end gather
		b.small = true
		b.submit(world)
		b.turn(b.intake.take())
		var sent sync.WaitGroup
		sent.Go(func() { b.submit(transferTx(1, "")) })
		for b.gather() {
			b.turn(b.intake.take())
		}
		b.handOver()
		sent.Wait()
		if b.inFlight.frame.Count == 2 {
			return
		}
		// Once in a while Go resumes the sequencer first.
	}
	t.Error("a batch was handed over without a request that was ready")
}

// TestGatherEnds checks the conditions under which a batch is handed over,
// although other requests can join it.
func TestGatherEnds(t *testing.T) {
	for name, end := range map[string]func(*bench, *int64){
		"time has passed":          func(b *bench, now *int64) { *now += int64(gatherTime) },
		"the clock was set back":   func(b *bench, now *int64) { *now -= 1 },
		"the batch is large":       func(b *bench, _ *int64) { b.filling.frame.Count = gatherCommits },
		"the syncer is not idle":   func(b *bench, _ *int64) { b.inFlight = new(batch) },
		"there is nothing to sync": func(b *bench, _ *int64) { b.filling = new(batch) },
		"only large requests wait": func(b *bench, _ *int64) {
			b.intake.take()
			b.submit(transferTx(1, ""), transferTx(1, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, newRAMLog())
			now := time.Now().UnixNano()
			b.now = func() int64 { return now }
			b.submit(world)
			b.turn(b.intake.take())
			b.submit(transferTx(1, ""))
			if !b.gather() {
				t.Fatal("a request that waits does not join the batch")
			}
			if end(b, &now); b.gather() {
				t.Error("the batch is not handed over")
			}
		})
	}
}

// TestOffer checks that only batches with small requests gather.
func TestOffer(t *testing.T) {
	for _, small := range []bool{false, true} {
		t.Run(fmt.Sprint(small), func(t *testing.T) {
			b := newBench(t, newRAMLog())
			b.submit(world)
			b.turn(b.intake.take())
			b.submit(transferTx(1, ""))
			b.small = small
			b.offer()
			if handed := b.inFlight != nil; handed == small {
				t.Errorf("handed over: %v, want %v", handed, !small)
			}
		})
	}
}

// slowly returns a bench whose log took 4 ms for a batch of the given number of
// commits, and whose filling batch is empty.
func slowly(t *testing.T, commits uint32) *bench {
	b := newBench(t, newRAMLog())
	b.small, b.inFlight = true, new(batch)
	b.inFlight.frame.Count = commits
	b.synced(syncEvent{took: 4 * time.Millisecond})
	return b
}

// gathered gives waiting requests their turns until the filling batch would be
// handed over, and returns the time that passed.
func (b *bench) gathered() time.Duration {
	start := time.Now()
	for first := true; first || b.gather(); first = false {
		if g := b.intake.take(); g != nil {
			b.turn(g)
		}
	}
	b.gathering.began = 0
	return time.Since(start)
}

// TestLinger checks how long a batch waits for the clients that were just answered.
func TestLinger(t *testing.T) {
	for name, test := range map[string]struct {
		commits uint32          // in the previous batch
		others  []time.Duration // times at which clients send, besides the first
		most    time.Duration   // time until the batch is handed over
		count   uint32          // its commits
	}{
		"all return":           {3, []time.Duration{500e3, 1e6}, 1e6, 3},
		"the only one is back": {1, nil, 0, 1},
		"one stays away":       {4, []time.Duration{500e3, 1e6}, 2e6, 3},
		"one is late":          {3, []time.Duration{500e3, 3e6}, 2e6, 2},
		"more come than left":  {2, []time.Duration{500e3, 600e3}, 500e3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := slowly(t, test.commits)
				b.submit(world)
				for _, at := range test.others {
					time.AfterFunc(at, func() { b.submit(transferTx(1, "")) })
				}
				if took := b.gathered(); took != test.most || b.filling.frame.Count != test.count {
					t.Errorf("after %v a batch of %d commits, want %v and %d", took, b.filling.frame.Count, test.most, test.count)
				}
				time.Sleep(5 * time.Millisecond) // for those that are late
			})
		})
	}
}

// TestLingerRests checks that batches stop waiting, for a while, if the clients
// that were answered don't return.
func TestLingerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowly(t, 8)
		b.submit(world)
		for i := range 3 * (vainBatches + restBatches) {
			want := 2 * time.Millisecond
			if i%(vainBatches+restBatches) >= vainBatches {
				want = 0
			}
			if took := b.gathered(); took != want {
				t.Fatalf("batch %d waited %v, want %v", i, took, want)
			}
			b.returning(8, 4*time.Millisecond)
		}
		for range vainBatches - 1 {
			b.gathered()
			b.returning(8, 4*time.Millisecond)
		}
		for range 8 * vainBatches {
			b.filling.frame.Count = 6
			b.gathered()
			b.returning(8, 4*time.Millisecond)
		}
		if b.gathering.rest > 0 {
			t.Error("batches that got most of the expected commits stopped waiting")
		}
	})
}

// TestPatience checks how long a batch waits, depending on the time that the log took
// for the previous one.
func TestPatience(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		200 * time.Microsecond: 0, slowLog - 1: 0, slowLog: slowLog / 2, 5 * time.Second: patienceMost,
	} {
		s := new(sequencer)
		if s.returning(2, took); s.gathering.patience != want {
			t.Errorf("after %v: %v, want %v", took, s.gathering.patience, want)
		}
	}
}
