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

// A place is this daemon's place as the writer.
type place struct {
	lease   int64
	value   []byte    // of the key
	renewed time.Time // last
}

// A quota is how full etcd is.
type quota struct {
	limit, used int64 // bytes, as a member said last; 0: not known
	since       int64 // bytes that were appended since
	revision    int64 // to compact to, next time
}

// Shares of the quota, in percent.
const (
	// fullAt leaves room for the epoch of the next writer and for trimming.
	fullAt = 70
	// warnAt is where the health says so.
	warnAt = 50
)

func (q *quota) percent() int64 {
	if q.limit == 0 {
		return 0
	}
	return (q.used + q.since) * 100 / q.limit
}

func (q *quota) room() error {
	if p := q.percent(); p >= fullAt {
		return fmt.Errorf("%w: etcd is at %d %% of its quota, and commits are taken up to %d %%: the log is trimmed when %d copies on other hosts have it", commitlog.ErrTailFull, p, fullAt, copiesWanted)
	}
	return nil
}

const (
	// copiesWanted is how many copies on other hosts a frame must be in before
	// it is deleted in etcd.
	copiesWanted = 2
	// beats between two looks at the quota and the copies, and between two compactions.
	statusBeats  = 3
	compactBeats = 60
)

// run renews the lease, and looks after etcd, until the writer is closed.
func (w *Writer) run() {
	tick := time.NewTicker(w.lease() / 3)
	defer tick.Stop()
	for n := 0; ; n++ {
		w.Beat(w.ctx, n)
		select {
		case <-w.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Beat does what is to be done once in a third of the lease, for the n-th time.
func (w *Writer) Beat(ctx context.Context, n int) {
	w.renew(ctx)
	if n%statusBeats == 0 {
		w.measure(ctx)
	}
	if n%compactBeats == compactBeats-1 {
		w.compact(ctx)
	}
}

// renew renews the lease. One that is over is replaced, unless another daemon
// has taken the place.
func (w *Writer) renew(ctx context.Context) {
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
		w.logger().Warn("the place of the writer could not be renewed", "error", err)
		return
	}
	replaced := p.lease != before
	p.renewed = w.now()
	w.mu.Lock()
	w.place = p
	w.mu.Unlock()
	if replaced {
		w.Confirm() // another daemon may have come and gone meanwhile
	}
}

// Shaky says why another daemon may be about to take the place; nil while the
// lease is renewed.
func (w *Writer) Shaky() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := w.now().Sub(w.place.renewed); age > w.lease()/2+w.lease()/3 {
		return unreachable(fmt.Errorf("the place of the writer was renewed %v ago, and lasts %v", age.Round(time.Millisecond), w.lease()))
	}
	return nil
}

// measure asks how full etcd is, and how far the copies are.
func (w *Writer) measure(ctx context.Context) {
	w.mu.Lock()
	before := w.quota.since
	w.mu.Unlock()
	s, err := w.API.Status(ctx)
	if err == nil {
		w.mu.Lock()
		w.quota.limit, w.quota.used = s.Quota, cmp.Or(s.InUse, s.Size)
		w.quota.since -= before
		w.mu.Unlock()
	}
	all, err := w.copies(ctx)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mirrors = all
	w.trimTo = max(w.trimTo, trimmable(all, w.tailStart()))
}

// tailStart is the commit from which on the log is always kept. Call with mu.
// Its size is judged by the bytes that are in use in all.
func (w *Writer) tailStart() uint64 {
	tail := w.quota.used + w.quota.since
	if tail <= w.tail() || w.head.Seq < w.head.First {
		return w.head.First
	}
	// Frames differ in size; the share of commits is near enough.
	keep := float64(w.head.Seq-w.head.First+1) * float64(w.tail()) / float64(tail)
	return w.head.Seq - min(w.head.Seq, uint64(keep)) + 1
}

// trimmable is the commit before which frames may go: copiesWanted have them.
func trimmable(copies []commitlog.Mirror, tailStart uint64) uint64 {
	if len(copies) < copiesWanted {
		return 0
	}
	seqs := make([]uint64, len(copies))
	for i, c := range copies {
		seqs[i] = c.Seq
	}
	slices.SortFunc(seqs, func(a, b uint64) int { return cmp.Compare(b, a) })
	return min(seqs[copiesWanted-1]+1, tailStart)
}

// compact forgets what was replaced before the last call.
func (w *Writer) compact(ctx context.Context) {
	r, err := w.API.Range(ctx, w.headKey(), "", 0)
	if err != nil {
		return
	}
	w.mu.Lock()
	to := w.quota.revision
	w.quota.revision = r.Revision
	w.mu.Unlock()
	if to != 0 {
		w.API.Compact(ctx, to)
	}
}

// Report is what health and metrics tell of a replicated log.
func (w *Writer) Report() commitlog.ClusterReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	return commitlog.ClusterReport{
		Mirrors: slices.Clone(w.mirrors), QuotaUsed: float64(w.quota.used+w.quota.since) / float64(max(1, w.quota.limit)),
		Retries: w.retries, TailBytes: w.quota.used + w.quota.since, NearFull: w.quota.percent() >= warnAt,
	}
}
