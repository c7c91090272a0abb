package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/metrics"
	"assetledger/wal"
)

// WriteConfig is what a write daemon is told. Zero numbers mean zero: begin
// with DefaultWriteConfig.
type WriteConfig struct {
	Dir             string // of the log; made if missing
	Listen          string // host:port; port 0 for any
	IdempotencyKeys int    // keyed commits that are remembered
	SegmentSize     int64  // bytes of a segment of the log; 0: the log's default
	MaxBody         int64  // bytes of the body of one transaction or registration
	MaxBatchBody    int64  // bytes of the body of a batch request
	MaxInflight     int64  // bytes of the bodies of all requests that are not answered yet
	MaxNesting      int    // levels of JSON in a body
	Queue           int    // requests that wait to be sequenced
	MaxLag          uint64 // commits that the slowest read daemon may be behind before the health is degraded; 0: no bound
	Timeouts        Timeouts
	LogAll          bool      // log every request
	Ready           io.Writer // gets one line when the daemon serves
	Log             *slog.Logger
}

// DefaultWriteConfig has the limits of the interface.
func DefaultWriteConfig() WriteConfig {
	return WriteConfig{
		Listen: "127.0.0.1:8080", IdempotencyKeys: 1_000_000, MaxBody: 1 << 20, MaxBatchBody: 64 << 20, MaxInflight: 256 << 20,
		MaxNesting: ledger.DefaultNesting, Queue: 4096, Timeouts: DefaultTimeouts,
	}
}

// A writeDaemon accepts commits and registrations for one log.
type writeDaemon struct {
	log                   writeLog
	seq                   *sequencer
	readers               func() []readerInfo
	parsing               ledger.ParseLimits
	maxBody, maxBatchBody int64
	maxLag                uint64
	budget                budget
	inflight              atomic.Int64
	stopping              atomic.Bool
	meters                *writeMeters
	registry              metrics.Registry
	api                   *api
}

// newWriteDaemon puts a daemon together, on a state that is at the end of the
// log, and starts its sequencer. exit ends the process.
func newWriteDaemon(c WriteConfig, l writeLog, state *ledger.State, exit func(int)) *writeDaemon {
	d := &writeDaemon{
		log: l, parsing: ledger.ParseLimits{Nesting: c.MaxNesting}, maxBody: c.MaxBody, maxBatchBody: c.MaxBatchBody, maxLag: c.MaxLag,
	}
	d.budget.max = c.MaxInflight
	d.readers = func() []readerInfo { return attachedReaders(c.Dir) }
	d.api = newAPI(d.routes(), writePrefix, &d.registry, c.Log)
	d.api.LogAll = c.LogAll
	d.meters = newWriteMeters(&d.registry)
	d.seq = newSequencer(state, l, c.Queue, d.meters, c.Log, exit)
	d.gauges()
	d.seq.start()
	return d
}

// ending is why nothing new is accepted any more, nil while all is well.
func (d *writeDaemon) ending() *ledger.Error {
	if err := d.seq.intake.refusing(); err != nil {
		return err
	}
	if d.stopping.Load() {
		return shuttingDown
	}
	return nil
}

// RunWrite runs a write daemon until ctx is done (then the error is nil) or it
// can't go on:
//
//	lock and recover the log → replay it → listen, say so → serve → stop in reverse
//
// When it stops, new requests are refused, those accepted are answered, and
// the log is closed.
func RunWrite(ctx context.Context, c WriteConfig) (err error) {
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return fmt.Errorf("finding the directory of the log: %w", err)
	}
	l, err := openFileLog(c.Dir, wal.Options{SegmentSize: c.SegmentSize})
	if err != nil {
		return err
	}
	d, err := startWrite(c, l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err = d.serve(ctx, c); err != nil {
		return err
	}
	return l.Close()
}

// startWrite brings a state to the end of the log, and starts a daemon on it.
func startWrite(c WriteConfig, l writeLog) (*writeDaemon, error) {
	state := ledger.NewState(ledger.Config{IdempotencyKeys: c.IdempotencyKeys})
	if err := replay(state, l, c.Log); err != nil {
		return nil, err
	}
	return newWriteDaemon(c, l, state, os.Exit), nil
}

// stopTime bounds the last sync when everything else has stopped.
const stopTime = 2 * time.Second

// serve listens and serves until ctx is done or the log fails, and stops the
// sequencer.
func (d *writeDaemon) serve(ctx context.Context, c WriteConfig) error {
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		d.seq.stop()
		return fmt.Errorf("listening for requests: %w", err)
	}
	err = serve(ctx, ln, d.api, c.Timeouts, c.Ready, "ledger-write", c.Log, d.seq.sync.failed, func() { d.stopping.Store(true) })
	stopped := make(chan struct{})
	go func() {
		d.seq.stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		return err
	case <-time.After(stopTime):
		return errors.Join(err, errors.New("the log did not become durable in time: the outcome of the last requests is unknown"))
	}
}
