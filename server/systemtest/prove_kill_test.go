package systemtest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// roundsOfOneLog is the maximum number of rounds with one log. It limits the log's
// length, because the whole log is read back after each round.
const roundsOfOneLog = 8

// TestProveKilledDaemons kills one or both daemons at random moments under
// load, and compares the log with everything that clients and readers saw.
func TestProveKilledDaemons(t *testing.T) {
	total := proof(t, 15*time.Second, 2*time.Minute)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var loaded time.Duration
	var sum struct{ logs, rounds, writes, reads, done, open, polls int }
	for loaded < total && !t.Failed() {
		sum.logs++
		r := newRig(t, filepath.Join(t.TempDir(), fmt.Sprint(sum.logs)), "262144", seed+uint64(sum.logs))
		r.start()
		for round := 0; round < roundsOfOneLog && loaded < total && !t.Failed(); round++ {
			sum.rounds++
			began := time.Now()
			r.load()
			for n := rng.IntN(3); n > 0; n-- { // while the load continues
				time.Sleep(time.Duration(100+rng.IntN(800)) * time.Millisecond)
				r.kill(false, true)
				sum.reads++
				r.start()
			}
			time.Sleep(time.Duration(100+rng.IntN(1500)) * time.Millisecond)
			both := rng.IntN(2) == 0
			r.kill(true, both)
			sum.writes++
			if rng.IntN(2) == 0 { // with the load still running
				r.start()
				time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
				r.kill(true, both)
				sum.writes++
			}
			r.endLoad()
			loaded += time.Since(began)
			r.verify()
			if err := r.check(); err != nil {
				t.Errorf("after round %d: %v", sum.rounds, err)
			}
			r.start()
		}
		done, open := r.acknowledged()
		sum.done, sum.open, sum.polls = sum.done+done, sum.open+open, sum.polls+r.poller.count
		r.write.stop(t)
		r.read.stop(t)
		r.write, r.read = nil, nil
		r.verify()
		r.close()
	}
	t.Logf("%v under load, %d logs, %d rounds; the write daemon was killed %d times, and the read daemon alone %d times; "+
		"%d commits acknowledged, %d requests with an unknown outcome, %d reads checked; none lost, none duplicated, none taken back",
		loaded.Round(time.Second), sum.logs, sum.rounds, sum.writes, sum.reads, sum.done, sum.open, sum.polls)
}
