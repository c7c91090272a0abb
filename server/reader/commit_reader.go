package reader

import (
	"context"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// commitReader reads commits back from the log itself, for the reads that show
// them. It keeps a few readers of the log, each left where it stopped, so
// that who reads on page by page, or follows the end, need not search again.
type commitReader struct {
	source commitlog.Source
	slots  chan struct{} // one for each reader in use; bounds them

	mu   sync.Mutex
	idle []*commitlog.PlacedReader
}

// maxLogReaders bounds the readers of the log beside the tailer's.
const maxLogReaders = 8

func newCommitReader(source commitlog.Source) *commitReader {
	return &commitReader{source: source, slots: make(chan struct{}, maxLogReaders)}
}

// A readCommitFunc is told of one commit. The frame is the batch that holds it;
// frame, record and the reader's Text are valid during the call alone. False
// ends the reading.
type readCommitFunc func(log *commitlog.PlacedReader, f *wal.Frame, rec *ledger.Record, seq uint64) bool

// each calls fn for the commits from..to, in order. All of them must be durable.
// What a record takes in memory belongs to one of the few readers of the log.
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

// take gives the caller a reader, best one that stands at the commit already.
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

// close closes the readers; none may be in use.
func (c *commitReader) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.idle {
		r.Close()
	}
	c.idle = nil
}

// committedAt is how a commit's time is shown: UTC with all nine digits, so
// that times compare as text.
const committedAt = "2006-01-02T15:04:05.000000000Z"

// AppendCommit appends a commit as it was made: the JSON object that
// /v1/read/commit/{global_seq} gives as data, without what happened to it since.
// f is the frame that holds it.
func AppendCommit(dst []byte, f *wal.Frame, seq uint64, rec *ledger.Record) []byte {
	return appendCommit(dst, f, seq, rec, 0)
}

// appendCommit is AppendCommit of a commit that another one took back; 0: none did.
func appendCommit(dst []byte, f *wal.Frame, seq uint64, rec *ledger.Record, reversedBy uint64) []byte {
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
