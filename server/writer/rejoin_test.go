package writer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/server/commitlog"
)

// A farCluster can't be joined the first few times. After that, Join returns the error
// in the field last.
type farCluster struct {
	commitlog.Cluster
	failures int
	last     error
}

func (c *farCluster) Join(context.Context) (commitlog.Member, error) {
	if c.failures == 0 {
		return stopped{}, c.last
	}
	c.failures--
	return nil, fmt.Errorf("etcd: %w", commitlog.ErrUnreachable)
}

// TestRejoinWaitsForTheLog checks that a daemon that lost the writer's place
// while it was cut off stands by again as soon as it can, however long that
// takes.
func TestRejoinWaitsForTheLog(t *testing.T) {
	damaged := errors.New("the copy is damaged")
	for _, c := range []struct {
		name     string
		failures int
		last     error
		wait     time.Duration
		err      error
	}{
		{"at once", 0, nil, 0, nil},
		{"after an hour", 7200, nil, time.Hour, nil},
		{"an error that waiting can't resolve", 2, damaged, time.Second, damaged},
		{"stopped meanwhile", 1 << 30, nil, 2 * time.Hour, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				start := time.Now()
				m, err := rejoin(ctx, &farCluster{failures: c.failures, last: c.last}, slog.New(slog.DiscardHandler))
				if !errors.Is(err, c.err) || (err == nil) != (m != nil) && c.last == nil {
					t.Errorf("rejoin returned %v, %v; want the error %v", m, err, c.err)
				}
				if waited := time.Since(start); waited != c.wait {
					t.Errorf("rejoin took %v, want %v", waited, c.wait)
				}
			})
		})
	}
}
