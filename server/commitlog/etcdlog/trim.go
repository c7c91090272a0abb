package etcdlog

import (
	"context"

	"assetledger/server/etcd"
)

// A tail records how many bytes this writer had appended up to certain commits.
type tail []mark

// A mark is the number of bytes appended up to and including a commit.
type mark struct {
	seq   uint64
	bytes int64
}

// tailMarks is the approximate number of marks in a tail.
const tailMarks = 64

// grow adds a mark if at least step bytes have been appended since the last one.
func (t *tail) grow(seq uint64, bytes, step int64) {
	if last := (*t)[len(*t)-1]; bytes-last.bytes >= max(step, 1) {
		*t = append(*t, mark{seq, bytes})
	}
}

// start returns the first commit in the last part of the log, which is size bytes long.
// It returns 0 if fewer bytes were appended. The commit is approximate: start
// interpolates between marks. It drops the marks that are no longer needed.
func (t *tail) start(size int64) uint64 {
	all := *t
	want := all[len(all)-1].bytes - size
	if want < all[0].bytes {
		return 0
	}
	i := len(all) - 1
	for all[i].bytes > want {
		i--
	}
	*t = all[i:]
	if i == len(all)-1 {
		return all[i].seq + 1
	}
	a, b := all[i], all[i+1]
	return a.seq + uint64(float64(b.seq-a.seq)*float64(want-a.bytes)/float64(b.bytes-a.bytes)) + 1
}

// tailSize returns the number of bytes of the log that are always kept in etcd.
func (w *Writer) tailSize() int64 {
	size := w.site.tail()
	if w.quota.limit > 0 {
		size = min(size, w.quota.limit/4)
	}
	return size
}

// tailStart returns the first commit that is always kept in etcd. The caller holds
// mu.
func (w *Writer) tailStart() uint64 {
	if start := w.tail.start(w.tailSize()); start > 0 {
		return start
	}
	used := w.quota.used + w.quota.since
	if !w.quota.tight() || w.head.Seq < w.head.First {
		return w.head.First
	}
	// Most of the log in etcd was appended by an earlier writer. Frames differ in
	// size, but a share of the commits is close enough.
	keep := float64(w.head.Seq-w.head.First+1) * min(1, float64(w.tailSize())/float64(used))
	return w.head.Seq - min(w.head.Seq, uint64(keep)) + 1
}

// trimAtOnce is the maximum number of commits that one transaction deletes, so that
// etcd is not busy with it for long.
const trimAtOnce = 20_000

// firstKept returns the first commit that etcd keeps if the next change of the head
// also deletes frames. The caller holds mu.
func (w *Writer) firstKept() uint64 {
	return max(w.head.First, min(w.trimTo, w.head.Seq+1, w.head.First+trimAtOnce))
}

// trim deletes frames that enough copies have, in transactions of their own. Usually
// an append deletes them, but while etcd is too full there are no appends. If an
// append is in progress, trim leaves the deletion to it.
func (w *Writer) trim(ctx context.Context) {
	if !w.turn.TryLock() {
		return
	}
	defer w.turn.Unlock()
	for ctx.Err() == nil && w.sent == 0 && w.pending() == nil && w.prepareTrim() {
		if w.commit() != nil {
			return
		}
	}
}

// prepareTrim prepares a transaction that deletes frames. It returns false if there
// are none to delete, or if the writer has ended.
func (w *Writer) prepareTrim() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.firstKept()
	if w.dead != nil || first == w.head.First {
		return false
	}
	next := w.head
	next.First = first
	w.propose(next)
	return true
}

// propose prepares the transaction that replaces the head, and deletes the frames
// before the first commit of the new head. The caller holds mu.
func (w *Writer) propose(next head, then ...etcd.Op) {
	w.next, w.doubt = next.encode(), false
	w.txn = etcd.Txn{
		If:   []etcd.Cond{{Key: w.headKey(), Value: w.head.encode()}},
		Then: append(then, etcd.Op{Put: w.headKey(), Value: w.next}),
		Else: []etcd.Op{{Get: w.headKey()}},
	}
	if next.First > w.head.First {
		w.txn.Then = append(w.txn.Then, etcd.Op{Delete: w.frameKey(w.head.First), End: w.frameKey(next.First)})
	}
}
