package ctl

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"assetledger/ledger"
)

// A commitReader reads the commits of the entries of a history in advance. Adjacent ones
// share a request, and several requests are sent at a time.
type commitReader struct {
	c      *call
	own    int64                 // container of the history
	wanted []int64               // commits of the remaining entries of the page, in order
	known  map[int64]*commitData // commits that were read last
	left   int                   // number of requests that may still be sent
	ended  bool                  // no more commits are read: left is 0, or the token is limited to owners
}

const (
	nearCommits = 100 // maximum width of the range of commits of one request
	sparsest    = 10  // maximum width of a range per needed commit
	atOnce      = 4   // number of concurrent requests
)

// expect announces the entries of a page. Then relate must be called with each, in order.
// With a nil *commitReader, neither does anything.
func (r *commitReader) expect(a *answer, list []json.RawMessage) error {
	if r == nil {
		return nil
	}
	var container struct {
		ID int64 `json:"container_id"`
	}
	if err := a.data(&container); err != nil {
		return err
	}
	r.own, r.wanted = container.ID, nil
	for _, raw := range list {
		var e struct {
			Seq int64 `json:"global_seq"`
		}
		if err := a.part(raw).decode(&e); err != nil {
			return err
		}
		r.wanted = append(r.wanted, e.Seq)
	}
	r.wanted = slices.Compact(r.wanted)
	return nil
}

// relate adds fields from its commit to an entry, if the commit could be read: metadata
// and principal, the other container of the operation as counterparty_id, reverses and
// reversed_by.
func (r *commitReader) relate(e entry) error {
	if r == nil || e == nil {
		return nil
	}
	if payer := e["payer"]; payer != nil {
		e["counterparty_id"] = payer
	}
	seq, _ := strconv.ParseInt(string(e["global_seq"]), 10, 64)
	if err := r.read(seq); err != nil || r.known[seq] == nil {
		return err
	}
	d := r.known[seq]
	e["metadata"] = d.Metadata
	if d.Principal != "" {
		e["principal"] = ledger.AppendString(nil, d.Principal)
	}
	other := int64(0)
	if i, err := strconv.Atoi(string(e["operation_index"])); err == nil && i >= 0 && i < len(d.Operations) && e["hold_id"] == nil {
		if other, err = d.Operations[i].counterparty(r.own); err != nil {
			return err
		}
	}
	for name, value := range map[string]int64{"counterparty_id": other, "reverses": d.Reverses, "reversed_by": d.ReversedBy} {
		if value != 0 {
			e[name] = strconv.AppendInt(nil, value, 10)
		}
	}
	return nil
}

// read reads a commit and the next ones into known, unless the commit is there already or can't be read.
func (r *commitReader) read(seq int64) error {
	if r.ended || r.known[seq] != nil {
		return nil
	}
	if r.ended = r.left == 0; r.ended {
		r.c.say("other containers and reversals are not shown from commit %d on: the limit of %s was reached", seq, count(mostNames, "request"))
		return nil
	}
	r.wanted = r.wanted[max(0, slices.Index(r.wanted, seq)):]
	var queries []url.Values
	for rest := r.wanted; len(rest) > 0 && len(queries) < min(atOnce, r.left); {
		n := near(rest)
		queries = append(queries, rangeOf(rest[:n]))
		rest = rest[n:]
	}
	r.left -= len(queries)
	answers, errs := make([]*answer, len(queries)), make([]error, len(queries))
	var all sync.WaitGroup
	for i, q := range queries {
		all.Go(func() { answers[i], errs[i] = r.c.peek("/v1/read/commits", q) })
	}
	all.Wait()
	r.known = map[int64]*commitData{}
	for i, a := range answers {
		if errs[i] != nil {
			return errs[i]
		}
		if r.ended = a.Status == http.StatusForbidden; r.ended {
			return nil
		}
		if err := r.c.refusal(a); err != nil {
			return err
		}
		var page struct {
			Data struct{ Commits []commitData }
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		for i := range page.Data.Commits {
			d := &page.Data.Commits[i]
			r.known[d.GlobalSeq] = d
		}
	}
	return nil
}

// near returns how many of the numbers, starting with the first, fit in one request.
func near(list []int64) int {
	n := 1
	for i, seq := range list {
		wide := max(seq-list[0], list[0]-seq)
		if wide >= nearCommits {
			break
		}
		if wide <= int64(i)*sparsest {
			n = i + 1
		}
	}
	return n
}

// rangeOf returns the query for the commits from the first number to the last, in this
// direction, so that a page that ends early has the first ones.
func rangeOf(list []int64) url.Values {
	first, last, order := list[0], list[len(list)-1], "oldest"
	if first > last {
		first, last, order = last, first, "newest"
	}
	q := url.Values{"order": {order}}
	for name, n := range map[string]int64{"after": first - 1, "before": last + 1, "min_seq": last, "limit": last - first + 1} {
		q.Set(name, strconv.FormatInt(n, 10))
	}
	return q
}

// containers returns the ids in the container arguments of an operation, with 0 for
// those that it does not have.
func (o *operation) containers() (ids [4]int64, err error) {
	var args struct {
		Container int64 `json:"container_id"`
		From      int64 `json:"from_container"`
		To        int64 `json:"to_container"`
		Other     int64 `json:"other_container_id"`
	}
	if len(o.Args) > 0 {
		err = json.Unmarshal(o.Args, &args)
	}
	return [4]int64{args.Container, args.From, args.To, args.Other}, err
}

// counterparty returns the other container that an operation names, or 0 if it names
// none besides own.
func (o *operation) counterparty(own int64) (int64, error) {
	ids, err := o.containers()
	for _, id := range ids {
		if id != 0 && id != own {
			return id, err
		}
	}
	return 0, err
}

// allCommits lets a commitReader send any number of requests.
const allCommits = math.MaxInt
