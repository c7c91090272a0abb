package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// An Operation is one operation of a transaction; see Op.
type Operation struct {
	Name string `json:"op"`
	Args Args   `json:"args"`
}

// Args are the arguments of an operation by name. Integer types are sent exactly.
type Args map[string]any

// Op returns an operation: Op("AddFungible", Args{"container_id": "shop", "class_id": "EUR", "key": 0, "quantity": 5}).
func Op(name string, args Args) Operation { return Operation{name, args} }

// A Tx is a transaction. Its operations are applied atomically.
type Tx struct {
	Operations []Operation `json:"operations,omitempty"`
	Key        string      `json:"idempotency_key,omitempty"` // "": a random one
	Metadata   any         `json:"metadata,omitempty"`
}

// NewKey returns a random idempotency key.
func NewKey() string { return rand.Text() }

// Commit commits a transaction. The error is a *Refused or *Unavailable if nothing changed, or an *OutcomeUnknown.
func (c *Client) Commit(ctx context.Context, tx Tx) (Result, error) {
	return c.commit(ctx, "/v1/commit", tx)
}

// Reverse reverses a commit. The new commit has the key and metadata of tx.
func (c *Client) Reverse(ctx context.Context, globalSeq int64, tx Tx) (Result, error) {
	return c.commit(ctx, "/v1/commit/"+strconv.FormatInt(globalSeq, 10)+"/reverse", Tx{Key: tx.Key, Metadata: tx.Metadata})
}

// Preflight checks whether a transaction of these operations would be accepted, and changes nothing. The error is what
// Commit would return, except that it is an *Unavailable instead of an *OutcomeUnknown.
func (c *Client) Preflight(ctx context.Context, operations ...Operation) error {
	body, err := json.Marshal(Tx{Operations: operations})
	if err != nil {
		return err
	}
	a, err := c.call(ctx, Request{Method: http.MethodPost, Base: c.o.Write, Path: "/v1/commit/preflight", Body: body})
	if unknown, ok := err.(*OutcomeUnknown); ok {
		return &Unavailable{unknown.Err}
	}
	if err != nil {
		return err
	}
	return a.decode(&struct{}{})
}

func (c *Client) commit(ctx context.Context, path string, tx Tx) (result Result, err error) {
	if tx.Key == "" {
		tx.Key = NewKey()
	}
	body, err := json.Marshal(tx)
	if err != nil {
		return result, err
	}
	a, err := c.call(ctx, Request{Method: http.MethodPost, Base: c.o.Write, Path: path, Body: body})
	if err == nil {
		err = c.result(a.Body, &result)
		result.Replayed = a.Header.Get("X-Asset-Idempotency") == "hit"
	}
	if unknown, ok := errors.AsType[*OutcomeUnknown](err); ok {
		unknown.Key = tx.Key
	}
	return result, err
}

// result parses a commit result.
func (c *Client) result(text []byte, r *Result) error {
	if err := json.Unmarshal(text, r); err != nil || r.GlobalSeq < 1 {
		return &OutcomeUnknown{Err: fmt.Errorf("the response is not a commit result: %.200q", text)}
	}
	c.saw(r.GlobalSeq)
	return nil
}

// saw records a commit. Later reads wait until it is visible.
func (c *Client) saw(globalSeq int64) {
	for last := c.last.Load(); last < globalSeq && !c.last.CompareAndSwap(last, globalSeq); last = c.last.Load() {
	}
}

// Read decodes the response of a read path into v, a pointer. The response reflects all commits of this client, unless query
// has min_seq, at_seq or at_time. Numbers are decoded as json.Number into a variable of type any.
func (c *Client) Read(ctx context.Context, path string, query url.Values, v any) error {
	q := url.Values{}
	maps.Copy(q, query)
	if last := c.LastSeq(); last > 0 && !q.Has("min_seq") && !q.Has("at_seq") && !q.Has("at_time") {
		q.Set("min_seq", strconv.FormatInt(last, 10))
	}
	a, err := c.call(ctx, Request{Method: http.MethodGet, Base: c.o.Read, Path: path, Query: q})
	if err != nil {
		return err
	}
	return a.decode(v)
}

// decode decodes a response into v, with exact numbers. If it is not JSON, the error is an *Unavailable, because another
// server sent it.
func (a *Answer) decode(v any) error {
	if !json.Valid(a.Body) {
		return &Unavailable{fmt.Errorf("the response of %s is not JSON", a.URL)}
	}
	return decode(a.Body, v)
}

// decode decodes JSON into v, with exact numbers.
func decode(text []byte, v any) error {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	return in.Decode(v)
}

// Items reads a list page by page and yields its entries: Items[Balance](ctx, c, "/v1/read/container/7/balances", nil).
func Items[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		q := url.Values{}
		maps.Copy(q, query)
		for {
			var body json.RawMessage
			var list []json.RawMessage
			next := ""
			err := c.Read(ctx, path, q, &body)
			if err == nil {
				list, next, err = Page(body)
			}
			if err != nil {
				yield(none, err)
				return
			}
			for _, text := range list {
				var entry T
				err := decode(text, &entry)
				if !yield(entry, err) || err != nil {
					return
				}
			}
			if next == "" {
				return
			}
			q.Set("cursor", next)
		}
	}
}

// Page returns the list in a response, and the cursor of the next page. The list is a field of the object or of its data.
func Page(body []byte) (list []json.RawMessage, next string, err error) {
	var page map[string]json.RawMessage
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, "", err
	}
	if data := page["data"]; data != nil {
		page = nil
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, "", err
		}
	}
	for name, value := range page {
		if name == "next_cursor" {
			err = errors.Join(err, json.Unmarshal(value, &next))
		} else if value[0] == '[' {
			err = errors.Join(err, json.Unmarshal(value, &list))
		}
	}
	return list, next, err
}

// call sends a request until a daemon accepts or rejects it, for at most GiveUp.
func (c *Client) call(ctx context.Context, r Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.GiveUp)
	defer cancel()
	a, unknown, err := c.Submit(ctx, r, MaxTries, nil)
	if err == nil {
		err = a.Err()
	}
	refused, isRefused := err.(*Refused)
	switch {
	case err == nil, isRefused && refused.Status >= 400 && refused.Status < 500 && refused.Code != "":
		return a, err
	case unknown:
		return nil, &OutcomeUnknown{Err: err}
	}
	return nil, &Unavailable{err}
}

// Submit sends a request at most n times, as Try does. If the request commits a transaction without an idempotency key, n
// must be 1. If the request failed, unknown reports whether it may have taken effect.
func (c *Client) Submit(ctx context.Context, r Request, n int, again func(why error)) (a *Answer, unknown bool, err error) {
	a, err = c.Try(ctx, n, again, func() (*Answer, error) {
		a, err := c.attempt(ctx, r)
		unknown = unknown || r.Method == http.MethodPost && mayHaveHappened(a, err)
		return a, err
	})
	return a, unknown, err
}

// attempt sends a request once. After a 425 or a status of 500 or more, the next attempt begins with the next address.
func (c *Client) attempt(ctx context.Context, r Request) (*Answer, error) {
	if c.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
	}
	address := c.address(r.Base)
	a, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	stale := a.Status == http.StatusTooEarly
	if stale || a.Status >= http.StatusInternalServerError {
		c.turn(r.Base, address)
	}
	if stale {
		return nil, &NoAnswer{address, a.Err()} // try again: the commit becomes visible later
	}
	return a, nil
}

// mayHaveHappened reports whether a commit may have taken effect, although its result is not known.
func mayHaveHappened(a *Answer, err error) bool {
	if silent, ok := errors.AsType[*NoAnswer](err); ok {
		return !silent.NeverSent()
	}
	if err != nil || a.Status < 500 && a.Status >= 400 && Code(a.Err()) != "" {
		return false
	}
	return a.Status != http.StatusOK && !nothingDone(Code(a.Err()))
}

// nothingDone reports whether the code of a response with status 503 means that nothing was changed.
func nothingDone(code string) bool {
	return code == "Overloaded" || handsOver(code)
}
