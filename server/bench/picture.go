package main

import (
	"fmt"
	"os"
	"strings"
)

// A picture shows where the time of one commit goes when one client sends one
// commit after another. Its parts come from clocks that nest, so that they add
// up:
//
//	client's ⊃ request ⊃ decoded to durable ⊃ the log's write and sync
//
// The first clock is the client's; the others are the write daemon's histograms.
type picture struct {
	rounds [][4]float64 // for each round, in µs, outermost clock first: the client's median, and means of the others
}

const (
	writeMetrics = "asset_ledger_write_"
	commitRoute  = `{route="/v1/commit"}`
)

// pictured runs one round of a client, and records where its time went.
func (b *bench) pictured(write *process, round func() (float64, error)) (float64, error) {
	before, err := samples(write.url)
	if err != nil {
		return 0, err
	}
	p50, err := round()
	if err != nil {
		return 0, err
	}
	after, err := samples(write.url)
	if err != nil {
		return 0, err
	}
	mean := func(name, labels string) float64 {
		return (after[name+"_sum"+labels] - before[name+"_sum"+labels]) /
			max(1, after[name+"_count"+labels]-before[name+"_count"+labels]) * 1e6
	}
	b.picture.rounds = append(b.picture.rounds, [4]float64{p50,
		mean(writeMetrics+"request_duration_seconds", commitRoute),
		mean(writeMetrics+"commit_duration_seconds", ""),
		mean(writeMetrics+"log_sync_duration_seconds", ""),
	})
	return p50, nil
}

// parts returns the differences between the nested clocks, in µs.
func (p *picture) parts() []part {
	var clock [4]float64
	for i := range clock {
		var n []float64
		for _, r := range p.rounds {
			n = append(n, r[i])
		}
		clock[i] = median(n)
	}
	return []part{
		{"loopback, net/http: accept the request, send the response", clock[0] - clock[1], "#8da0cb"},
		{"read the body, decode, build the response, update metrics", clock[1] - clock[2], "#e5c494"},
		{"hand over twice, judge and apply, wake the waiter", clock[2] - clock[3], "#a6d854"},
		{"CRC, write, fdatasync, move END", clock[3], "#fc8d62"},
	}
}

type part struct {
	what  string
	micro float64
	color string
}

// write writes the SVG, if there is data.
func (p *picture) write(path string) error {
	if len(p.rounds) == 0 {
		return nil
	}
	const left, width, bar = 20.0, 760.0, 44.0
	parts := p.parts()
	total := 0.0
	for _, part := range parts {
		total += max(part.micro, 0)
	}
	var b strings.Builder
	height := 90 + bar + 26*float64(len(parts))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 %.0f" font-family="sans-serif" font-size="14">`+"\n", height)
	fmt.Fprintf(&b, `<rect width="800" height="%.0f" fill="white"/>`+"\n", height)
	fmt.Fprintf(&b, `<text x="%.0f" y="30" font-size="17">Where the time of one commit goes: one client, %.0f µs</text>`+"\n", left, total)
	x, y := left, 48.0
	for _, part := range parts {
		w := width * max(part.micro, 0) / total
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.0f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", x, y, w, bar, part.color)
		if w > 40 {
			fmt.Fprintf(&b, `<text x="%.1f" y="%.0f" text-anchor="middle">%.0f µs</text>`+"\n", x+w/2, y+bar/2+5, part.micro)
		}
		x += w
	}
	for i, part := range parts {
		line := y + bar + 28 + 26*float64(i)
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="16" height="16" fill="%s"/>`+"\n", left, line-13, part.color)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f">%.1f µs, %.0f%%: %s</text>`+"\n", left+26, line, part.micro, 100*max(part.micro, 0)/total, part.what)
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
