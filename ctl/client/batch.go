package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

const (
	mostTxs    = 10_000  // maximum number of transactions in a batch request
	batchBytes = 8 << 20 // maximum size of all its lines together, in bytes; a longer line is sent alone
)

// request sends the first lines of the queue as a batch request. If the daemon does not support streams, request first
// collects the lines that the source can return without waiting.
func (p *pipeline) request(ctx context.Context) error {
	n := p.together()
	for p.noStream && p.source != nil && p.more && n == len(p.queue) && n < mostTxs && !p.full() && !p.halted() {
		if err := p.receive(ctx); err != nil {
			return err
		}
		n = p.together()
	}
	if p.halted() {
		return nil
	}
	p.sent = n
	within, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	a, err := p.c.Do(within, Request{Method: http.MethodPost, Base: p.o.Base, Path: "/v1/commit/batch", Body: p.batch(n)})
	if err != nil || a.Err() != nil {
		if !mayHaveHappened(a, err) {
			p.sent = 0
		}
		if err == nil {
			p.answer, err = a, a.Err()
		}
		return err
	}
	var whole struct{ Results []json.RawMessage }
	if err := json.Unmarshal(a.Body, &whole); err != nil || len(whole.Results) != n {
		return fmt.Errorf("%s returned %d results for %d transactions", a.URL, len(whole.Results), n)
	}
	p.opened = true
	for i, raw := range whole.Results {
		if err := p.result(a.URL, raw, i < n-1); err != nil {
			return err
		}
	}
	return nil
}

// together returns the number of lines for the next batch request. If the daemon supports streams, it counts only lines
// that are too long for one.
func (p *pipeline) together() (n int) {
	size := 0
	for ; n < min(len(p.queue), mostTxs); n++ {
		l := &p.queue[n]
		size += len(l.Text) + 1
		if l.Given != nil || n > 0 && size > batchBytes || !p.noStream && len(l.Text) <= longLine {
			break
		}
	}
	return n
}

// batch returns the body of a batch request with the first n lines.
func (p *pipeline) batch(n int) []byte {
	text := []byte(`{"transactions":[`)
	for i := range n {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, p.queue[i].Text...)
	}
	text = append(text, ']')
	if p.o.OnError != "" {
		text = fmt.Appendf(text, `,"on_error":%q`, p.o.OnError)
	}
	return append(text, '}')
}
