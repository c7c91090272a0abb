package reader

import (
	"context"
	"slices"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// A commitReader reads commits from the log itself, for the reads that show them.
// It keeps a few readers of the log. Each keeps its position, so paging through
// commits or following the end needs only a short search.
type commitReader struct {
	source commitlog.Source
	slots  chan struct{} // semaphore with one place for each reader in use

	mu   sync.Mutex
	idle []*commitlog.PlacedReader
}

// maxLogReaders is the maximum number of readers of the log that a commitReader opens.
const maxLogReaders = 8

func newCommitReader(source commitlog.Source) *commitReader {
	return &commitReader{source: source, slots: make(chan struct{}, maxLogReaders)}
}

// A readCommitFunc receives one commit. The frame is the batch that holds it. Frame,
// record and the reader's Text are valid only during the call. Returning false ends
// the reading.
type readCommitFunc func(log *commitlog.PlacedReader, f *wal.Frame, rec *ledger.Record, seq uint64) bool

// each calls fn for the commits from..to, in order. All of them must be durable.
// The memory of a record belongs to a reader of the log, and there are few of
// these, so fn must not wait.
func (c *commitReader) each(ctx context.Context, from, to uint64, fn readCommitFunc) error {
	if from > to {
		return nil
	}
	r, err := c.take(ctx, from)
	if err != nil {
		return err
	}
	defer c.give(r)
	return r.Commits(from, to, func(f *wal.Frame, rec *ledger.Record, seq uint64) bool { return fn(r, f, rec, seq) })
}

// take returns a reader, preferably one that is already at the commit.
func (c *commitReader) take(ctx context.Context, at uint64) (*commitlog.PlacedReader, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		best := last
		for i, r := range c.idle {
			if r.At == at {
				best = i
			}
		}
		r := c.idle[best]
		c.idle[best] = c.idle[last]
		c.idle = c.idle[:last]
		c.mu.Unlock()
		return r, nil
	}
	c.mu.Unlock()
	r, err := c.source.Open()
	if err != nil {
		<-c.slots
		return nil, err
	}
	return &commitlog.PlacedReader{Reader: r}, nil
}

func (c *commitReader) give(r *commitlog.PlacedReader) {
	r.Rest()
	c.mu.Lock()
	c.idle = append(c.idle, r)
	c.mu.Unlock()
	<-c.slots
}

// close closes the readers. None may be in use.
func (c *commitReader) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.idle {
		r.Close()
	}
	c.idle = nil
}

// committedAt is the format of a commit's time: UTC with all nine digits, so that
// times compare as text.
const committedAt = "2006-01-02T15:04:05.000000000Z"

// opText is a size in bytes that is enough for the text of most operations. The
// memory of most commits is therefore allocated at once: growing in steps leaves five
// times as much garbage.
const opText = 144

// AppendCommit appends a commit as it was made: the JSON object that
// /v1/read/commit/{global_seq} returns as data, without later events such as its
// reversal. f is the frame that holds it.
func AppendCommit(dst []byte, f *wal.Frame, seq uint64, rec *ledger.Record) []byte {
	return appendCommit(dst, f, seq, rec, 0)
}

// appendCommit does the same as AppendCommit, and adds the commit that reversed
// this one, unless reversedBy is 0.
func appendCommit(dst []byte, f *wal.Frame, seq uint64, rec *ledger.Record, reversedBy uint64) []byte {
	dst = slices.Grow(dst, opText*len(rec.Tx.Ops)+len(rec.Tx.Metadata))
	dst = httpserver.AppendUint(dst, `{"global_seq":`, seq)
	dst = httpserver.AppendUint(dst, `,"batch_seq":`, seq-f.First+1)
	dst = append(dst, `,"committed_at":"`...)
	dst = time.Unix(0, f.Time).UTC().AppendFormat(dst, committedAt)
	dst = ledger.AppendOperations(append(dst, `","operations":`...), rec.Tx.Ops)
	dst = append(dst, `,"minted_instances":[`...)
	for i := range rec.Out.Minted {
		dst = httpserver.AppendInt(dst, httpserver.ElementStart(i, "", ","), rec.Out.FirstMinted+int64(i))
	}
	dst = ledger.AppendMetadata(append(dst, `],"metadata":`...), rec.Tx.Metadata, rec.Tx.Key)
	if rec.Tx.Reverses != 0 {
		dst = httpserver.AppendUint(dst, `,"reverses":`, rec.Tx.Reverses)
	}
	if reversedBy != 0 {
		dst = httpserver.AppendUint(dst, `,"reversed_by":`, reversedBy)
	}
	if len(rec.Tx.Principal) > 0 {
		dst = ledger.AppendString(append(dst, `,"principal":`...), string(rec.Tx.Principal))
	}
	return append(dst, '}')
}
