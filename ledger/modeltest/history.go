package modeltest

import (
	"errors"
	"fmt"
	"slices"

	"assetledger/ledger"
)

// A Commit is one commit as it was read back from the ledger.
type Commit struct {
	Seq      uint64
	BatchSeq uint32
	Time     int64 // time of its batch, in Unix nanoseconds
	Record   ledger.Record
}

// An Ending is the outcome of a request, as its client saw it.
type Ending uint8

const (
	Unknown      Ending = iota // no response: it may or may not have been committed
	Acknowledged               // it was committed, with the seq and ids in the response
	Refused                    // it was not committed
)

// A Request is one request and its outcome. Each needs an idempotency key, by
// which it is found in the history; its retries have the same key.
type Request struct {
	Tx          ledger.Transaction
	Ending      Ending
	Seq         uint64 // Acknowledged
	BatchSeq    uint32 // Acknowledged
	FirstMinted int64  // Acknowledged
	Minted      int    // Acknowledged
	// A rejection was judged against a state no older than After and no newer
	// than Before. So the ledger must reject the request with Code after at
	// least one of the commits from After to Before. If both are 0, this is not
	// checked. That is for rejections that do not depend on the state, such as
	// IdempotencyConflict.
	After, Before uint64
	Code          ledger.Code // Refused
}

// A Read is one read and its result.
type Read struct {
	Client string // each read of a client must show a state no older than that of the client's previous read
	Query  Query
	Seq    uint64 // checkpoint_seq of the response
	Reply  Reply
}

// A History is everything known about a ledger after a run.
type History struct {
	Commits  []Commit  // all commits of the ledger, in order
	Requests []Request // by all clients, in any order
	Reads    []Read    // those of each client are in order
	// Others means that there may be commits that none of the requests caused.
	Others bool
}

// Check replays the history against a model and returns the faults that it finds,
// joined, or nil. It stops at the first faulty commit, because later ones can't be
// checked. These are faults:
//   - a commit that no correct ledger could have made, or, unless Others is set, whose
//     idempotency key no request has,
//   - an acknowledged request that was lost, applied twice or answered differently,
//   - a request with an unknown outcome that was applied more than once or differently,
//   - a rejected request that was applied, or whose rejection no state explains,
//   - a request without an idempotency key,
//   - a read that does not show the state that it names, or that shows an older state
//     than an earlier read of the same client.
func (h *History) Check() error {
	var errs []error
	errs = append(errs, h.checkRequests()...)
	errs = append(errs, h.checkReadOrder()...)

	readsAt := map[uint64][]Read{}
	for _, r := range h.Reads {
		readsAt[r.Seq] = append(readsAt[r.Seq], r)
	}
	refusals := newRefusalCheck(h.Requests)
	m := New(0)
	visit := func() {
		for _, r := range readsAt[m.Seq()] {
			if right := m.Ask(r.Query); show(right) != show(r.Reply) {
				errs = append(errs, fmt.Errorf("%s read %v at commit %d:\n%s, want\n%s", r.Client, r.Query, r.Seq, show(r.Reply), show(right)))
			}
		}
		delete(readsAt, m.Seq())
		refusals.visit(m)
	}
	visit()
	asked := h.asked()
	for i := range h.Commits {
		if err := h.replay(m, i, asked); err != nil {
			return errors.Join(append(errs, err)...) // later commits can't be checked
		}
		visit()
	}
	for _, r := range h.Reads {
		if _, left := readsAt[r.Seq]; left {
			errs = append(errs, fmt.Errorf("%s read %v at commit %d, but the last commit is %d", r.Client, r.Query, r.Seq, m.Seq()))
		}
	}
	errs = append(errs, refusals.unexplained()...)
	return errors.Join(errs...)
}

// asked returns, for each idempotency key, the request that may have caused the commit
// with that key, or a rejected one if there is no other.
func (h *History) asked() map[string]*Request {
	asked := map[string]*Request{}
	for i := range h.Requests {
		r := &h.Requests[i]
		if old := asked[string(r.Tx.Key)]; old == nil || old.Ending == Refused {
			asked[string(r.Tx.Key)] = r
		}
	}
	return asked
}

// replay applies commit i to the model and compares the outcome. If the request
// is known, replay applies the request instead: its names must resolve to the
// integers in the record, and its relative times to the times there.
func (h *History) replay(m *Model, i int, asked map[string]*Request) error {
	c := &h.Commits[i]
	if c.Seq != uint64(i)+1 {
		return fmt.Errorf("commit %d is at position %d of the log", c.Seq, i+1)
	}
	tx := &c.Record.Tx
	r := asked[string(tx.Key)]
	if len(tx.Key) > 0 && r != nil && r.Ending != Refused {
		tx = &r.Tx
	}
	m.Now = c.Time
	if string(tx.Principal) == ledger.PrincipalLedger {
		if err := m.checkRelease(c); err != nil {
			return err
		}
	}
	out, refusal := m.applyHere(tx)
	if refusal != nil {
		return fmt.Errorf("commit %d should have been rejected: %v", c.Seq, refusal)
	}
	if right, got := show(m.Ops()), show(Meant(c.Record.Tx.Ops)); right != got {
		return fmt.Errorf("request %q differs from commit %d, which has the operations\n%s, want\n%s", tx.Key, c.Seq, got, right)
	}
	out.Facts = c.Record.Out.Facts // the model does not know where things were
	if show(out) != show(c.Record.Out) {
		return fmt.Errorf("commit %d decided\n%s, want\n%s", c.Seq, show(c.Record.Out), show(out))
	}
	return nil
}

// checkRelease returns an error unless the ledger may make the commit by itself:
// it may only release holds that have expired by the time of the commit.
func (m *Model) checkRelease(c *Commit) error {
	expired := m.Expired()
	for _, op := range c.Record.Tx.Ops {
		if id := op.Args[ledger.HoldID]; op.Kind != ledger.ReleaseHold || !slices.Contains(expired, id) {
			return fmt.Errorf("the ledger made commit %d at %d, with %v of hold %d, which has not expired", c.Seq, c.Time, op.Kind, id)
		}
	}
	return nil
}

// show formats a value with its field names. Nil and empty slices look the same.
func show(v any) string { return fmt.Sprintf("%+v", v) }

// checkRequests compares the outcome of each request with the commits that have its
// idempotency key.
func (h *History) checkRequests() []error {
	var errs []error
	byKey := map[string][]*Commit{}
	for i := range h.Commits {
		c := &h.Commits[i]
		if key := string(c.Record.Tx.Key); key != "" {
			byKey[key] = append(byKey[key], c)
		}
	}
	for key, found := range byKey {
		if len(found) > 1 {
			errs = append(errs, fmt.Errorf("key %q was committed %d times, as %d and again as %d", key, len(found), found[0].Seq, found[1].Seq))
		}
	}
	known := map[string]bool{}
	acknowledged := map[string]bool{}
	for i := range h.Requests {
		r := &h.Requests[i]
		known[string(r.Tx.Key)] = true
		if r.Ending == Acknowledged {
			acknowledged[string(r.Tx.Key)] = true
			errs = append(errs, r.checkCommitted(byKey[string(r.Tx.Key)])...)
		}
	}
	for i := range h.Requests {
		r := &h.Requests[i]
		key := string(r.Tx.Key)
		switch {
		case len(key) == 0:
			errs = append(errs, fmt.Errorf("request %d has no key: it cannot be found in the history", i))
		case r.Ending == Unknown && len(byKey[key]) > 0 && !sameFrame(&r.Tx, &byKey[key][0].Record.Tx):
			errs = append(errs, fmt.Errorf("request %q was committed as something else, in commit %d", key, byKey[key][0].Seq))
		case r.Ending == Refused && len(byKey[key]) > 0 && !acknowledged[key] && !h.retried(i):
			errs = append(errs, fmt.Errorf("request %q was rejected (%s), but is commit %d", key, r.Code, byKey[key][0].Seq))
		}
	}
	if !h.Others {
		for key, found := range byKey {
			if !known[key] {
				errs = append(errs, fmt.Errorf("commit %d has key %q, which nobody sent", found[0].Seq, key))
			}
		}
	}
	return errs
}

// retried reports whether another request, one that was not rejected, has the
// idempotency key of request i. That other request may be the one that was committed.
func (h *History) retried(i int) bool {
	for j := range h.Requests {
		if j != i && string(h.Requests[j].Tx.Key) == string(h.Requests[i].Tx.Key) && h.Requests[j].Ending != Refused {
			return true
		}
	}
	return false
}

// checkCommitted compares an acknowledged request with found, the commits that have its
// idempotency key.
func (r *Request) checkCommitted(found []*Commit) []error {
	if len(found) == 0 {
		return []error{fmt.Errorf("request %q was acknowledged as commit %d, but is lost", r.Tx.Key, r.Seq)}
	}
	c := found[0]
	var errs []error
	if c.Seq != r.Seq || c.BatchSeq != r.BatchSeq {
		errs = append(errs, fmt.Errorf("request %q was acknowledged as commit %d (%d of its batch), but is commit %d (%d)", r.Tx.Key, r.Seq, r.BatchSeq, c.Seq, c.BatchSeq))
	}
	if c.Record.Out.Minted != r.Minted || c.Record.Out.FirstMinted != r.FirstMinted {
		errs = append(errs, fmt.Errorf("the response to request %q has %d instances from %d, but commit %d minted %d from %d",
			r.Tx.Key, r.Minted, r.FirstMinted, c.Seq, c.Record.Out.Minted, c.Record.Out.FirstMinted))
	}
	if !sameFrame(&r.Tx, &c.Record.Tx) {
		errs = append(errs, fmt.Errorf("request %q differs from commit %d", r.Tx.Key, c.Seq))
	}
	return errs
}

// checkReadOrder checks that no client read an older state after a newer one.
func (h *History) checkReadOrder() []error {
	var errs []error
	last := map[string]uint64{}
	for _, r := range h.Reads {
		if r.Seq < last[r.Client] {
			errs = append(errs, fmt.Errorf("%s read at commit %d after it had read at commit %d", r.Client, r.Seq, last[r.Client]))
		}
		last[r.Client] = r.Seq
	}
	return errs
}

// refusalCheck searches for a state that explains each rejection, while a model
// replays the history.
type refusalCheck struct{ open []Request }

func newRefusalCheck(requests []Request) *refusalCheck {
	c := &refusalCheck{}
	for _, r := range requests {
		if r.Ending == Refused && (r.After != 0 || r.Before != 0) {
			c.open = append(c.open, r)
		}
	}
	return c
}

// visit removes the rejections that the current state explains.
func (c *refusalCheck) visit(m *Model) {
	left := c.open[:0]
	for _, r := range c.open {
		if m.Seq() >= r.After && m.Seq() <= r.Before {
			if _, refusal := m.Preflight(&r.Tx); refusal != nil && refusal.Code == r.Code {
				continue
			}
		}
		left = append(left, r)
	}
	c.open = left
}

func (c *refusalCheck) unexplained() []error {
	var errs []error
	for _, r := range c.open {
		errs = append(errs, fmt.Errorf("request %q was rejected (%s), but no state from commit %d to %d rejects it in this way", r.Tx.Key, r.Code, r.After, r.Before))
	}
	return errs
}
