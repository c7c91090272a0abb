package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A pair is a write daemon and a read daemon on one log.
type pair struct {
	b     *bench
	dir   string
	write *process
	read  *process // nil until follow
}

// newPair starts a write daemon on a new log.
func (b *bench) newPair(args ...string) (*pair, error) {
	dir, err := os.MkdirTemp(b.dir, "log-")
	if err != nil {
		return nil, err
	}
	p := &pair{b: b, dir: filepath.Join(dir, "ledger")}
	return p, p.startWriter(args...)
}

// newWorld returns a pair with containers 1..n and the given number of stacks
// in each. It waits until the write daemon is ready: with a log on several machines,
// until the daemon is the writer.
func (b *bench) newWorld(containers, stacks int, args ...string) (*pair, error) {
	p, err := b.newPair(args...)
	if err != nil {
		return nil, err
	}
	if err := until(p.write, func() error { return exchange(http.Get(p.write.url + "/v1/readyz"))(nil) }); err != nil {
		return nil, err
	}
	return p, p.world(containers, stacks)
}

// followedWorld returns newWorld's pair with a read daemon.
func (b *bench) followedWorld(containers, stacks int, args ...string) (*pair, error) {
	p, err := b.newWorld(containers, stacks, args...)
	if err != nil {
		return nil, err
	}
	return p, p.follow()
}

func (p *pair) startWriter(args ...string) (err error) {
	p.write, err = p.b.start(true, filepath.Join(p.b.bin, "ledger-write"),
		append([]string{"-dir", p.dir, "-listen", "127.0.0.1:0"}, args...)...)
	return err
}

// follow starts the read daemon, and waits until it has caught up.
func (p *pair) follow(args ...string) (err error) {
	p.read, err = p.b.start(true, filepath.Join(p.b.bin, "ledger-read"), append([]string{"-dir", p.dir, "-listen", "127.0.0.1:0"}, args...)...)
	return err
}

// remove stops the daemons and deletes their log.
func (p *pair) remove() {
	for _, d := range []*process{p.read, p.write} {
		if d != nil {
			d.stop()
		}
	}
	os.RemoveAll(filepath.Dir(p.dir))
}

// post sends one request to the write daemon. It returns an error if the status is
// not 200, or if the response contains an error.
func (p *pair) post(path string, body []byte) error {
	resp, err := http.Post(p.write.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"error"`))) {
		err = fmt.Errorf("%s: %d %.300s", path, resp.StatusCode, answer)
	}
	return err
}

// world registers class 1 and creates containers 1..n. Each has the given number of
// stacks of that class, with keys from 0 and a quantity of a billion each. world
// sends the operations in batches.
func (p *pair) world(containers, stacks int) error {
	if err := p.post("/v1/register/class", []byte(`{"class_id":1,"name":"Gold"}`)); err != nil {
		return err
	}
	const perBatch = 20_000 // operations
	size := max(1, perBatch/(stacks+1))
	var body []byte
	for first := 1; first <= containers; first += size {
		body = append(body[:0], `{"transactions":[`...)
		for id := first; id < min(first+size, containers+1); id++ {
			if id > first {
				body = append(body, ',')
			}
			body = append(body, `{"operations":[{"op":"CreateContainer","args":{"container_id":`...)
			body = append(strconv.AppendInt(body, int64(id), 10), `,"kind":"Standard"}}`...)
			for key := range stacks {
				body = append(body, `,{"op":"AddFungible","args":{"container_id":`...)
				body = append(strconv.AppendInt(body, int64(id), 10), `,"class_id":1,"key":`...)
				body = append(strconv.AppendInt(body, int64(key), 10), `,"quantity":1000000000}}`...)
			}
			body = append(body, "]}"...)
		}
		if err := p.post("/v1/commit/batch", append(body, "]}"...)); err != nil {
			return err
		}
	}
	return nil
}

// appendTransfer appends a transaction that moves 1 between two random
// containers of 1..n.
func appendTransfer(dst []byte, r *rand.Rand, n int) []byte {
	from := 1 + r.IntN(n)
	to := 1 + (from+r.IntN(n-1))%n
	dst = append(dst, `{"operations":[{"op":"TransferFungible","args":{"from_container":`...)
	dst = append(strconv.AppendInt(dst, int64(from), 10), `,"to_container":`...)
	dst = append(strconv.AppendInt(dst, int64(to), 10), `,"class_id":1,"key":0,"quantity":1}}]}`...)
	return dst
}

// transfers returns a batch request with the given number of transfers among
// containers 1..n.
func transfers(r *rand.Rand, size, n int) []byte {
	body := []byte(`{"transactions":[`)
	for i := range size {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendTransfer(body, r, n)
	}
	return append(body, "]}"...)
}

// variety is the number of different requests that a load cycles through.
const variety = 4096

// singles returns requests of one transfer each.
func singles(n int) []string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	bodies := make([]string, variety)
	for i := range bodies {
		bodies[i] = string(appendTransfer(nil, r, n))
	}
	return bodies
}

// balances returns paths for the balances of containers in 1..n.
func balances(n int) []string {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	paths := make([]string, variety)
	for i := range paths {
		paths[i] = "/v1/read/container/" + strconv.Itoa(1+r.IntN(n)) + "/balances"
	}
	return paths
}

// metric returns one sample of a daemon's metrics, or 0 if there is none of that
// name.
func metric(url, name string) (float64, error) {
	all, err := samples(url)
	return all[name], err
}

// samples returns all metrics of a daemon. The keys are names with labels.
func samples(url string) (map[string]float64, error) {
	resp, err := http.Get(url + "/v1/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n
		}
	}
	return all, nil
}

// quantile returns the quantile q of a histogram's observations between two
// readings, in the metric's unit, interpolated within its bucket.
func quantile(before, after map[string]float64, name string, q float64) float64 {
	total := after[name+"_count"] - before[name+"_count"]
	lower, below := 0.0, 0.0
	for _, bound := range bucketBounds {
		key := name + `_bucket{le="` + strconv.FormatFloat(bound, 'g', -1, 64) + `"}`
		n := after[key] - before[key]
		if n >= q*total {
			return lower + (bound-lower)*(q*total-below)/max(n-below, 1)
		}
		lower, below = bound, n
	}
	return lower
}
