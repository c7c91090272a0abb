// Package metrics implements counters, gauges and histograms, and writes them in
// the Prometheus text exposition format, version 0.0.4.
//
// A Registry is filled once, at start, and is read-only from then on. Any number of
// goroutines may use its metrics. Counting takes one or two atomic additions, without
// locks, maps or allocations.
package metrics

import (
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// ContentType is the media type of the text exposition format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Registry holds metric families in the order in which they were registered.
type Registry struct{ families []*family }

type family struct {
	name, help, kind string
	series           []series
}

type series interface {
	append(dst []byte, name string) []byte
}

func (r *Registry) family(name, help, kind string) *family {
	for _, f := range r.families {
		if f.name == name {
			return f
		}
	}
	f := &family{name: name, help: help, kind: kind}
	r.families = append(r.families, f)
	return f
}

// Append appends all families in the text format.
func (r *Registry) Append(dst []byte) []byte {
	for _, f := range r.families {
		dst = append(dst, "# HELP "...)
		dst = append(dst, f.name...)
		dst = append(dst, ' ')
		dst = append(dst, strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(f.help)...)
		dst = append(dst, "\n# TYPE "...)
		dst = append(dst, f.name...)
		dst = append(dst, ' ')
		dst = append(dst, f.kind...)
		dst = append(dst, '\n')
		for _, s := range f.series {
			dst = s.append(dst, f.name)
		}
	}
	return dst
}

// labels renders pairs, a list of alternating names and values, as {a="b"}. It returns
// "" if the list is empty.
func labels(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	var b strings.Builder
	escape := strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
	for i := 0; i < len(pairs); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(pairs[i])
		b.WriteString(`="`)
		b.WriteString(escape.Replace(pairs[i+1]))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

func appendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-Inf"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// A Counter is a number that never decreases.
type Counter struct {
	n      atomic.Uint64
	labels string
	sparse bool // omitted while it is 0
}

// Counter registers a counter with fixed labels. pairs is a list of alternating
// names and values.
func (r *Registry) Counter(name, help string, pairs ...string) *Counter {
	c := &Counter{labels: labels(pairs)}
	f := r.family(name, help, "counter")
	f.series = append(f.series, c)
	return c
}

// SparseCounter registers a Counter that is omitted from the output while it is
// zero. It is meant for families with many possible label values, such as statuses.
func (r *Registry) SparseCounter(name, help string, pairs ...string) *Counter {
	c := r.Counter(name, help, pairs...)
	c.sparse = true
	return c
}

// Add adds n to the counter.
func (c *Counter) Add(n uint64) { c.n.Add(n) }

// Value returns the count so far.
func (c *Counter) Value() uint64 { return c.n.Load() }

func (c *Counter) append(dst []byte, name string) []byte {
	n := c.n.Load()
	if n == 0 && c.sparse {
		return dst
	}
	dst = append(append(dst, name...), c.labels...)
	dst = append(dst, ' ')
	return append(strconv.AppendUint(dst, n, 10), '\n')
}

type function struct {
	value  func() float64
	labels string
}

// GaugeFunc registers a gauge whose value is computed whenever it is written.
func (r *Registry) GaugeFunc(name, help string, value func() float64, pairs ...string) {
	f := r.family(name, help, "gauge")
	f.series = append(f.series, &function{value, labels(pairs)})
}

type functions struct {
	label  string
	values func(show func(label string, value float64))
}

// GaugesFunc registers gauges that differ in one label. The callback
// runs whenever they are written. It must call show once for each value of the label.
func (r *Registry) GaugesFunc(name, help, label string, values func(show func(label string, value float64))) {
	f := r.family(name, help, "gauge")
	f.series = append(f.series, &functions{label, values})
}

func (g *functions) append(dst []byte, name string) []byte {
	g.values(func(label string, value float64) {
		dst = append(append(dst, name...), labels([]string{g.label, label})...)
		dst = append(appendFloat(append(dst, ' '), value), '\n')
	})
	return dst
}

// CounterFunc registers a counter whose value is computed whenever it is written.
func (r *Registry) CounterFunc(name, help string, value func() float64, pairs ...string) {
	f := r.family(name, help, "counter")
	f.series = append(f.series, &function{value, labels(pairs)})
}

func (g *function) append(dst []byte, name string) []byte {
	dst = append(append(dst, name...), g.labels...)
	dst = append(dst, ' ')
	return append(appendFloat(dst, g.value()), '\n')
}

// A Histogram counts observations in buckets. Observations are integers in one
// unit, such as nanoseconds. scale converts them to the unit shown, such as
// seconds.
type Histogram struct {
	bounds []int64 // upper bounds, inclusive, ascending, in the unit of observation
	les    []string
	counts []atomic.Uint64 // one more than bounds, for +Inf
	sum    atomic.Int64
	scale  float64
	inner  string // labels without braces, with a trailing comma, or ""
	labels string
}

// Histogram registers a histogram with the given upper bounds, in the unit shown.
// scale is the value of one observed unit in the unit shown: 1e-9 for nanoseconds
// shown as seconds.
func (r *Registry) Histogram(name, help string, scale float64, bounds []float64, pairs ...string) *Histogram {
	h := &Histogram{counts: make([]atomic.Uint64, len(bounds)+1), scale: scale, labels: labels(pairs)}
	if h.labels != "" {
		h.inner = h.labels[1:len(h.labels)-1] + ","
	}
	for _, b := range bounds {
		h.bounds = append(h.bounds, int64(math.Round(b/scale)))
		h.les = append(h.les, string(appendFloat(nil, b)))
	}
	f := r.family(name, help, "histogram")
	f.series = append(f.series, h)
	return h
}

// Observe counts one observation.
func (h *Histogram) Observe(v int64) { h.ObserveN(v, 1) }

// ObserveN counts n observations of the same value.
func (h *Histogram) ObserveN(v int64, n uint64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(n)
	h.sum.Add(v * int64(n))
}

func (h *Histogram) append(dst []byte, name string) []byte {
	var total uint64
	for i := range h.counts {
		total += h.counts[i].Load()
		le := "+Inf"
		if i < len(h.les) {
			le = h.les[i]
		}
		dst = append(append(dst, name...), "_bucket{"...)
		dst = append(append(dst, h.inner...), `le="`...)
		dst = append(append(dst, le...), `"} `...)
		dst = append(strconv.AppendUint(dst, total, 10), '\n')
	}
	dst = append(append(append(dst, name...), "_sum"...), h.labels...)
	dst = append(appendFloat(append(dst, ' '), float64(h.sum.Load())*h.scale), '\n')
	dst = append(append(append(dst, name...), "_count"...), h.labels...)
	return append(strconv.AppendUint(append(dst, ' '), total, 10), '\n')
}

// Bounds are the bounds of the histograms of durations, in seconds: 10 µs to 10 s.
var Bounds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}

// Sizes are the bounds of the histograms of counts: powers of two to 16,384.
var Sizes = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}

// Text returns all families in the text format.
func (r *Registry) Text() []byte { return r.Append(nil) }
