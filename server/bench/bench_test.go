package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMedianLeavesOutWhatIsAbsent(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		numbers []float64
		want    float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, nan, 2}, 3}, {[]float64{7}, 7}} {
		if got := median(c.numbers); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.numbers, got, c.want)
		}
	}
	if got := median([]float64{nan}); !math.IsNaN(got) {
		t.Errorf("median of NaN alone is %v, want NaN", got)
	}
}

// TestGoalIsTheMedianOfTheRoundsRatios checks that a goal is the median of the ratios
// of the rounds, and not the ratio of the medians.
func TestGoalIsTheMedianOfTheRoundsRatios(t *testing.T) {
	r := result{rounds: []values{{"a": 1, "b": 10}, {"a": 9, "b": 10}, {"a": 40, "b": 50}}}
	least, most := goal{of: ratio("a", "b"), bound: 0.8}, goal{of: ratio("a", "b"), bound: 0.7, atMost: true}
	if got := r.reached(least); got != 0.8 || r.verdict(least) != "met" || r.verdict(most) != "NOT MET" {
		t.Errorf("reached %v, at least 0.8: %q, at most 0.7: %q; want 0.8, met, NOT MET", got, r.verdict(least), r.verdict(most))
	}
	absent := goal{of: ratio("a", "peer"), bound: 1}
	if r.verdict(absent) != "" || absent.show(r.reached(absent)) != "not measured" {
		t.Errorf("with an absent peer, the verdict is %q and the number %q; want no verdict and \"not measured\"", r.verdict(absent), absent.show(r.reached(absent)))
	}
}

func TestQuantile(t *testing.T) {
	before := map[string]float64{`x_bucket{le="1e-05"}`: 5, `x_bucket{le="2.5e-05"}`: 5, "x_count": 5}
	after := map[string]float64{`x_bucket{le="1e-05"}`: 5, `x_bucket{le="2.5e-05"}`: 105, "x_count": 105}
	if got := quantile(before, after, "x", 0.5) * 1e6; math.Abs(got-17.5) > 0.01 {
		t.Errorf("p50 is %v µs, want 17.5, the middle of its bucket", got)
	}
}

func TestSkipAnswer(t *testing.T) {
	in := bufio.NewReader(strings.NewReader("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	for _, want := range []int{503, 200} {
		if got, err := skipAnswer(in); got != want || err != nil {
			t.Errorf("skipAnswer returned %d, %v; want status %d", got, err, want)
		}
	}
}

// TestPicture checks that the parts add up to the time that the client saw.
func TestPicture(t *testing.T) {
	p := &picture{rounds: [][4]float64{{100, 70, 60, 40}, {110, 70, 60, 40}, {90, 70, 60, 40}}}
	total := 0.0
	for _, part := range p.parts() {
		total += part.micro
	}
	if total != 100 {
		t.Errorf("the parts add up to %v µs, want 100", total)
	}
	path := filepath.Join(t.TempDir(), "x.svg")
	if err := p.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "100 µs") || !strings.Contains(string(text), "</svg>") {
		t.Errorf("want a complete SVG with the total of 100 µs, got error %v and text %s", err, text)
	}
}

// TestOnlyWithoutMatch checks that a pattern that matches no row is an error,
// before anything is built.
func TestOnlyWithoutMatch(t *testing.T) {
	if err := run([]string{"-only", "a,b", "-out", t.TempDir()}); err == nil || !strings.Contains(err.Error(), "no row matches") {
		t.Errorf("run returned %v, want an error with \"no row matches\"", err)
	}
}

// TestGoalsOfSpeedAreRatios checks that no goal is an absolute rate, which would depend
// on the machine.
func TestGoalsOfSpeedAreRatios(t *testing.T) {
	for _, r := range rows() {
		for _, g := range r.goals {
			if strings.HasSuffix(g.unit, "/s") {
				t.Errorf("%s: %q is a rate in %s: compare it with something that is measured alongside", r.name, g.what, g.unit)
			}
		}
	}
}
