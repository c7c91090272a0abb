package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	var r Registry
	r.Counter("a_total", "Counts\nthings.", "route", `/x"y`).Add(3)
	r.SparseCounter("b_total", "Nothing yet.", "code", "X")
	r.SparseCounter("b_total", "Nothing yet.", "code", "Y").Add(1)
	r.GaugeFunc("c", "A gauge.", func() float64 { return 2.5 })
	r.GaugesFunc("c_each", "Gauges.", "name", func(show func(string, float64)) { show("x", 1); show(`y"`, 2) })
	h := r.Histogram("d_seconds", "Times.", 1e-9, []float64{0.001, 0.01}, "route", "r")
	h.Observe(1_000_000) // equal to the bound, which is inclusive
	h.Observe(1_000_001)
	h.ObserveN(20_000_000, 2)
	plain := r.Histogram("e", "Sizes.", 1, []float64{1})
	plain.Observe(1)
	want := `# HELP a_total Counts\nthings.
# TYPE a_total counter
a_total{route="/x\"y"} 3
# HELP b_total Nothing yet.
# TYPE b_total counter
b_total{code="Y"} 1
# HELP c A gauge.
# TYPE c gauge
c 2.5
# HELP c_each Gauges.
# TYPE c_each gauge
c_each{name="x"} 1
c_each{name="y\""} 2
# HELP d_seconds Times.
# TYPE d_seconds histogram
d_seconds_bucket{route="r",le="0.001"} 1
d_seconds_bucket{route="r",le="0.01"} 2
d_seconds_bucket{route="r",le="+Inf"} 4
d_seconds_sum{route="r"} 0.042000001
d_seconds_count{route="r"} 4
# HELP e Sizes.
# TYPE e histogram
e_bucket{le="1"} 1
e_bucket{le="+Inf"} 1
e_sum 1
e_count 1
`
	if diff := cmp.Diff(want, string(r.Text())); diff != "" {
		t.Errorf("text, -want +got:\n%s", diff)
	}
}

func TestProcess(t *testing.T) {
	var r Registry
	Process(&r, "v0", "abc")
	if cpuSeconds() < 0 || statm(1) <= 0 || openFiles() < 3 || maxFiles() < 3 {
		t.Errorf("got CPU seconds %v, resident bytes %v, open files %v, at most %v; want at least 0, 1, 3 and 3", cpuSeconds(), statm(1), openFiles(), maxFiles())
	}
}

func BenchmarkObserve(b *testing.B) {
	var r Registry
	h := r.Histogram("d_seconds", "Times.", 1e-9, Bounds)
	b.ReportAllocs()
	for i := range b.N {
		h.Observe(int64(i))
	}
}
