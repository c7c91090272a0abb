package writer

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
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
				t.Errorf("handed over: %v", handed)
			}
		})
	}
}
