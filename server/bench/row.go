package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// A row is a group of goals. Its setup starts what is measured, and returns the probes.
type row struct {
	name, what string
	setup      func(b *bench) ([]probe, error)
	goals      []goal
	once       bool // measured in one round, because the setup takes a long time and the result varies little
}

// A probe measures one number.
type probe struct {
	name, unit string
	measure    func() (float64, error)
	more       []derived
}

// A derived number is measured together with that of a probe.
type derived struct {
	name, unit string
	value      func() float64 // called after measure
}

// A goal is a bound on a number that is computed from the probes of one round. The median
// over the rounds is compared with the bound. The number is NaN if a probe is absent.
type goal struct {
	what   string
	of     func(v values) float64
	atMost bool // otherwise at least
	bound  float64
	unit   string // "" for a ratio
}

// values holds the numbers of one round, by probe. A missing number is NaN.
type values map[string]float64

func (v values) get(name string) float64 {
	if n, ok := v[name]; ok {
		return n
	}
	return math.NaN()
}

// ratio returns a function that computes the usual number of a goal: probe a divided by
// probe b.
func ratio(a, b string) func(values) float64 {
	return func(v values) float64 { return v.get(a) / v.get(b) }
}

// only is like ratio, for a goal whose number is that of a single probe.
func only(name string) func(values) float64 {
	return func(v values) float64 { return v.get(name) }
}

// A result holds the measurements of a row.
type result struct {
	row    row
	probes []probe
	rounds []values
	load   string // load average of the machine, before and after
	failed string
}

// row sets up a row and measures its probes in rounds: in their order in one round, and
// in reverse order in the next.
func (b *bench) row(r row) (result, error) {
	res := result{row: r, load: loadAverage()}
	probes, err := r.setup(b)
	if err != nil {
		return res, err
	}
	res.probes = probes
	rounds := b.rounds
	if r.once {
		rounds = 1
	}
	for i := range rounds {
		order := slices.Clone(probes)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		v := values{}
		for _, p := range order {
			if err := b.ctx.Err(); err != nil {
				return res, err
			}
			start := time.Now()
			n, err := p.measure()
			if err != nil { // the other rounds may succeed: on a busy machine a peer may respond too late
				res.failed = fmt.Sprintf("%s, round %d: %v", p.name, i+1, err)
				fmt.Fprintf(os.Stderr, "  round %d  %s failed: %v\n", i+1, p.name, err)
				continue
			}
			v[p.name] = n
			for _, d := range p.more {
				v[d.name] = d.value()
			}
			fmt.Fprintf(os.Stderr, "  round %d  %-44s %12s %s  (%.1fs)\n", i+1, p.name, short(n), p.unit, time.Since(start).Seconds())
		}
		res.rounds = append(res.rounds, v)
	}
	res.load += " to " + loadAverage()
	return res, nil
}

// median returns the median of the numbers that are not NaN, or NaN if there are
// none.
func median(numbers []float64) float64 {
	var n []float64
	for _, v := range numbers {
		if !math.IsNaN(v) {
			n = append(n, v)
		}
	}
	if len(n) == 0 {
		return math.NaN()
	}
	slices.Sort(n)
	if len(n)%2 == 1 {
		return n[len(n)/2]
	}
	return (n[len(n)/2-1] + n[len(n)/2]) / 2
}

// of returns the numbers of a probe by round.
func (r *result) of(name string) []float64 {
	var n []float64
	for _, v := range r.rounds {
		n = append(n, v.get(name))
	}
	return n
}

// reached returns the median of a goal's number over the rounds.
func (r *result) reached(g goal) float64 {
	var n []float64
	for _, v := range r.rounds {
		n = append(n, g.of(v))
	}
	return median(n)
}

// short formats a number with at most three decimals: the larger the number, the
// fewer.
func short(n float64) string {
	switch a := math.Abs(n); {
	case math.IsNaN(n):
		return "-"
	case a >= 1000:
		return fmt.Sprintf("%.0f", n)
	case a >= 100:
		return fmt.Sprintf("%.1f", n)
	case a >= 10:
		return fmt.Sprintf("%.2f", n)
	}
	return fmt.Sprintf("%.3f", n)
}
