package etcdlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// An active is the value of the writer's place.
type active struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Nonce string `json:"nonce"`
}

// A mirror is how far the copy of a daemon that stands by is.
type mirror struct {
	Seq uint64 `json:"seq"`
	URL string `json:"url"`
}

// seize takes the place of the writer: wal.ErrLocked if another daemon has it.
func (s *site) seize(ctx context.Context) (lease int64, value []byte, err error) {
	if err := s.insist(ctx, func() (err error) {
		lease, _, err = s.API.Grant(ctx, max(2, int64(s.lease()/time.Second)))
		return err
	}); err != nil {
		return 0, nil, err
	}
	value, err = json.Marshal(active{s.Name, s.URL, s.nonce()})
	if err != nil {
		return 0, nil, err
	}
	r, err := s.txn(ctx, &etcd.Txn{
		If:   []etcd.Cond{{Key: s.activeKey()}},
		Then: []etcd.Op{{Put: s.activeKey(), Value: value, Lease: lease}},
		Else: []etcd.Op{{Get: s.activeKey()}},
	})
	if err == nil && (r.Succeeded || len(r.KVs) > 0 && bytes.Equal(r.KVs[0].Value, value)) { // by an earlier attempt
		return lease, value, nil
	}
	s.API.Revoke(ctx, lease)
	if err == nil {
		var holder active
		if len(r.KVs) > 0 {
			json.Unmarshal(r.KVs[0].Value, &holder)
		}
		err = fmt.Errorf("%w: %s at %s writes the log in %s", wal.ErrLocked, holder.Name, holder.URL, s.Where)
	}
	return 0, nil, err
}

// fence makes this daemon the only one that can append: it returns the head
// after which nothing of an earlier writer comes.
func (s *site) fence(ctx context.Context) (head, error) {
	h, err := s.readHead(ctx)
	nonce := s.nonce()
	for again := s.tries(ctx); ; {
		if err != nil {
			return head{}, err
		}
		if h == nil {
			return head{}, fmt.Errorf("the head of the log in %s is gone", s.Where)
		}
		mine := *h
		mine.Epoch, mine.Writer, mine.Nonce = h.Epoch+1, s.Name, nonce
		r, err := s.txn(ctx, &etcd.Txn{
			If:   []etcd.Cond{{Key: s.headKey(), Value: h.encode()}},
			Then: []etcd.Op{{Put: s.headKey(), Value: mine.encode()}},
			Else: []etcd.Op{{Get: s.headKey()}},
		})
		switch {
		case err != nil:
			return head{}, err
		case r.Succeeded:
			return mine, nil
		case len(r.KVs) == 0:
			h = nil
			continue
		case bytes.Equal(r.KVs[0].Value, mine.encode()): // by an earlier attempt
			return mine, nil
		}
		// The writer before has appended something meanwhile.
		newer, err := decodeHead(r.KVs[0].Value)
		if err != nil {
			return head{}, err
		}
		if h = &newer; !again() {
			return head{}, unreachable(errors.New("the writer before goes on appending"))
		}
	}
}

// become takes the place, fences the writer before, and brings this host's copy
// up to the end. apply is called with each frame that is new, if it is not nil.
func (s *site) become(ctx context.Context, apply func(*wal.Frame) error) (*Writer, error) {
	lease, value, err := s.seize(ctx)
	if err != nil {
		return nil, err
	}
	h, err := s.fence(ctx)
	if err == nil {
		err = s.advance(ctx, &h, apply)
	}
	if err != nil {
		s.API.Revoke(ctx, lease)
		return nil, err
	}
	return newWriter(s, h, lease, value), nil
}

// look reads how far the log is, and who writes: nil if nobody does.
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
			who = new(active)
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

// announce says how far this host's copy is.
func (s *site) announce(ctx context.Context) error {
	value, err := json.Marshal(mirror{s.local.LastSeq(), s.URL})
	if err != nil {
		return err
	}
	_, err = s.API.Txn(ctx, &etcd.Txn{Then: []etcd.Op{{Put: s.mirrorKey(), Value: value}}})
	return err
}

// copies lists the copies of other hosts, by name.
func (d *Driver) copies(ctx context.Context) ([]commitlog.Mirror, error) {
	from, to := d.mirrors()
	r, err := d.API.Range(ctx, from, to, 0)
	if err != nil {
		return nil, unreachable(err)
	}
	var all []commitlog.Mirror
	for _, kv := range r.KVs {
		var m mirror
		if kv.Key == d.mirrorKey() || json.Unmarshal(kv.Value, &m) != nil {
			continue
		}
		all = append(all, commitlog.Mirror{Name: kv.Key[len(from):], Seq: m.Seq, URL: m.URL})
	}
	return all, nil
}

// others are the URLs of the daemons that may have what etcd has no longer, the
// writer first.
func (s *site) others(ctx context.Context) (urls []string, err error) {
	if _, who, err := s.look(ctx); err == nil && who != nil && who.URL != s.URL {
		urls = append(urls, who.URL)
	}
	all, err := s.copies(ctx)
	slices.SortFunc(all, func(a, b commitlog.Mirror) int { return int(min(b.Seq, 1<<62)) - int(min(a.Seq, 1<<62)) })
	for _, m := range all {
		if m.URL != "" && !slices.Contains(urls, m.URL) {
			urls = append(urls, m.URL)
		}
	}
	return urls, err
}
