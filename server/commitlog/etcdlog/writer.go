package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// A Writer is the log while this daemon is the writer.
type Writer struct {
	*commitlog.FileWriter // for this host's copy: Restore, LastSeq, LastTime, Readers, Space
	*site

	ctx    context.Context // done when the writer has ended: closed, fenced or failed
	cancel context.CancelFunc
	lost   chan error // receives one error, the one that ended the writer
	shell  sync.WaitGroup

	turn  sync.Mutex // held while changing the head; guards image, sent, txn and doubt
	image []byte     // wire form of the frame being appended
	sent  uint64     // first commit of the frame that is being appended and is not in the copy yet; 0 if none
	txn   etcd.Txn   // appends the frame, or only deletes frames
	doubt bool       // an attempt had no response: it may have been executed, or may still be

	mu       sync.Mutex
	head     head   // current head in etcd
	next     []byte // head that the transaction would store; nil if there is no transaction
	dead     error  // error that ended the writer; nil while it is running
	trimTo   uint64 // frames before this commit may be deleted
	appended int64  // bytes appended by this writer
	tail     tail
	stale    chan struct{} // wakes the compactor
	place    place
	quota    quota
	mirrors  []commitlog.Mirror // live copies on other hosts
	signs    map[string]sign    // last sign of life of each announced copy
	retries  uint64             // repeated attempts to append
}

func newWriter(s *site, h head, lease int64, value []byte) *Writer {
	w := &Writer{FileWriter: commitlog.NewFileWriter(s.local, s.Dir, s.Opt), site: s, head: h, lost: make(chan error, 1), stale: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.place = place{lease: lease, value: value, renewed: s.now()}
	w.tail = tail{{seq: h.Seq}}
	if !s.Manual {
		w.shell.Go(func() { w.every(w.renew) })
		w.shell.Go(func() { w.every(w.tend) })
		w.shell.Go(w.compactor)
	}
	return w
}

// Replay reads this host's copy, which ends where the log ends.
func (w *Writer) Replay(apply func(*wal.Frame) error) error { return w.ReadBack(apply) }

// MaxBody returns the maximum size of a batch's body in bytes, which fits in one
// transaction of etcd.
func (w *Writer) MaxBody() int { return min(MaxBody, w.FileWriter.MaxBody()) }

// Driver returns "etcd", and the cluster with the prefix.
func (w *Writer) Driver() (name, path string) { return "etcd", w.Where }

// Lost returns a channel that receives the error that ended the writer.
func (w *Writer) Lost() <-chan error { return w.lost }

// fail records the first error that ends the writer, and returns the recorded one.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead == nil {
		w.dead = err
		w.cancel()
		select {
		case w.lost <- err:
		default:
		}
	}
	return w.dead
}

func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// Append makes the frame durable on a majority of etcd's members, and then copies
// it to this host, where it is durable and visible to readers a moment later. If
// there is no space for the copy, another call with the same frame writes only the
// copy.
func (w *Writer) Append(f *wal.Frame) error {
	if err := w.failed(); err != nil {
		return err
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.sent == 0 && w.pending() != nil { // a deletion of frames is pending, and its outcome is unknown
		if err := w.commit(); err != nil {
			return err
		}
	}
	switch {
	case w.sent == 0:
		if len(f.Body) > w.MaxBody() {
			return fmt.Errorf("etcdlog: body of %d bytes; the maximum is %d", len(f.Body), w.MaxBody())
		}
		if err := w.prepare(f); err != nil {
			if w.local.Err() != nil { // the sync of the previous frame failed
				w.fail(err)
			}
			return err
		}
	default:
		again, err := w.local.Encode(nil, f)
		if err == nil && !bytes.Equal(again, w.image) {
			err = errors.New("it differs")
		}
		if err != nil {
			return fmt.Errorf("etcdlog: the frame of commits %d to %d is not the previous one, whose outcome is still unknown: %w", f.First, f.Last(), err)
		}
	}
	if w.pending() != nil {
		if err := w.commit(); err != nil {
			return err
		}
	}
	if err := w.local.PutCopy(f); err != nil {
		if !errors.Is(err, wal.ErrNoSpace) {
			w.fail(err)
		}
		return err
	}
	w.sent = 0
	return nil
}

// Commit reads a commit back from this host's copy.
func (w *Writer) Commit(seq uint64, use func(*ledger.Record)) error {
	if err := w.local.SyncCopy(); err != nil {
		return err
	}
	return w.FileWriter.Commit(seq, use)
}

// prepare prepares the transaction that appends the frame.
func (w *Writer) prepare(f *wal.Frame) (err error) {
	if w.image, err = w.local.Encode(w.image[:0], f); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = f.First
	w.propose(w.head.after(f, w.firstKept()), etcd.Op{Put: w.frameKey(f.First), Value: w.image})
	return nil
}

// pending returns the head that the current transaction would store, or nil if
// there is no transaction or it was executed.
func (w *Writer) pending() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next
}

// commit sends the transaction until its outcome is known or Patience has passed. It
// stops earlier when the lease may have ended, since the waiting clients should then ask
// another daemon.
func (w *Writer) commit() error {
	again := w.tries(w.ctx)
	for {
		r, err := w.API.Txn(w.ctx, &w.txn)
		switch {
		case err == nil && r.Succeeded:
			return w.committed()
		case err == nil && len(r.KVs) > 0 && bytes.Equal(r.KVs[0].Value, w.pending()):
			return w.committed() // by an earlier attempt
		case err == nil:
			return w.fail(w.fenced(r.KVs))
		case errors.Is(err, etcd.ErrNoSpace) && !w.doubt:
			w.forget()
			return fmt.Errorf("%w: %w", commitlog.ErrTailFull, err)
		case !etcd.Refused(err):
			w.doubt = true
		}
		if !again() || w.age() > w.lease() {
			if dead := w.failed(); dead != nil {
				return dead
			}
			return unreachable(err)
		}
		w.mu.Lock()
		w.retries++
		w.mu.Unlock()
	}
}

// committed records that the transaction was executed.
func (w *Writer) committed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, err := decodeHead(w.next)
	if err != nil {
		return err
	}
	w.head, w.next = h, nil
	if w.sent != 0 {
		w.quota.since += int64(len(w.image))
		w.appended += int64(len(w.image))
		if w.appended-w.quota.compacted >= w.quota.compactStep() {
			select {
			case w.stale <- struct{}{}:
			default:
			}
		}
	}
	return nil
}

// forget drops a transaction that was not executed and never will be.
func (w *Writer) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.next = 0, nil
}

// fenced returns an ErrFenced. It names the current writer if the head can be read.
func (w *Writer) fenced(head []etcd.KV) error {
	if len(head) == 0 {
		return fmt.Errorf("%w: the head of the log in %s is gone", commitlog.ErrFenced, w.Where)
	}
	h, err := decodeHead(head[0].Value)
	if err != nil {
		return fmt.Errorf("%w: %w", commitlog.ErrFenced, err)
	}
	return fmt.Errorf("%w: it is %s, since epoch %d", commitlog.ErrFenced, h.Writer, h.Epoch)
}

// Confirm reads the head and checks that it is this writer's. A transaction may be in
// progress or begin in the meantime, so the head may be the one at the time of the call,
// any later one, or the one that a transaction in progress stores.
func (w *Writer) Confirm() error {
	if err := w.failed(); err != nil {
		return err
	}
	w.mu.Lock()
	since := w.head
	w.mu.Unlock()
	var r *etcd.RangeResult
	if err := w.insist(w.ctx, func() (err error) {
		r, err = w.API.Range(w.ctx, w.headKey(), "", 0)
		return err
	}); err != nil {
		if dead := w.failed(); dead != nil {
			return dead
		}
		if etcd.Refused(err) {
			err = unreachable(err)
		}
		return err
	}
	if len(r.KVs) == 0 || !w.isMine(r.KVs[0].Value, since) {
		return w.fail(w.fenced(r.KVs))
	}
	return nil
}

// isMine reports whether a head that was read is this writer's, and not older than
// the argument since.
func (w *Writer) isMine(value []byte, since head) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next != nil && bytes.Equal(value, w.next) {
		return true
	}
	h, err := decodeHead(value)
	return err == nil && h.Epoch == w.head.Epoch && h.Nonce == w.head.Nonce && h.Log == w.head.Log && since.Seq <= h.Seq && h.Seq <= w.head.Seq
}

// Room returns nil if there is room in etcd and in this host's copy.
func (w *Writer) Room() error {
	if err := w.failed(); err != nil {
		return err
	}
	w.mu.Lock()
	err := w.quota.room()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.FileWriter.Room()
}

// Abandon makes all calls that wait for etcd return.
func (w *Writer) Abandon() { w.fail(wal.ErrClosed) }

// closeTime is the maximum time to release the writer's place.
const closeTime = time.Second

// Close releases the writer's place, so that another daemon can take it at once.
func (w *Writer) Close() error {
	w.fail(wal.ErrClosed)
	w.shell.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	w.mu.Lock()
	lease := w.place.lease
	w.place.lease = 0
	w.mu.Unlock()
	if lease != 0 {
		w.API.Revoke(ctx, lease)
	}
	return w.FileWriter.Close()
}
