package ctl

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"assetledger/ctl/client"
)

// How bench treats the ledger that it loads: it asks before it writes, and removes
// what it has created.

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

// commits returns the number of commits in the ledger.
func (c *call) commits() (int64, error) {
	a, err := c.askQuietly(request{Method: http.MethodGet, Base: c.writeURL, Path: "/v1/health"})
	if err != nil {
		return 0, err
	}
	var health healthData
	if err := a.decode(&health); err != nil || health.CommitLog == nil {
		return 0, err
	}
	return health.CommitLog.EndSeq, nil
}

// catchUp waits until every commit is visible to reads.
func (c *call) catchUp() error {
	commits, err := c.commits()
	if err != nil || commits == 0 {
		return err
	}
	return c.awaitRead(commits)
}

// began reports whether the ledger's first commit is the class of a run of bench.
func (b *bench) began(c *call) bool {
	var first client.Result
	if c.read("/v1/read/commit/1", url.Values{"min_seq": {"1"}}, &first) != nil {
		return false
	}
	proof := proofOf(&first)
	return proof != nil && strings.HasPrefix(proof.Key, benchKey)
}

// remove removes the containers with their contents. The class can't be removed.
func (b *bench) remove(c *call) error {
	if err := c.catchUp(); err != nil {
		return err
	}
	var failed error // read when all are removed, or it has ended that
	_, err := c.commitAll("removed", func(yield func(string) bool) {
		for n := range b.containers.value {
			var tx string
			if tx, failed = b.removal(c, b.firstID.value+n); failed != nil || tx != "" && !yield(tx) {
				return
			}
		}
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	err = c.catchUp() // so that whoever looks next finds them gone
	c.say("the containers are removed; class %d stays", b.firstID.value)
	return err
}

// removal returns the transaction that removes a container with its contents, or ""
// if it does not exist, or no longer belongs to bench alone.
func (b *bench) removal(c *call, id int64) (string, error) {
	stacks, there, err := stacksOf(c, id)
	if err != nil || !there || !b.owns(stacks) {
		return "", err
	}
	var tx strings.Builder
	tx.WriteString(`{"operations":[`)
	for _, s := range stacks {
		fmt.Fprintf(&tx, `{"op":"RemoveFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%s}},`, id, s.Class, s.Key, s.Quantity)
	}
	fmt.Fprintf(&tx, `{"op":"RemoveContainer","args":{"container_id":%d}}]}`, id)
	return tx.String(), nil
}
