package sim

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assetledger/server/servertest/longtest"
)

func TestMain(m *testing.M) { os.Exit(longtest.Main(m)) }

var (
	simSeeds = flag.Int("seeds", 0, "number of simulations to run; 0: 300 in the long form, 100 in the short form")
	simSeed  = flag.Uint64("seed", 0, "first seed of the simulations; 0: taken from the clock")
)

// pastSeeds failed once, and are run every time. Each is named after its
// defect. docs/durability.md describes the defect, and names a deterministic
// test for it, because what a seed draws changes whenever the simulation
// changes.
var pastSeeds = []struct {
	name string
	seed uint64
}{
	{"a start that was killed before it had created a new END", 8485},
}

func TestSimulation(t *testing.T) {
	var total simStats
	run := func(seed uint64, about string) {
		stats, err := simulate(seed, sabotage{})
		if err != nil {
			t.Fatalf("%srepeat with -run 'TestSimulation$' -seeds 1 -seed %d: %v", about, seed, err)
		}
		total.add(&stats)
	}
	for _, past := range pastSeeds {
		run(past.seed, past.name+": ")
	}
	first := *simSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) % 1e12
	}
	seeds := *simSeeds
	if seeds == 0 {
		if seeds = 300 / raceFactor; !longtest.Form(t, "two thirds of the seeds") {
			seeds = 100 / raceFactor
		}
	}
	start := time.Now()
	for i := range uint64(seeds) {
		run(first+i, "")
	}
	took := time.Since(start)
	t.Logf("seeds %d to %d in %v, %.0f a second", first, first+uint64(seeds)-1, took.Round(time.Second), float64(seeds)/took.Seconds())
	t.Logf("%v", &total)
	if seeds >= 100 && (total.expired == 0 || total.reversed == 0 || total.lines == 0 || total.stopped == 0) {
		t.Error("no hold expired, no commit was reversed, no line of a stream was tried, or none was skipped after an error")
	}
}

// TestSimulationIsDetermined checks that the seed determines everything in a
// simulation.
func TestSimulationIsDetermined(t *testing.T) {
	for seed := range uint64(10) {
		a, errA := simulate(seed, sabotage{})
		b, errB := simulate(seed, sabotage{})
		if a != b || (errA == nil) != (errB == nil) {
			t.Errorf("seed %d gave %v (%v), and then %v (%v)", seed, &a, errA, &b, errB)
		}
	}
}

// TestSimulationFinds tests the simulation itself. With each defect in the
// ledger or its disk, some runs must fail, with at least one of the expected messages.
func TestSimulationFinds(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken sabotage
		signs  []string
	}{
		{"sync that lies", sabotage{syncLies: true}, []string{"is lost", "was seen at commit", "taken back"}},
		{"END before the sync", sabotage{endEarly: true}, []string{"was seen at commit", "taken back"}},
		{"reply before the sync", sabotage{replyEarly: true}, []string{"lost", "acknowledged as"}},
		{"a stream whose blocks are not in one lane", sabotage{shuffled: true}, []string{"out of its stream's order", "before an earlier one"}},
		{"a stream that continues after an error", sabotage{goesOn: true}, []string{"was tried after an error"}},
	} {
		found := map[string]int{}
		failed := 0
		const seeds = 200
		for seed := range uint64(seeds) {
			_, err := simulate(1+seed, c.broken)
			if err == nil {
				continue
			}
			failed++
			for _, sign := range c.signs {
				if strings.Contains(err.Error(), sign) {
					found[sign]++
				}
			}
			if i := slices.IndexFunc(c.signs, func(sign string) bool { return found[sign] > 0 }); i >= 0 && failed >= 3 {
				break
			}
		}
		t.Logf("%s: %d seeds fail: %v", c.name, failed, found)
		if len(found) == 0 {
			t.Errorf("%s: %d of %d runs fail, and no message contains any of %q", c.name, failed, seeds, c.signs)
		}
	}
}
