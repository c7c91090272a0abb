package etcdlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assetledger/server/etcd"
	"assetledger/wal"
)

// An active is the value of the key <prefix>/active. It names the writer.
type active struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Nonce string `json:"nonce"`

	lease int64 // of the key
}

// grant creates a lease for the writer's place, and the value of its key.
func (s *site) grant(ctx context.Context) (lease int64, value []byte, err error) {
	if value, err = json.Marshal(active{Name: s.Name, URL: s.URL, Nonce: s.nonce()}); err != nil {
		return 0, nil, err
	}
	err = s.insist(ctx, func() (err error) {
		lease, _, err = s.API.Grant(ctx, max(2, int64(s.lease()/time.Second)))
		return err
	})
	return lease, value, err
}

// locked returns an error that wraps wal.ErrLocked and says which daemon has the
// place.
func (s *site) locked(value []byte) error {
	var holder active
	json.Unmarshal(value, &holder)
	return fmt.Errorf("%w: %s at %s writes the log in %s", wal.ErrLocked, holder.Name, holder.URL, s.Where)
}

// seize takes the writer's place again after its lease ended while this daemon was
// the writer. It returns wal.ErrLocked if another daemon has the place.
func (s *site) seize(ctx context.Context) (lease int64, value []byte, err error) {
	if lease, value, err = s.grant(ctx); err != nil {
		return 0, nil, err
	}
	r, err := s.txn(ctx, &etcd.Txn{
		If:   []etcd.Cond{{Key: s.activeKey()}},
		Then: []etcd.Op{{Put: s.activeKey(), Value: value, Lease: lease}},
		Else: []etcd.Op{{Get: s.activeKey()}},
	})
	has := valueOf(r, s.activeKey())
	if err == nil && (r.Succeeded || bytes.Equal(has, value)) { // an earlier attempt succeeded
		return lease, value, nil
	}
	s.API.Revoke(ctx, lease)
	if err == nil {
		err = s.locked(has)
	}
	return 0, nil, err
}

// valueOf returns the value of a key that a transaction found, or nil if the key
// does not exist.
func valueOf(r *etcd.TxnResult, key string) []byte {
	if r != nil {
		for _, kv := range r.KVs {
			if kv.Key == key {
				return kv.Value
			}
		}
	}
	return nil
}

// claimsAtOnce is the number of times that a daemon claims the place without a
// pause, while the previous writer keeps appending.
const claimsAtOnce = 20

// claim takes the writer's place and makes this daemon the only one that can append, in
// one transaction. h is the head as last read. No earlier writer can append anything
// after the returned head, mine. claim returns wal.ErrLocked if another daemon has the
// place.
func (s *site) claim(ctx context.Context, h head, lease int64, value []byte) (mine head, err error) {
	again, nonce := s.tries(ctx), s.nonce()
	for n := 1; ; n++ {
		mine = h
		mine.Epoch, mine.Writer, mine.Nonce = h.Epoch+1, s.Name, nonce
		r, err := s.txn(ctx, &etcd.Txn{
			If:   []etcd.Cond{{Key: s.activeKey()}, {Key: s.headKey(), Value: h.encode()}},
			Then: []etcd.Op{{Put: s.activeKey(), Value: value, Lease: lease}, {Put: s.headKey(), Value: mine.encode()}},
			Else: []etcd.Op{{Get: s.activeKey()}, {Get: s.headKey()}},
		})
		has, newest := valueOf(r, s.activeKey()), valueOf(r, s.headKey())
		switch {
		case err != nil:
			return mine, err
		case r.Succeeded, bytes.Equal(has, value) && bytes.Equal(newest, mine.encode()): // an earlier attempt succeeded
			return mine, nil
		case has != nil:
			return mine, s.locked(has)
		case newest == nil:
			return mine, fmt.Errorf("the head of the log in %s is gone", s.Where)
		}
		if h, err = decodeHead(newest); err != nil {
			return mine, err
		}
		if n >= claimsAtOnce && !again() {
			return mine, unreachable(errors.New("the previous writer keeps appending"))
		}
	}
}

// become makes this daemon the writer, and brings this host's copy up to the end of
// the log. h is the head as last read. If apply is not nil, it is called with each
// new frame.
func (s *site) become(ctx context.Context, h head, apply func(*wal.Frame) error) (*Writer, error) {
	lease, value, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	if h, err = s.claim(ctx, h, lease, value); err == nil {
		err = s.advance(ctx, &h, apply)
	}
	if err != nil {
		s.API.Revoke(ctx, lease)
		return nil, err
	}
	return newWriter(s, h, lease, value), nil
}

// look reads the head and the active writer. The result who is nil if there is no writer.
func (s *site) look(ctx context.Context) (h *head, who *active, err error) {
	r, err := s.API.Txn(ctx, &etcd.Txn{Then: []etcd.Op{{Get: s.headKey()}, {Get: s.activeKey()}}})
	if err != nil {
		return nil, nil, unreachable(err)
	}
	for _, kv := range r.KVs {
		switch kv.Key {
		case s.headKey():
			newest, err := decodeHead(kv.Value)
			if err != nil {
				return nil, nil, err
			}
			h = &newest
		case s.activeKey():
			who = &active{lease: kv.Lease}
			if err := json.Unmarshal(kv.Value, who); err != nil {
				return nil, nil, fmt.Errorf("the writer of the log in %s is %q: %w", s.Where, kv.Value, err)
			}
		}
	}
	if h == nil {
		return nil, nil, fmt.Errorf("the head of the log in %s is gone", s.Where)
	}
	return h, who, nil
}
