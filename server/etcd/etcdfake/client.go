package etcdfake

import (
	"context"
	"errors"

	"assetledger/server/etcd"
)

// A Fault is what goes wrong in a call.
type Fault uint8

const (
	None        Fault = iota
	RequestLost       // the call was not executed
	ReplyLost         // the call was executed
	CarriedLate       // Store.Ghost will execute the call if it is Txn; otherwise it is not executed
)

// A Client is a daemon's connection to a store.
type Client struct {
	Store *Store
	// Fault is called before each call except Watch, unless it is nil. It may let
	// other daemons run before it returns.
	Fault func(call string) Fault
	// Closing Broken ends the watches. It may be nil.
	Broken <-chan struct{}
	Cut    bool // no member is reachable
}

var _ etcd.API = (*Client)(nil)

var errLost = errors.New("etcdfake: no reply")

// call executes a call with do, unless c.Fault, c.Cut or the end of ctx prevents it.
// If the fault is CarriedLate, it does not call do: it calls the parameter later, if that
// is not nil.
func (c *Client) call(ctx context.Context, name string, do, later func()) error {
	fault := None
	if c.Fault != nil {
		fault = c.Fault(name)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case c.Cut || fault == RequestLost:
		return errLost
	case fault == CarriedLate:
		if later != nil {
			later()
		}
		return errLost
	}
	do()
	if fault == ReplyLost {
		return errLost
	}
	return nil
}

// Txn executes a transaction.
func (c *Client) Txn(ctx context.Context, t *etcd.Txn) (r *etcd.TxnResult, err error) {
	if lost := c.call(ctx, "Txn", func() { r, err = c.Store.Txn(t) }, func() { c.Store.later(t) }); lost != nil {
		return nil, lost
	}
	return r, err
}

// Range reads keys.
func (c *Client) Range(ctx context.Context, key, end string, limit int) (r *etcd.RangeResult, err error) {
	if lost := c.call(ctx, "Range", func() { r = c.Store.Range(key, end, limit) }, nil); lost != nil {
		return nil, lost
	}
	return r, nil
}

// Watch reports changes.
func (c *Client) Watch(ctx context.Context, key, end string, from int64, changed func(etcd.Event)) error {
	return c.Store.Watch(ctx, key, end, from, c.Broken, changed)
}

// Grant creates a lease.
func (c *Client) Grant(ctx context.Context, seconds int64) (id, granted int64, err error) {
	err = c.call(ctx, "Grant", func() { id = c.Store.Grant() }, nil)
	return id, seconds, err
}

// KeepAlive renews a lease.
func (c *Client) KeepAlive(ctx context.Context, id int64) (err error) {
	over := false
	lost := c.call(ctx, "KeepAlive", func() {
		c.Store.mu.Lock()
		defer c.Store.mu.Unlock()
		over = !c.Store.leases[id]
	}, nil)
	switch {
	case lost != nil:
		return lost
	case over:
		return etcd.ErrNoLease
	}
	return nil
}

// TimeToLive returns the result of Store.Left, or one second if Store.Left is nil.
func (c *Client) TimeToLive(ctx context.Context, id int64) (seconds int64, err error) {
	err = c.call(ctx, "TimeToLive", func() {
		if seconds = 1; c.Store.Left != nil {
			seconds = c.Store.Left(id)
		}
	}, nil)
	return seconds, err
}

// Revoke ends a lease.
func (c *Client) Revoke(ctx context.Context, id int64) error {
	return c.call(ctx, "Revoke", func() { c.Store.Revoke(id) }, nil)
}

// Status returns how full the store is.
func (c *Client) Status(ctx context.Context) (s etcd.Status, err error) {
	err = c.call(ctx, "Status", func() {
		n := c.Store.Size()
		s = etcd.Status{Version: "fake", Size: n, InUse: n, Quota: c.Store.Quota, Member: 1, Leader: 1}
	}, nil)
	return s, err
}

// Compact deletes old changes.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	return c.call(ctx, "Compact", func() { c.Store.Compact(revision) }, nil)
}
