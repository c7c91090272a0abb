package etcdlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// A place is this daemon's claim to be the writer: the key <prefix>/active, bound to a lease.
type place struct {
	lease   int64
	value   []byte    // value of the key
	renewed time.Time // time of the last renewal
}

// A quota tracks how full etcd is.
type quota struct {
	limit, used int64 // bytes, as last reported by a member; limit is 0 if unknown
	file        int64 // size of the database file in bytes, including unused space
	since       int64 // bytes appended since that report
	revision    int64 // revision for the next compaction
	compacted   int64 // total bytes appended at the time of the last compaction
}

// tight reports whether the space in use has reached warnAt.
func (q *quota) tight() bool { return q.percent() >= warnAt }

// Shares of the quota, in percent.
const (
	// fullAt is the share at which commits are rejected. It leaves room for the
	// epoch of the next writer and for trimming.
	fullAt = 70
	// warnAt is the share at which health begins to warn.
	warnAt = 50
	// fileAt is the share at which health warns because of the size of the file.
	// etcd compares the quota with that size, and not with the space in use, and the
	// file never shrinks by itself.
	fileAt = 90
)

// share returns the share of the quota that is in use, or 0 if the quota is unknown.
func (q *quota) share() float64 {
	if q.limit == 0 {
		return 0
	}
	return float64(q.used+q.since) / float64(q.limit)
}

func (q *quota) percent() int64 {
	if q.limit == 0 {
		return 0
	}
	return (q.used + q.since) * 100 / q.limit
}

// near reports whether commits may be rejected soon.
func (q *quota) near() bool {
	return q.tight() || q.limit > 0 && q.file*100/q.limit >= fileAt
}

func (q *quota) room() error {
	if p := q.percent(); p >= fullAt {
		return fmt.Errorf("%w: etcd is at %d %% of its quota, and commits are accepted up to %d %%: the log is trimmed when %d copies on other hosts have it", commitlog.ErrTailFull, p, fullAt, commitlog.CopiesWanted)
	}
	return nil
}

const (
	// numbers of beats between two checks of the quota and the copies, and between
	// two regular compactions
	statusBeats  = 3
	compactBeats = 60
)

// every calls beat three times per lease, until the writer has ended.
func (w *Writer) every(beat func(ctx context.Context, n int)) {
	tick := time.NewTicker(w.lease() / 3)
	defer tick.Stop()
	for n := 0; ; n++ {
		beat(w.ctx, n)
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Beat does the work that is due every third of the lease; n counts the calls from 0.
// Only simulations and tests call it: a Writer that is not Manual calls renew and tend
// in goroutines of their own, so that a slow member does not cost it the lease.
func (w *Writer) Beat(ctx context.Context, n int) {
	w.renew(ctx, n)
	w.tend(ctx, n)
	if w.Manual {
		w.local.SyncCopy()
	}
}

// tend checks how full etcd is, and trims and compacts the log there as needed.
func (w *Writer) tend(ctx context.Context, n int) {
	tight := false
	if n%statusBeats == 0 {
		w.measure(ctx)
		w.mu.Lock()
		tight = w.quota.tight()
		full := w.quota.room() != nil
		w.mu.Unlock()
		if tight {
			w.trim(ctx)
		}
		if full {
			w.nudge(ctx)
		}
	}
	if tight || n%compactBeats == compactBeats-1 {
		w.compact(ctx)
	}
}

// renew renews the lease. If the lease has expired, renew replaces it, unless
// another daemon has taken the place.
func (w *Writer) renew(ctx context.Context, _ int) {
	if err := w.local.Err(); err != nil { // a sync of the copy failed, and there may be no further Append to notice it
		w.fail(err)
		return
	}
	w.mu.Lock()
	p := w.place
	w.mu.Unlock()
	before := p.lease
	err := w.API.KeepAlive(ctx, p.lease)
	if errors.Is(err, etcd.ErrNoLease) {
		p.lease, p.value, err = w.seize(ctx)
		if errors.Is(err, wal.ErrLocked) {
			w.fail(fmt.Errorf("%w: %w", commitlog.ErrFenced, err))
			return
		}
	}
	if err != nil {
		w.logger().Warn("the lease of the writer's place could not be renewed", "error", err)
		return
	}
	replaced := p.lease != before
	p.renewed = w.now()
	w.mu.Lock()
	w.place = p
	w.mu.Unlock()
	if replaced {
		w.Confirm() // another daemon may have been the writer in the meantime
	}
}

// Shaky returns an ErrUnreachable if the lease has not been renewed recently,
// because another daemon may then be about to take over. Otherwise it returns nil.
func (w *Writer) Shaky() error {
	if age := w.age(); age > w.lease()/2+w.lease()/3 {
		return unreachable(fmt.Errorf("the lease of the writer's place was renewed %v ago, and lasts %v", age.Round(time.Millisecond), w.lease()))
	}
	return nil
}

// age returns the time since the lease was renewed.
func (w *Writer) age() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now().Sub(w.place.renewed)
}

// measure asks etcd how full it is and how much of the log the copies have, and
// updates what may be trimmed.
func (w *Writer) measure(ctx context.Context) {
	w.mu.Lock()
	before := w.quota.since
	w.mu.Unlock()
	s, err := w.API.Status(ctx)
	if err == nil {
		w.mu.Lock()
		w.quota.limit, w.quota.used, w.quota.file = s.Quota, cmp.Or(s.InUse, s.Size), s.Size
		w.quota.since -= before
		w.mu.Unlock()
	}
	all, err := w.copies(ctx)
	if err != nil {
		return
	}
	heard := w.heard()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mirrors = merge(w.living(all), heard)
	w.tail.grow(w.head.Seq, w.appended, w.tailSize()/tailMarks)
	w.trimTo = max(w.trimTo, trimmable(w.mirrors, w.tailStart()))
}

// compactStep returns the maximum number of bytes appended between two compactions.
// It must be small: to remove the heads between the frames, etcd rewrites all frames
// that have not been compacted yet, and its file grows by their size.
func (q *quota) compactStep() int64 {
	if q.limit == 0 {
		return DefaultTail
	}
	return q.limit / 32
}

// compact deletes the values that were replaced before its previous call. The first
// call deletes none.
func (w *Writer) compact(ctx context.Context) {
	r, err := w.API.Range(ctx, w.headKey(), "", 0)
	if err != nil {
		return
	}
	w.mu.Lock()
	to := w.quota.revision
	w.quota.revision, w.quota.compacted = r.Revision, w.appended
	w.mu.Unlock()
	if to != 0 {
		w.API.Compact(ctx, to)
	}
}

// compactor compacts whenever compactStep bytes have been appended since the last
// compaction.
func (w *Writer) compactor() {
	for {
		select {
		case <-w.stale:
			w.compact(w.ctx)
		case <-w.ctx.Done():
			return
		}
	}
}

// nudge stores the key of the writer's place again, unchanged. Until the next change,
// etcd still counts as used the space that the last change freed.
func (w *Writer) nudge(ctx context.Context) {
	w.mu.Lock()
	p := w.place
	w.mu.Unlock()
	w.API.Txn(ctx, &etcd.Txn{
		If:   []etcd.Cond{{Key: w.activeKey(), Value: p.value}},
		Then: []etcd.Op{{Put: w.activeKey(), Value: p.value, Lease: p.lease}},
	})
}

// Report returns what health and metrics report about the log.
func (w *Writer) Report() commitlog.ClusterReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return commitlog.ClusterReport{
		Mirrors: slices.Clone(w.mirrors), QuotaUsed: w.quota.share(),
		Retries: w.retries, TailBytes: w.quota.used + w.quota.since, NearFull: w.quota.near(),
	}
}
