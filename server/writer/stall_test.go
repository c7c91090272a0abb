package writer

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

// A preflight changes nothing, so its outcome is never unknown.
func TestPreflightWithoutLog(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	l.mu.Lock()
	l.fenced = commitlog.ErrUnreachable
	l.mu.Unlock()
	a := w.post(503, "/v1/commit/preflight", transferTx(1, ""))
	if a.code() != "LogUnavailable" || !strings.Contains(a.body, "could not be judged; nothing was changed") {
		t.Errorf("%v, want LogUnavailable, and that nothing was judged or changed", a)
	}
}

// Once there is space again, later requests wait for their batch as usual. Only
// those that waited during the stall were told that the outcome is unknown.
func TestStallIsForThoseWhoWaited(t *testing.T) {
	b := newBench(t, newRAMLog())
	_, g1 := b.submit(world)
	b.step()
	b.log.set(fmt.Errorf("spare: %w", wal.ErrNoSpace), nil)
	b.sync.stall(<-b.sync.in, diskFull)
	b.poll()
	if !isDone(g1) || g1.err != noSpaceUnknown {
		t.Fatalf("a waiting client was told: %v, want %v", g1.err, noSpaceUnknown)
	}
	b.log.set(nil, nil)
	b.sync.conclude(b.inFlight, b.sync.append(b.inFlight))
	b.poll()
	r2, g2 := b.submit(transferTx(1, ""))
	b.step()
	b.wantDone("a commit before its sync", g2, false)
	b.syncOne()
	if !isDone(g2) || g2.err != nil || r2.verdicts[0].seq != 2 {
		t.Errorf("afterwards: error %v, verdict %+v; want commit 2", g2.err, r2.verdicts[0])
	}
}

// A client is told to free space only if the disk is full.
func TestStallNamesItsCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want *stall
	}{
		{fmt.Errorf("%w: %w", wal.ErrNoSpace, syscall.ENOSPC), diskFull},
		{fmt.Errorf("%w: not ready", wal.ErrNoSpace), diskFull},
		{fmt.Errorf("%w: %w", wal.ErrNoSpace, syscall.EMFILE), filesShort},
		{fmt.Errorf("%w: %w", wal.ErrNoSpace, syscall.ENFILE), filesShort},
		{commitlog.ErrTailFull, tailFull},
		{commitlog.ErrUnreachable, notReached},
		{wal.ErrFailed, nil},
	} {
		if got := stallOf(c.err); got != c.want {
			t.Errorf("%v: got the stall %v, want %v", c.err, got, c.want)
		}
	}
}
