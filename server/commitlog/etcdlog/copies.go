package etcdlog

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
)

// There are two kinds of copies of the log on other hosts: complete ones of daemons
// that stand by, and mirrors that read daemons fill over HTTP. Mirrors don't use
// etcd, so the daemon that they read from announces them. A mirror may have begun
// with a checkpoint, without the frames before it. It then depends on its checkpoints,
// and counts only up to the older of the two that it keeps.

// A mirror is the announced progress of a copy.
type mirror struct {
	Seq  uint64  `json:"seq"`
	Kept *uint64 `json:"kept,omitempty"` // nil means the same as Seq
	URL  string  `json:"url"`
}

const (
	// announceEvery is the interval at which a standby announces its copy while the
	// copy grows. signEvery is the interval while it does not grow.
	announceEvery = time.Second
	signEvery     = 3 * time.Second
	// silentAfter is the time for which a copy counts after its last announcement.
	silentAfter = 10 * time.Second
)

// Hear sets the function that lists the mirrors that read from this daemon.
func (d *Driver) Hear(mirrors func() []commitlog.Mirror) { d.Heard = mirrors }

func (d *Driver) heard() []commitlog.Mirror {
	if d.Heard == nil {
		return nil
	}
	return d.Heard()
}

// maxTold is the maximum number of copies in one announcement. It is below 128, the
// maximum number of operations in an etcd transaction.
const maxTold = 100

// announce stores in etcd the progress of this host's copy, which is durable up to
// commit mine, and of the mirrors that read from this host.
func (s *site) announce(ctx context.Context, mine uint64) error {
	all := append([]commitlog.Mirror{{Name: s.Name, Seq: mine, Kept: mine, URL: s.URL}}, s.heard()...)
	var t etcd.Txn
	for _, c := range all[:min(len(all), maxTold)] {
		m := mirror{Seq: c.Seq, URL: c.URL}
		if c.Kept != c.Seq {
			m.Kept = &c.Kept
		}
		value, err := json.Marshal(m)
		if err != nil {
			return err
		}
		t.Then = append(t.Then, etcd.Op{Put: s.mirrorKey(c.Name), Value: value})
	}
	_, err := s.API.Txn(ctx, &t)
	return err
}

// A told is a copy's announcement in etcd, with its revision.
type told struct {
	commitlog.Mirror
	revision int64
}

// copies returns the announced copies on other hosts, ordered by name.
func (d *Driver) copies(ctx context.Context) ([]told, error) {
	from, to := d.mirrors()
	r, err := d.API.Range(ctx, from, to, 0)
	if err != nil {
		return nil, unreachable(err)
	}
	var all []told
	for _, kv := range r.KVs {
		var m mirror
		if kv.Key == d.mirrorKey(d.Name) || json.Unmarshal(kv.Value, &m) != nil {
			continue
		}
		c := commitlog.Mirror{Name: kv.Key[len(from):], Seq: m.Seq, Kept: m.Seq, URL: m.URL}
		if m.Kept != nil {
			c.Kept = min(*m.Kept, m.Seq)
		}
		all = append(all, told{c, kv.Revision})
	}
	return all, nil
}

// A sign is the last sign of life of a copy, with the time by this daemon's clock.
type sign struct {
	revision int64
	at       time.Time
}

// living returns the copies whose last announcement is not older than silentAfter.
// The caller holds mu.
func (w *Writer) living(all []told) (alive []commitlog.Mirror) {
	now, signs := w.now(), map[string]sign{}
	for _, c := range all {
		s, known := w.signs[c.Name]
		if !known || s.revision != c.revision {
			s = sign{c.revision, now}
		}
		signs[c.Name] = s
		if now.Sub(s.at) <= silentAfter {
			alive = append(alive, c.Mirror)
		}
	}
	w.signs = signs
	return alive
}

// merge returns the copies of both lists, ordered by name. For a copy in both
// lists, it returns the announcement with the higher commit.
func merge(a, b []commitlog.Mirror) []commitlog.Mirror {
	all := map[string]commitlog.Mirror{}
	for _, m := range slices.Concat(a, b) {
		if known, there := all[m.Name]; !there || m.Seq >= known.Seq {
			all[m.Name] = m
		}
	}
	return slices.SortedFunc(maps.Values(all), func(a, b commitlog.Mirror) int { return cmp.Compare(a.Name, b.Name) })
}

// trimmable returns the commit before which frames may be deleted: at least CopiesWanted
// copies no longer need the frames before it, and it is not after tailStart. It returns
// 0 if there are too few copies.
func trimmable(copies []commitlog.Mirror, tailStart uint64) uint64 {
	if len(copies) < commitlog.CopiesWanted {
		return 0
	}
	kept := make([]uint64, len(copies))
	for i, c := range copies {
		kept[i] = c.Kept
	}
	slices.SortFunc(kept, func(a, b uint64) int { return cmp.Compare(b, a) })
	return min(kept[commitlog.CopiesWanted-1]+1, tailStart)
}

// maxOthers is the maximum number of daemons that fill may read from.
const maxOthers = 16

// others returns the URLs of daemons that may have frames that etcd no longer has:
// the writer first, then those with the most commits.
func (s *site) others(ctx context.Context) (urls []string, err error) {
	if _, who, err := s.look(ctx); err == nil && who != nil && who.URL != s.URL {
		urls = append(urls, who.URL)
	}
	all, err := s.copies(ctx)
	slices.SortStableFunc(all, func(a, b told) int { return cmp.Compare(b.Seq, a.Seq) })
	for _, m := range all {
		if m.URL != "" && !slices.Contains(urls, m.URL) && len(urls) < maxOthers {
			urls = append(urls, m.URL)
		}
	}
	return urls, err
}
