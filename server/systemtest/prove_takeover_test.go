package systemtest

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestProveTakeover measures how long a ledger on several machines accepts no
// commits when its writer is killed or asked to stop, without load and under
// load. The short form only asks the writer to stop, under load. Everything that was
// acknowledged must be there afterwards.
func TestProveTakeover(t *testing.T) {
	rounds := proof(t, 0, 30)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := newClusterRig(t, seed, clusterPlan{})
	for _, c := range []struct {
		name   string
		load   bool
		end    func(m *machine)
		rounds int
	}{
		{"asked to stop, at rest", false, func(m *machine) { m.write.stop(t) }, 2 * rounds},
		{"asked to stop, under load", true, func(m *machine) { m.write.stop(t) }, max(2, 2*rounds)},
		{"killed, at rest", false, func(m *machine) { m.write.kill() }, rounds},
		{"killed, under load", true, func(m *machine) { m.write.kill() }, rounds},
	} {
		var took []time.Duration
		for range c.rounds {
			r.level()
			if c.load {
				r.load()
				r.awaitCommits(100)
			}
			took = append(took, r.replaced(c.end))
			r.endLoad()
		}
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		at := func(share float64) time.Duration {
			return took[int(share*float64(len(took)-1))].Round(time.Millisecond)
		}
		t.Logf("%s, %d times: the first response of another daemon after at least %v, median %v, 90 %% %v, at most %v",
			c.name, len(took), at(0), at(0.5), at(0.9), at(1))
	}
	r.compare()
}

// level waits until all daemons are at the end of the log.
func (r *clusterRig) level() {
	r.t.Helper()
	r.until("all daemons are at the end of the log", func() bool {
		h, err := r.health(r.writer().listen)
		level := 0
		for _, m := range h.CommitLog.Mirrors {
			if m.Lag == 0 {
				level++
			}
		}
		return err == nil && level >= len(r.machines)-1
	})
}

// replaced stops the writer in the given way, and starts its daemon again later.
// It returns the time until another daemon has acknowledged a commit.
func (r *clusterRig) replaced(end func(*machine)) time.Duration {
	r.t.Helper()
	m := r.writer()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := make(chan time.Time, len(r.machines))
	var asking sync.WaitGroup
	for _, other := range r.machines {
		if other != m {
			asking.Go(func() { askUntilAnswered(ctx, other, r.began, first) })
		}
	}
	began := time.Now()
	end(m)
	var took time.Duration
	select {
	case at := <-first:
		took = at.Sub(began)
	case <-time.After(time.Minute):
		r.t.Fatal("no other daemon took over within a minute")
	}
	cancel()
	asking.Wait()
	r.start(m)
	return took
}

// askUntilAnswered repeats the log's first commit at a daemon until the daemon
// responds with the result, which it does once it is the writer.
func askUntilAnswered(ctx context.Context, m *machine, began *job, first chan<- time.Time) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, "POST", "http://"+m.listen+began.path, strings.NewReader(began.body))
		if err != nil {
			return
		}
		if resp, err := client.Do(req); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusServiceUnavailable {
				first <- time.Now()
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
