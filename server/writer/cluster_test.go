package writer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// A nearCluster has one daemon, which becomes the writer as soon as it joins.
type nearCluster struct {
	commitlog.Cluster
	member *nearMember
}

func (c *nearCluster) Join(context.Context) (commitlog.Member, error) { return c.member, nil }
func (c *nearCluster) Hear(func() []commitlog.Mirror)                 {}

// A nearMember is the daemon before it becomes the writer of an empty log.
type nearMember struct {
	commitlog.Member
	writer *nearWriter
}

func (m *nearMember) Restore(int, *slog.Logger) (*ledger.State, error) {
	return ledger.NewState(ledger.Config{IdempotencyKeys: 100}), nil
}

func (m *nearMember) Follow(context.Context, func(*wal.Frame) error) (commitlog.Writer, error) {
	return m.writer, nil
}

func (m *nearMember) Leader() string                  { return "" }
func (m *nearMember) Durable() uint64                 { return 0 }
func (m *nearMember) Readers() []commitlog.ReaderInfo { return nil }

// A nearWriter is the daemon's log while it is the writer.
type nearWriter struct {
	*ramLog
	lost    chan error
	closing error // the error of Close
}

func (w *nearWriter) Lost() <-chan error              { return w.lost }
func (w *nearWriter) Shaky() error                    { return nil }
func (w *nearWriter) Abandon()                        {}
func (w *nearWriter) Report() commitlog.ClusterReport { return commitlog.ClusterReport{} }
func (w *nearWriter) Close() error                    { return w.closing }

func newNearMember() *nearMember {
	return &nearMember{writer: &nearWriter{ramLog: newRAMLog(), lost: make(chan error, 1)}}
}

// TestEndStaysWhenThePlaceIsLost checks that a daemon that is no longer the writer
// does not report an earlier end of the log than before.
func TestEndStaysWhenThePlaceIsLost(t *testing.T) {
	c := DefaultConfig()
	c.Dir, c.Log = t.TempDir(), silent
	d, m := newAPI(c), newNearMember()
	d.standBy(m, c.Dir)
	ended := make(chan error, 1)
	go func() { ended <- d.turn(t.Context(), c, m, func() { panic("exit") }) }()
	until(t, "it is the writer", func() bool { return d.standingBy() == nil })
	r := &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}}
	if err := ledger.ParseTransaction([]byte(world), &r.Txs[0], ledger.ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if err := d.settle(r); err != nil || r.verdicts[0].err != nil {
		t.Fatalf("the commit: %v, %v", err, r.verdicts[0].err)
	}
	m.writer.lost <- commitlog.ErrFenced
	if err := <-ended; !errors.Is(err, commitlog.ErrFenced) {
		t.Errorf("turn returned %v, want ErrFenced", err)
	}
	if end := d.end(); end != 1 {
		t.Errorf("the end is %d, want 1, the last durable commit", end)
	}
}

// TestStopReportsTheCopy checks that a daemon that can't close its copy of the log
// says so when it stops.
func TestStopReportsTheCopy(t *testing.T) {
	c, m := nearConfig(t)
	m.writer.closing = errDisk
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, c, func() { panic("exit") }); !errors.Is(err, errDisk) {
		t.Errorf("Run returned %v, want %v", err, errDisk)
	}
}

// nearConfig returns the settings of the daemon in a nearCluster, and its member.
func nearConfig(t *testing.T) (Config, *nearMember) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, m := DefaultConfig(), newNearMember()
	c.Dir, c.Log, c.Ready = t.TempDir(), silent, io.Discard
	c.Driver, c.Access.Inherited = &nearCluster{member: m}, listener
	return c, m
}

// TestEndsWithoutItsListener checks that Run returns if the daemon's listener is
// closed.
func TestEndsWithoutItsListener(t *testing.T) {
	c, _ := nearConfig(t)
	c.Access.Inherited.Close()
	if err := Run(t.Context(), c, func() { panic("exit") }); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run returned %v, want %v", err, net.ErrClosed)
	}
}
