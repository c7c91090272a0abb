package memlog

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

// Checkpoints returns the checkpoints of the log. All are kept.
func (l *Log) Checkpoints() commitlog.CheckpointStore { return checkpoints{l} }

type checkpoints struct{ *Log }

func (c checkpoints) List() ([]uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.points)), nil
}

func (c checkpoints) Name(seq uint64) string { return fmt.Sprintf("checkpoint %d", seq) }

func (c checkpoints) Open(seq uint64) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.points[seq]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (c checkpoints) Claim() (io.Closer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claimed {
		return nil, wal.ErrLocked
	}
	c.claimed = true
	return claim(c), nil
}

// A claim holds the duty of making checkpoints.
type claim checkpoints

func (c claim) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claimed = false
	return nil
}

func (c checkpoints) Write(seq uint64, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points[seq] = b.Bytes()
	return nil
}
