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
	RequestLost       // it was not carried out
	ReplyLost         // it was
	CarriedLate       // it will be, by Store.Ghost
)

// A Client is a daemon's connection to a store.
type Client struct {
	Store *Store
	// Fault is asked before each call; nil: none. It may let others run first.
	Fault func(call string) Fault
	// Broken ends watches when it is closed; nil: never.
	Broken <-chan struct{}
	Cut    bool // no member can be reached
}

var _ etcd.API = (*Client)(nil)

var errLost = errors.New("etcdfake: no reply")

// call makes a call as the fault of the moment has it.
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

// Txn carries out a transaction.
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

// Watch tells of changes.
func (c *Client) Watch(ctx context.Context, key, end string, from int64, changed func(etcd.Event)) error {
	return c.Store.Watch(ctx, key, end, from, c.Broken, changed)
}

// Grant makes a lease.
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

// Revoke ends a lease.
func (c *Client) Revoke(ctx context.Context, id int64) error {
	return c.call(ctx, "Revoke", func() { c.Store.Revoke(id) }, nil)
}

// Status tells how full the store is.
func (c *Client) Status(ctx context.Context) (s etcd.Status, err error) {
	err = c.call(ctx, "Status", func() {
		n := c.Store.Size()
		s = etcd.Status{Version: "fake", Size: n, InUse: n, Quota: c.Store.Quota, Member: 1, Leader: 1}
	}, nil)
	return s, err
}

// Compact forgets changes.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	return c.call(ctx, "Compact", func() { c.Store.Compact(revision) }, nil)
}
