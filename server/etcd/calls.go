package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

var _ API = (*Client)(nil)

// Txn executes a transaction.
func (c *Client) Txn(ctx context.Context, t *Txn) (*TxnResult, error) {
	m, err := c.call(ctx, "KV/Txn", t.encode())
	if err != nil {
		return nil, err
	}
	return decodeTxn(m)
}

// Range reads keys.
func (c *Client) Range(ctx context.Context, key, end string, limit int) (*RangeResult, error) {
	m, err := c.call(ctx, "KV/Range", message(nil).text(1, key).text(2, end).varint(3, uint64(limit)))
	if err != nil {
		return nil, err
	}
	return decodeRange(m)
}

// Compact deletes replaced values.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	_, err := c.call(ctx, "KV/Compact", message(nil).varint(1, uint64(revision)))
	return err
}

// Grant creates a lease.
func (c *Client) Grant(ctx context.Context, seconds int64) (id, granted int64, err error) {
	m, err := c.call(ctx, "Lease/LeaseGrant", message(nil).varint(1, uint64(seconds)))
	if err != nil {
		return 0, 0, err
	}
	err = m.each(func(field int, n uint64, _ message) {
		switch field {
		case 2:
			id = int64(n)
		case 3:
			granted = int64(n)
		}
	})
	return id, granted, err
}

// KeepAlive renews a lease.
func (c *Client) KeepAlive(ctx context.Context, id int64) error {
	m, err := c.call(ctx, "Lease/LeaseKeepAlive", message(nil).varint(1, uint64(id)))
	if err != nil {
		return err
	}
	left, err := timeLeft(m)
	if err == nil && left <= 0 {
		err = ErrNoLease
	}
	return err
}

// TimeToLive returns the seconds until a lease expires.
func (c *Client) TimeToLive(ctx context.Context, id int64) (seconds int64, err error) {
	m, err := c.call(ctx, "Lease/LeaseTimeToLive", message(nil).varint(1, uint64(id)))
	if err != nil {
		return 0, err
	}
	return timeLeft(m)
}

// timeLeft decodes the seconds until a lease expires.
func timeLeft(m message) (seconds int64, err error) {
	err = m.each(func(field int, n uint64, _ message) {
		if field == 3 {
			seconds = int64(n)
		}
	})
	return seconds, err
}

// Revoke ends a lease.
func (c *Client) Revoke(ctx context.Context, id int64) error {
	_, err := c.call(ctx, "Lease/LeaseRevoke", message(nil).varint(1, uint64(id)))
	return err
}

// Status returns the status of the current member.
func (c *Client) Status(ctx context.Context) (Status, error) {
	m, err := c.call(ctx, "Maintenance/Status", nil)
	if err != nil {
		return Status{}, err
	}
	s, err := decodeStatus(m)
	if err == nil && s.Quota == 0 {
		s.Quota = c.quota(ctx)
	}
	return s, err
}

// quota returns the quota from the metrics of the current member, or 0 if they
// don't contain it. etcd before 3.6 reports it nowhere else.
func (c *Client) quota(ctx context.Context) int64 {
	_, endpoint := c.endpoint()
	resp, err := c.plain.Get(c.url(endpoint, "/metrics"))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(io.LimitReader(resp.Body, 4<<20))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "etcd_server_quota_backend_bytes "); ok {
			n, _ := strconv.ParseFloat(text, 64)
			return int64(n)
		}
	}
	return 0
}

// Watch reports changes until ctx is done or the watch breaks off.
func (c *Client) Watch(ctx context.Context, key, end string, from int64, changed func(Event)) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	token, err := c.authenticate(ctx, "")
	if err != nil {
		return err
	}
	const method = "Watch/Watch"
	at, endpoint := c.endpoint()
	defer func() {
		if !errors.Is(err, ErrCompacted) && ctx.Err() == nil {
			c.next(at)
		}
	}()
	// The request body stays open as long as the watch.
	body, send := io.Pipe()
	defer send.Close()
	// Only when the body ends does net/http notice that ctx is done.
	defer context.AfterFunc(ctx, func() { send.CloseWithError(context.Cause(ctx)) })()
	create := message(nil).text(1, key).text(2, end).varint(3, uint64(from)).varint(4, 1)
	go send.Write(framed(message(nil).sub(1, create)))
	resp, err := c.open(ctx, endpoint, method, body, token)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for {
		m, err := readMessage(in)
		if errors.Is(err, io.EOF) {
			if failed := status(resp, endpoint, method); failed != nil {
				return failed
			}
		}
		if err != nil {
			return fmt.Errorf("etcd %s: the watch broke off: %w", endpoint, err)
		}
		a, err := decodeWatch(m)
		switch {
		case err != nil:
			return err
		case a.compacted != 0:
			return ErrCompacted
		case a.canceled:
			return fmt.Errorf("etcd %s: the watch was rejected: %s", endpoint, a.reason)
		}
		for _, e := range a.events {
			changed(e)
		}
	}
}
