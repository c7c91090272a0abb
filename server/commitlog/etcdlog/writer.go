package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// A Writer is the log while this daemon writes it.
type Writer struct {
	*commitlog.FileWriter // of this host's copy: Restore, LastSeq, LastTime, Commit, Readers, Space
	*site

	ctx    context.Context // done when the writer is closed or has lost its place
	cancel context.CancelFunc
	lost   chan error // has one error, when the place is gone
	shell  sync.WaitGroup

	// Of the appending goroutine.
	image []byte   // wire form of the frame that is sent
	sent  uint64   // first commit of the frame that is sent and not in the copy yet; 0: none
	txn   etcd.Txn // that appends it
	doubt bool     // an attempt had no answer: it may be carried out, now or later

	mu      sync.Mutex
	head    head   // as it is in etcd
	next    []byte // the head that the frame that is sent would make; nil: none
	dead    error  // why nothing is appended any more
	trimTo  uint64 // frames before this commit may go
	place   place
	quota   quota
	mirrors []commitlog.Mirror // of other hosts
	retries uint64             // attempts to append beyond the first
}

func newWriter(s *site, h head, lease int64, value []byte) *Writer {
	w := &Writer{FileWriter: commitlog.NewFileWriter(s.local, s.Dir, s.Opt), site: s, head: h, lost: make(chan error, 1)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.place = place{lease: lease, value: value, renewed: s.now()}
	if !s.Manual {
		w.shell.Go(w.run)
	}
	return w
}

// Replay reads this host's copy, which ends where the log does.
func (w *Writer) Replay(apply func(*wal.Frame) error) error { return w.ReadBack(apply) }

// MaxBody is what one transaction of etcd takes.
func (w *Writer) MaxBody() int { return min(MaxBody, w.FileWriter.MaxBody()) }

// Driver names the driver, and the cluster with the prefix.
func (w *Writer) Driver() (name, path string) { return "etcd", w.Where }

// Lost has an error when the place is gone.
func (w *Writer) Lost() <-chan error { return w.lost }

// fail makes the first failure stick, and returns what stuck.
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

// Append makes the frame durable on a majority, and then puts it into this
// host's copy. If there is no space there, the same call goes on with that.
func (w *Writer) Append(f *wal.Frame) error {
	if err := w.failed(); err != nil {
		return err
	}
	switch {
	case w.sent == 0:
		if len(f.Body) > w.MaxBody() {
			return fmt.Errorf("etcdlog: body of %d bytes, at most %d", len(f.Body), w.MaxBody())
		}
		if err := w.prepare(f); err != nil {
			return err
		}
	default:
		if again, err := w.local.Encode(nil, f); err != nil || !bytes.Equal(again, w.image) {
			return fmt.Errorf("etcdlog: the frame of commits %d to %d is another than the one before, and what became of that is not known yet: %w", f.First, f.Last(), err)
		}
	}
	if w.pending() != nil {
		if err := w.commit(); err != nil {
			return err
		}
	}
	if err := w.local.AppendCopy(f); err != nil {
		if !errors.Is(err, wal.ErrNoSpace) {
			w.fail(err)
		}
		return err
	}
	w.sent = 0
	return nil
}

// prepare makes the transaction that appends the frame.
func (w *Writer) prepare(f *wal.Frame) (err error) {
	if w.image, err = w.local.Encode(w.image[:0], f); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	first := max(w.head.First, min(w.trimTo, f.First))
	next := w.head.after(f, first)
	w.next, w.sent, w.doubt = next.encode(), f.First, false
	w.txn = etcd.Txn{
		If:   []etcd.Cond{{Key: w.headKey(), Value: w.head.encode()}},
		Then: []etcd.Op{{Put: w.frameKey(f.First), Value: w.image}, {Put: w.headKey(), Value: w.next}},
		Else: []etcd.Op{{Get: w.headKey()}},
	}
	if first > w.head.First {
		w.txn.Then = append(w.txn.Then, etcd.Op{Delete: w.frameKey(w.head.First), End: w.frameKey(first)})
	}
	return nil
}

// pending is the head that the frame that is sent would make, nil if it is in
// the log, or there is none.
func (w *Writer) pending() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next
}

// commit carries out the transaction: it sends it until there is an answer.
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
		if !again() {
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

// committed takes note that the frame is in the log.
func (w *Writer) committed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, err := decodeHead(w.next)
	if err != nil {
		return err
	}
	w.head, w.next = h, nil
	w.quota.since += int64(len(w.image))
	return nil
}

// forget gives up a frame that was never carried out, and won't be.
func (w *Writer) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent, w.next = 0, nil
}

// fenced is the error that says who the writer is now.
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

// Confirm reads the head: it is this writer's, or the one that it is about to put.
func (w *Writer) Confirm() error {
	if err := w.failed(); err != nil {
		return err
	}
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
	w.mu.Lock()
	mine := len(r.KVs) > 0 && (bytes.Equal(r.KVs[0].Value, w.head.encode()) || w.next != nil && bytes.Equal(r.KVs[0].Value, w.next))
	w.mu.Unlock()
	if !mine {
		return w.fail(w.fenced(r.KVs))
	}
	return nil
}

// Room reports whether there is room in etcd and in this host's copy.
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

// Abandon has what waits for etcd return.
func (w *Writer) Abandon() { w.fail(wal.ErrClosed) }

// closeTime bounds the giving back of the place.
const closeTime = time.Second

// Close gives back the place, so that another daemon can take it at once.
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
