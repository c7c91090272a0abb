// Package etcdfake is an in-memory etcd that fails on request. It is a map with a
// revision. Requests and replies can be lost, transactions executed long after their
// senders have given up, members unreachable, leases ended, watches broken off, and
// the quota used up. Tests and simulations choose the faults, so that a run can be
// repeated.
package etcdfake

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"

	"assetledger/server/etcd"
)

// A Store is the data of a cluster. It fails only when etcd itself would, but its
// Clients may fail at any call.
type Store struct {
	mu        sync.Mutex
	keys      map[string]*entry
	revision  int64
	compacted int64
	leases    map[int64]bool
	lastLease int64
	history   []change // changes from the compacted revision on, for watches
	changed   chan struct{}
	ghosts    []func() // transactions that are still to be executed

	Left   func(lease int64) (seconds int64) // returns the seconds until a lease expires; may be nil
	Full   bool                              // the quota is used up
	Quota  int64
	Ignore bool // conditions always hold: a defect that the tests must find
}

type entry struct {
	kv    etcd.KV
	lease int64
}

type change struct {
	revision int64
	event    etcd.Event
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{keys: map[string]*entry{}, revision: 1, leases: map[int64]bool{}, changed: make(chan struct{}), Quota: 8 << 30}
}

// Txn executes a transaction.
func (s *Store) Txn(t *etcd.Txn) (*etcd.TxnResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ops, holds := t.Then, true
	for _, c := range t.If {
		e := s.keys[c.Key]
		if c.Value == nil && e != nil || c.Value != nil && (e == nil || !slices.Equal(e.kv.Value, c.Value)) {
			holds = false
		}
	}
	if s.Ignore {
		holds = true
	}
	if !holds {
		ops = t.Else
	}
	if s.Full && slices.ContainsFunc(ops, func(o etcd.Op) bool { return o.Put != "" }) {
		return nil, etcd.ErrNoSpace
	}
	for _, o := range ops {
		if o.Lease != 0 && !s.leases[o.Lease] {
			return nil, etcd.ErrNoLease
		}
	}
	r := &etcd.TxnResult{Succeeded: holds}
	if slices.ContainsFunc(ops, func(o etcd.Op) bool { return o.Get == "" }) {
		s.revision++
	}
	for _, o := range ops {
		switch {
		case o.Put != "":
			s.put(o.Put, o.Value, o.Lease)
		case o.Delete != "":
			for _, key := range s.between(o.Delete, o.End) {
				s.remove(key)
			}
		default:
			if e := s.keys[o.Get]; e != nil {
				r.KVs = append(r.KVs, e.kv)
			}
		}
	}
	r.Revision = s.revision
	s.wake()
	return r, nil
}

func (s *Store) put(key string, value []byte, lease int64) {
	kv := etcd.KV{Key: key, Value: slices.Clone(value), Revision: s.revision, Lease: lease}
	s.keys[key] = &entry{kv, lease}
	s.history = append(s.history, change{s.revision, etcd.Event{KV: kv}})
}

func (s *Store) remove(key string) {
	delete(s.keys, key)
	s.history = append(s.history, change{s.revision, etcd.Event{KV: etcd.KV{Key: key, Revision: s.revision}, Deleted: true}})
}

// wake makes watches read the history again. The caller holds mu.
func (s *Store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// between returns the keys of a range, in order. The caller holds mu.
func (s *Store) between(key, end string) (found []string) {
	for k := range s.keys {
		if k == key || end != "" && k >= key && k < end {
			found = append(found, k)
		}
	}
	sort.Strings(found)
	return found
}

// Range reads keys.
func (s *Store) Range(key, end string, limit int) *etcd.RangeResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &etcd.RangeResult{Revision: s.revision}
	for _, k := range s.between(key, end) {
		if limit > 0 && len(r.KVs) == limit {
			r.More = true
			break
		}
		r.KVs = append(r.KVs, s.keys[k].kv)
	}
	return r
}

// Grant creates a lease, which lasts until Revoke.
func (s *Store) Grant() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastLease++
	s.leases[s.lastLease] = true
	return s.lastLease
}

// Revoke ends a lease.
func (s *Store) Revoke(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leases[id] {
		return
	}
	delete(s.leases, id)
	s.revision++
	for _, key := range s.between("", "\xff") {
		if s.keys[key].lease == id {
			s.remove(key)
		}
	}
	s.wake()
}

// Leases returns the ids of the leases that have not ended.
func (s *Store) Leases() (ids []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.leases {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Compact deletes the changes before a revision.
func (s *Store) Compact(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = max(s.compacted, min(revision, s.revision))
	i, _ := slices.BinarySearchFunc(s.history, s.compacted, func(c change, r int64) int {
		if c.revision < r {
			return -1
		}
		return 1
	})
	s.history = slices.Clone(s.history[i:])
}

// Revision returns the current revision. Each transaction that writes increments it,
// and so does the end of a lease.
func (s *Store) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Size returns the number of bytes of all keys and values.
func (s *Store) Size() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.keys {
		n += int64(len(key) + len(e.kv.Value))
	}
	return n
}

// Watch reports changes until ctx is done or broken is closed. It returns
// etcd.ErrCompacted if the next revision to report was compacted.
func (s *Store) Watch(ctx context.Context, key, end string, from int64, broken <-chan struct{}, changed func(etcd.Event)) error {
	s.mu.Lock()
	if from == 0 {
		from = s.revision + 1
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		if from <= s.compacted {
			s.mu.Unlock()
			return etcd.ErrCompacted
		}
		var events []etcd.Event
		for _, c := range s.history {
			if c.revision >= from && (c.event.Key == key || end != "" && c.event.Key >= key && c.event.Key < end) {
				events = append(events, c.event)
			}
		}
		from = s.revision + 1
		wait := s.changed
		s.mu.Unlock()
		for _, e := range events {
			changed(e)
		}
		select {
		case <-wait:
		case <-broken:
			return errors.New("etcdfake: the watch broke off")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// later stores a transaction for Ghost to execute.
func (s *Store) later(t *etcd.Txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := *t
	for _, ops := range []*[]etcd.Op{&copied.Then, &copied.Else} {
		*ops = slices.Clone(*ops)
		for i := range *ops {
			(*ops)[i].Value = slices.Clone((*ops)[i].Value)
		}
	}
	copied.If = slices.Clone(t.If)
	s.ghosts = append(s.ghosts, func() { s.Txn(&copied) })
}

// Ghost executes the i-th stored transaction.
func (s *Store) Ghost(i int) {
	s.mu.Lock()
	ghost := s.ghosts[i]
	s.ghosts = slices.Delete(s.ghosts, i, i+1)
	s.mu.Unlock()
	ghost()
}

// Ghosts returns the number of transactions that are still to be executed.
func (s *Store) Ghosts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ghosts)
}
