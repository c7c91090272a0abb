package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// A row is one line of goals: what is set up for it, and its probes.
type row struct {
	name, what string
	setup      func(b *bench) ([]probe, error)
	goals      []goal
	once       bool // measured in one round: building it takes long and it varies little
}

// A probe measures one number.
type probe struct {
	name, unit string
	measure    func() (float64, error)
	more       []derived
}

// A derived number is measured together with a probe's.
type derived struct {
	name, unit string
	value      func() float64 // after measure
}

// A goal is a bound on a number that is computed from one round's probes; the
// median over the rounds is compared. NaN from of says that a probe is absent.
type goal struct {
	what   string
	of     func(v values) float64
	atMost bool // else at least
	bound  float64
	unit   string // "" for a ratio
}

// values are the numbers of one round, by probe. What was not measured is NaN.
type values map[string]float64

func (v values) get(name string) float64 {
	if n, ok := v[name]; ok {
		return n
	}
	return math.NaN()
}

// ratio is a goal's usual number: one probe by another.
func ratio(a, b string) func(values) float64 {
	return func(v values) float64 { return v.get(a) / v.get(b) }
}

// only is a goal's number when it is no ratio.
func only(name string) func(values) float64 {
	return func(v values) float64 { return v.get(name) }
}

// A result is what a row measured.
type result struct {
	row    row
	probes []probe
	rounds []values
	load   string // of the machine, before and after
	failed string
}

// row sets up a row and measures its rounds: forwards, backwards, forwards …
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
			if err != nil { // the other rounds may do: on a busy machine a peer can fail to answer in time
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

// median is the middle of the numbers that are there; NaN if none is.
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

// of is a probe's numbers, round by round.
func (r *result) of(name string) []float64 {
	var n []float64
	for _, v := range r.rounds {
		n = append(n, v.get(name))
	}
	return n
}

// reached is a goal's median over the rounds.
func (r *result) reached(g goal) float64 {
	var n []float64
	for _, v := range r.rounds {
		n = append(n, g.of(v))
	}
	return median(n)
}

// short is a number with three or four digits that mean something.
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
