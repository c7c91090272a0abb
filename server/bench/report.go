package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// A report is the table of one run.
type report struct {
	machine string
	began   time.Time
	rounds  int
	slice   time.Duration
	results []result
	skipped []string
}

// text returns the report in readable form: the goals first, then all numbers.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s\n", r.machine)
	fmt.Fprintf(&b, "%s; medians of %d alternating rounds, %v a probe; load generator on the same cores.\n\n",
		r.began.UTC().Format("2006-01-02 15:04 UTC"), r.rounds, r.slice)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\tgoal\tbound\tmeasured\t")
	for _, res := range r.results {
		for _, g := range res.row.goals {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", res.row.name, g.what, g.bounds(), g.show(res.reached(g)), res.verdict(g))
		}
	}
	w.Flush()
	for _, res := range r.results {
		fmt.Fprintf(&b, "\n%s: %s (load average %s)\n", res.row.name, res.row.what, res.load)
		if res.failed != "" {
			fmt.Fprintf(&b, "  FAILED: %s\n", res.failed)
		}
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, p := range res.probes {
			res.line(w, p.name, p.unit)
			for _, d := range p.more {
				res.line(w, d.name, d.unit)
			}
		}
		w.Flush()
	}
	if len(r.skipped) > 0 {
		fmt.Fprintf(&b, "\nSkipped:\n")
		for _, s := range r.skipped {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	return b.String()
}

// line writes one probe: its median, and the number of each round.
func (r *result) line(w *tabwriter.Writer, name, unit string) {
	numbers := r.of(name)
	var each []string
	for _, n := range numbers {
		each = append(each, short(n))
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t(%s)\n", name, short(median(numbers)), unit, strings.Join(each, " "))
}

func (g *goal) bounds() string {
	if g.atMost {
		return "at most " + g.show(g.bound)
	}
	return "at least " + g.show(g.bound)
}

func (g *goal) show(n float64) string {
	if math.IsNaN(n) {
		return "not measured"
	}
	if g.unit == "" {
		return fmt.Sprintf("%.2f x", n)
	}
	return short(n) + g.unit
}

// verdict reports whether the goal is met.
func (r *result) verdict(g goal) string {
	n := r.reached(g)
	switch {
	case math.IsNaN(n):
		return ""
	case g.atMost == (n <= g.bound) || n == g.bound:
		return "met"
	}
	return "NOT MET"
}
