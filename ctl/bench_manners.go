package ctl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// What bench owes to the ledger that it loads: it asks before it writes, and
// removes what it has made. And the picture that it draws.

const (
	benchKey   = "ledgerctl-bench-class-" // begins the idempotency key of its class
	benchClass = "ledgerctl bench"
)

// ask asks whether to load a ledger whose first commit is not one of bench.
func (b *bench) ask(c *call) error {
	if b.yes {
		return nil
	}
	commits, err := c.commits()
	if err != nil {
		return err
	}
	if commits == 0 || b.began(c) {
		return nil
	}
	if in, isFile := c.in.(*os.File); !isFile || !isTerminal(in) || !isTerminal(c.words) {
		return usagef("the ledger has %s that bench did not make, and what it does stays: give -yes to load it all the same", count(int(commits), "commit"))
	}
	fmt.Fprintf(c.words, "The ledger has %s. What bench commits stays in it for good. Go on? [y/N] ", count(int(commits), "commit"))
	answer, _ := bufio.NewReader(c.in).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return exitf(exitFailure, "nothing was done")
	}
	return nil
}

// commits is how many commits the ledger has.
func (c *call) commits() (int64, error) {
	a, err := c.askQuietly(request{method: http.MethodGet, base: c.writeURL, path: "/v1/health"})
	if err != nil {
		return 0, err
	}
	var health struct {
		Log struct {
			End int64 `json:"end_seq"`
		} `json:"commit_log"`
	}
	err = a.decode(&health)
	return health.Log.End, err
}

// began reports whether the ledger's first commit is the class of a run of bench.
func (b *bench) began(c *call) bool {
	a, err := c.askQuietly(request{method: http.MethodGet, base: c.readURL, path: "/v1/read/commit/1", query: url.Values{"min_seq": {"1"}}})
	if err != nil || a.check() != nil {
		return false
	}
	var page struct{ Data batchResult }
	if a.decode(&page) != nil {
		return false
	}
	proof := proofOf(&page.Data)
	return proof != nil && strings.HasPrefix(proof.Key, benchKey)
}

// remove removes the containers with what is in them. The class can't be removed.
func (b *bench) remove(c *call) error {
	commits, err := c.commits()
	if err != nil {
		return err
	}
	if err := c.awaitRead(strconv.FormatInt(commits, 10)); err != nil {
		return err
	}
	const perRequest = 1000
	for first := int64(0); first < b.containers.value; first += perRequest {
		var txs []string
		for n := first; n < min(first+perRequest, b.containers.value); n++ {
			tx, err := b.removal(c, b.firstID.value+n)
			if err != nil {
				return err
			}
			if tx != "" {
				txs = append(txs, tx)
			}
		}
		if len(txs) == 0 {
			continue
		}
		a, err := c.askQuietlyFor("/v1/commit/batch", []byte(`{"transactions":[`+strings.Join(txs, ",")+`]}`))
		if err != nil {
			return err
		}
		var answer struct {
			Results []batchResult `json:"results"`
		}
		if err := a.decode(&answer); err != nil {
			return err
		}
		for i := range answer.Results {
			if e := answer.Results[i].Error; e != nil {
				return exitf(exitRefused, "a container can't be removed: %s", e)
			}
		}
	}
	if commits, err = c.commits(); err == nil {
		err = c.awaitRead(strconv.FormatInt(commits, 10)) // so that whoever looks next finds them gone
	}
	c.say("the containers are removed; class %d stays", b.firstID.value)
	return err
}

// removal is the transaction that removes a container with what is in it, "" if
// it is not there.
func (b *bench) removal(c *call, id int64) (string, error) {
	a, err := c.askQuietly(request{method: http.MethodGet, base: c.readURL, path: fmt.Sprintf("/v1/read/container/%d/balances", id)})
	if err != nil {
		return "", err
	}
	if a.status == http.StatusNotFound {
		return "", nil
	}
	if err := a.check(); err != nil {
		return "", err
	}
	var page struct {
		Balances []struct {
			Class    int64       `json:"class_id"`
			Key      int64       `json:"key"`
			Quantity json.Number `json:"quantity"`
		}
	}
	if err := a.decode(&page); err != nil {
		return "", err
	}
	var tx strings.Builder
	tx.WriteString(`{"operations":[`)
	for _, s := range page.Balances {
		fmt.Fprintf(&tx, `{"op":"RemoveFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%s}},`, id, s.Class, s.Key, s.Quantity)
	}
	fmt.Fprintf(&tx, `{"op":"RemoveContainer","args":{"container_id":%d}}]}`, id)
	return tx.String(), nil
}

// draw shows how the latencies spread: a line for each power of two.
func (l *latencies) draw(w io.Writer, name string) {
	if l.count == 0 {
		return
	}
	const width = 50
	var powers [64]uint64
	first, last, most := -1, 0, uint64(0)
	for i, n := range l.buckets {
		if n == 0 {
			continue
		}
		power := max(i/latencySteps-1, 0)
		if first < 0 {
			first = power
		}
		last = power
		powers[power] += uint64(n)
		most = max(most, powers[power])
	}
	fmt.Fprintf(w, "\n%s\n", name)
	for power := first; power <= last; power++ {
		bar := strings.Repeat("#", int(powers[power]*width/most))
		fmt.Fprintf(w, "%13s  %-*s %5.1f%%\n", "to "+showTime(time.Duration(1)<<(power+latencyBits+1)), width, bar, 100*float64(powers[power])/float64(l.count))
	}
}
