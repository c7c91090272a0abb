package ctl

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"assetledger/ledger"
)

// A commitReader reads the commits that made the entries of a history. The entries are in
// order. If an entry's commit is near that of the previous entry, the request for it also
// reads the commits after it in that order.
type commitReader struct {
	c        *call
	previous int64                 // commit of the previous entry; 0: none
	known    map[int64]*commitData // commits that were read last
	left     int                   // number of requests that may still be sent
	ended    bool                  // no more commits are read: left is 0, or the token is limited to owners
}

// nearCommits is the maximum number of commits that one request reads.
const nearCommits = 100

// relate adds fields to an entry of a page. If the entry's commit can be read, they are the
// commit's metadata, principal, reverses and reversed_by and, unless the entry is of a hold,
// the other container of its operation as counterparty_id. The payer of an entry becomes its
// counterparty_id.
func (r *commitReader) relate(e, page entry) error {
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
		own, _ := strconv.ParseInt(string(page["container_id"]), 10, 64)
		if other, err = d.Operations[i].counterparty(own); err != nil {
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

// read reads a commit into known, unless it is there already or can't be read.
func (r *commitReader) read(seq int64) error {
	step := seq - r.previous
	known := r.previous != 0
	if r.previous = seq; r.ended || r.known[seq] != nil {
		return nil
	}
	if r.ended = r.left == 0; r.ended {
		r.c.say("other containers and reversals are not shown from commit %d on: the limit of %s was reached", seq, count(mostNames, "request"))
		return nil
	}
	r.left--
	after, before, order := seq-1, seq+1, "oldest"
	switch {
	case known && 0 < step && step < nearCommits:
		before = seq + nearCommits
	case known && -nearCommits < step && step < 0:
		after, order = max(seq-nearCommits, 0), "newest"
	}
	q := url.Values{"order": {order}, "limit": {strconv.Itoa(nearCommits)}}
	for name, n := range map[string]int64{"after": after, "before": before, "min_seq": seq} {
		q.Set(name, strconv.FormatInt(n, 10))
	}
	a, err := r.c.peek("/v1/read/commits", q)
	if err != nil {
		return err
	}
	if r.ended = a.Status == http.StatusForbidden; r.ended {
		return nil
	}
	var page struct{ Commits []commitData }
	if err = r.c.refusal(a); err == nil {
		err = a.data(&page)
	}
	r.known = map[int64]*commitData{}
	for i := range page.Commits {
		r.known[page.Commits[i].GlobalSeq] = &page.Commits[i]
	}
	return err
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
// none but the one with the id `own`.
func (o *operation) counterparty(own int64) (int64, error) {
	ids, err := o.containers()
	for _, id := range ids {
		if id != 0 && id != own {
			return id, err
		}
	}
	return 0, err
}
