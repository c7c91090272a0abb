package ctl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

// A run of bench uses only containers that it has created itself. Their ids are random,
// and the run fails if one of them exists already.

const (
	benchClass = "ledgerctl/bench"        // code of the class
	benchKey   = "ledgerctl-bench-class-" // prefix of the idempotency key of its registration
)

// prepare registers the class, unless an earlier run did, and creates the containers.
// Their ids are from 2^51 to 2^52, because the ledger assigns those from 2^52 and people
// choose small ones. If prepare fails or ctx is done, b.containers is the number of
// containers that it has created.
func (b *bench) prepare(ctx context.Context, c *call) error {
	class := fmt.Appendf(nil, `{"code":%q,"name":"ledgerctl bench","idempotency_key":"%s1"}`, benchClass, benchKey)
	wanted := b.containers.value
	b.containers.value = 0
	if _, err := c.post("/v1/register/class", class); err != nil && client.Code(err) != string(ledger.NameTaken) {
		return err
	}
	known, err := c.class(benchClass)
	if err != nil {
		return err
	}
	b.class, b.first = known.ClassID, 1<<51+rand.Int64N(1<<51-b.containers.most)
	made, last, err := c.commitAll(ctx.Done(), "created", func(yield func(string) bool) {
		for id := b.first; id < b.first+wanted; id++ {
			if !yield(fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}},`+
				`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":0,"quantity":1000000000000}}]}`, id, id, b.class)) {
				return
			}
		}
	})
	if b.containers.value = made; made > 0 {
		c.say("created containers %d to %d", b.first, b.first+made-1)
	}
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return err
	}
	return c.awaitRead(last)
}

// commitAll commits transactions in order until one fails or stop is closed. It returns
// their number and the last commit.
func (c *call) commitAll(stop <-chan struct{}, done string, txs iter.Seq[string]) (n, last int64, err error) {
	lines := func(yield func([]client.Line, bool) bool) {
		for tx := range txs {
			if !yield([]client.Line{{Text: []byte(tx)}}, true) {
				return
			}
		}
	}
	o := client.LinesOptions{Base: c.writeURL, OnError: "stop", GiveUp: c.timeout.Duration, Stop: stop}
	for r, err := range c.api.CommitLines(c.ctx, lines, o) {
		if failed, ok := errors.AsType[*client.Unanswered](err); ok {
			return n, last, inWords(failed.Err)
		}
		if r.Err != nil {
			return n, last, exitf(exitRefused, "a container can't be %s: %s", done, r.Err)
		}
		n, last = n+1, r.GlobalSeq
	}
	return n, last, nil
}

// post posts to the write daemon, and returns an error for any status but 200.
func (c *call) post(path string, body []byte) (*answer, error) {
	a, err := c.askQuietly(request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body})
	if err != nil {
		return nil, err
	}
	return a, a.check()
}

func (c *call) awaitRead(seq int64) error {
	_, err := c.get(c.readURL, "/v1/read/freshness", url.Values{"min_seq": {strconv.FormatInt(seq, 10)}, "wait": {c.timeout.String()}})
	return err
}

// commits returns the number of the last commit, according to the write daemon.
func (c *call) commits() (int64, error) {
	a, err := c.askQuietly(request{Method: http.MethodGet, Base: c.writeURL, Path: "/v1/health"})
	if err != nil {
		return 0, err
	}
	var health struct {
		CommitLog struct {
			EndSeq int64 `json:"end_seq"`
		} `json:"commit_log"`
	}
	err = a.decode(&health)
	return health.CommitLog.EndSeq, err
}

// began reports whether the ledger's first commit registered the class of bench.
func (b *bench) began(c *call) bool {
	var first client.Result
	return c.read("/v1/read/commit/1", url.Values{"min_seq": {"1"}}, &first) == nil && strings.HasPrefix(keyOf(first.Metadata), benchKey)
}

// remove empties and removes the containers.
func (b *bench) remove(c *call) error {
	commits, err := c.commits()
	if err != nil {
		return err
	}
	if err := c.awaitRead(commits); err != nil {
		return err
	}
	var failed error // valid once commitAll has returned
	_, last, err := c.commitAll(nil, "removed", func(yield func(string) bool) {
		for id := b.first; id < b.first+b.containers.value; id++ {
			var tx string
			if tx, failed = b.removal(c, id); failed != nil || !yield(tx) {
				return
			}
		}
	})
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	c.say("removed the containers")
	return c.awaitRead(last) // so that later reads do not show them
}

// removal returns a transaction that empties and removes a container.
func (b *bench) removal(c *call, id int64) (string, error) {
	a, err := c.get(c.readURL, fmt.Sprintf("/v1/read/container/%d/balances", id), nil)
	if err != nil {
		return "", err
	}
	var held struct {
		Balances []struct{ Quantity json.Number }
	}
	if err := a.decode(&held); err != nil {
		return "", err
	}
	if len(held.Balances) == 0 {
		return "", a.lacks("balances")
	}
	return fmt.Sprintf(`{"operations":[{"op":"RemoveFungible","args":{"container_id":%d,"class_id":%d,"key":0,"quantity":%s}},`+
		`{"op":"RemoveContainer","args":{"container_id":%d}}]}`, id, b.class, held.Balances[0].Quantity, id), nil
}
