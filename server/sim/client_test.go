package sim

import (
	"assetledger/ledger"
	"assetledger/ledger/modeltest"
	"assetledger/server/writer"
)

// A simClient keeps sending a request until it knows the outcome, always with the
// same idempotency key. Sometimes it sends the request two or three times at once, and
// sometimes again much later.
type simClient struct {
	*simWorld
	id    int
	tx    ledger.Transaction // as generated; if it has no idempotency key, there is no request
	body  []byte
	sent  []*simAttempt
	known bool                 // the outcome of the current request is known
	old   []ledger.Transaction // transactions that were acknowledged
}

// A simAttempt is a request in flight, on its own or as a line of a stream.
type simAttempt struct {
	*writer.Submission // nil: a line that its stream has not submitted yet
	to                 *writer.Core
	after              uint64 // the durable end when it was sent
}

func (c *simClient) busy() bool { return len(c.tx.Key) > 0 }

// step collects the responses that have arrived, and may then send something.
func (c *simClient) step() {
	c.collect()
	switch {
	case !c.busy():
		c.begin()
	case c.known && len(c.sent) == 0:
		c.tx, c.known = ledger.Transaction{}, false
	case len(c.sent) == 0 || c.rng.IntN(10) == 0 && len(c.sent) < 3:
		c.send()
	}
}

// finish does the same as step, but makes no new request.
func (c *simClient) finish() {
	if c.busy() {
		c.step()
	}
}

// begin makes a new request, or repeats one that was acknowledged earlier.
func (c *simClient) begin() {
	if len(c.old) > 0 && c.rng.IntN(8) == 0 {
		c.tx = c.old[c.rng.IntN(len(c.old))]
	} else {
		c.model.Now = c.now
		c.tx = c.gen.Next()
	}
	c.body = modeltest.Body(&c.tx, c.rng)
	c.send()
}

func (c *simClient) send() {
	if c.writer == nil {
		return
	}
	var tx ledger.Transaction
	var err *ledger.Error
	switch c.tx.Endpoint {
	case ledger.EndpointCommit:
		err = ledger.ParseTransaction(c.body, &tx, ledger.ParseLimits{})
	case ledger.EndpointReverse:
		err = ledger.ParseReversal(c.body, c.tx.Reverses, &tx, ledger.ParseLimits{})
	default:
		err = ledger.ParseRegistration(c.body, c.tx.Endpoint, &tx, ledger.ParseLimits{})
	}
	if err != nil {
		c.failf("the parser rejects %s: %v", c.body, err)
	}
	if c.tx.Endpoint == ledger.EndpointReverse {
		tx.Invert(c.records[c.tx.Reverses-1], c.tx.Reverses)
	}
	if len(c.streams) > 0 && c.tx.Endpoint == ledger.EndpointCommit && c.rng.IntN(2) == 0 {
		c.sent = append(c.sent, c.streams[c.rng.IntN(len(c.streams))].add(&tx))
		return
	}
	sub, err := c.writer.core.Submit(&tx)
	if err != nil {
		return // nothing was committed
	}
	c.sent = append(c.sent, &simAttempt{sub, c.writer.core, c.end()})
}

// collect takes the responses that have arrived.
func (c *simClient) collect() {
	left := c.sent[:0]
	for _, a := range c.sent {
		if a.Submission == nil {
			left = append(left, a)
		} else if result, done := a.Result(); done {
			c.answered(a, result)
		} else {
			left = append(left, a)
		}
	}
	c.sent = left
}

// abandon stops waiting for a writer that is gone.
func (c *simClient) abandon(gone *writer.Core) {
	left := c.sent[:0]
	for _, a := range c.sent {
		if a.to == gone || a.to == nil { // nil: a line of a stream, which ends with its writer
			c.record(modeltest.Request{Ending: modeltest.Unknown})
		} else {
			left = append(left, a)
		}
	}
	c.sent = left
}

func (c *simClient) record(r modeltest.Request) {
	r.Tx = c.tx
	c.history.Requests = append(c.history.Requests, r)
	switch r.Ending {
	case modeltest.Unknown:
		c.stats.unknown++
	case modeltest.Acknowledged:
		c.stats.acked++
	case modeltest.Refused:
		c.stats.refused++
	}
}

func (c *simClient) answered(a *simAttempt, v writer.Result) {
	switch {
	case v.Unknown:
		c.record(modeltest.Request{Ending: modeltest.Unknown})
	case v.Refusal == nil:
		r := modeltest.Request{Ending: modeltest.Acknowledged, Seq: v.Seq, BatchSeq: v.BatchSeq, FirstMinted: v.FirstMinted, Minted: v.Minted}
		if v.Minted == 0 {
			r.FirstMinted = 0 // a repeated registration returns its class in FirstMinted
		}
		c.record(r)
		if !c.known {
			c.old = append(c.old, c.tx)
		}
		c.known = true
	case v.Refusal.Code == ledger.LogUnavailable || v.Refusal.Code == ledger.Overloaded || v.Refusal.Code == ledger.ShuttingDown ||
		v.Refusal.Code == ledger.NotAttempted:
		// nothing was committed: try again later
	case v.Refusal.Code == ledger.IdempotencyConflict:
		c.failf("the key %s was used by another request", c.tx.Key)
	case v.Refusal.Code == ledger.PayloadTooLarge:
		c.record(modeltest.Request{Ending: modeltest.Refused, Code: v.Refusal.Code})
		c.known = true
	default:
		before := a.after
		for seq := range c.digests {
			before = max(before, seq)
		}
		c.record(modeltest.Request{Ending: modeltest.Refused, Code: v.Refusal.Code, After: a.after, Before: before})
		c.known = true
	}
}
