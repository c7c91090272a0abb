package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdfake"
	"assetledger/server/writer"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// A simHost is a machine with a write daemon. The daemon's work runs in a
// coroutine that pauses before every call to etcd. During the pause, other hosts
// and clients run for as long as the seed says.
type simHost struct {
	*clusterWorld
	name   string
	disk   *memfs.Disk
	client *etcdfake.Client

	p      *memfs.Process
	resume func() (struct{}, bool) // nil: the daemon is idle
	leave  func()                  // ends the daemon's work, as a kill would
	yield  func(struct{}) bool
	asleep int // number of turns for which the daemon still sleeps

	member *etcdlog.Member // not nil: it stands by
	replay *commitlog.Replayer
	core   *writer.Core // not nil: it writes
	log    *etcdlog.Writer
	count  int   // number of beats
	why    error // the last error
}

// abandoned is the panic that ends a coroutine whose process was killed from
// outside.
type abandoned struct{}

func (h *simHost) driver() *etcdlog.Driver {
	var api etcd.API = h.client
	if h.broken.api != nil {
		api = h.broken.api(h.client)
	}
	return &etcdlog.Driver{
		API: api, Prefix: "/l", Where: "etcd://sim/l", Dir: simDir, Name: h.name, URL: "http://" + h.name, Tail: 64, Manual: true, Rand: h.noise(),
		Opt:  wal.Options{SegmentSize: 64 << 10, FS: h.p, Now: h.clock, Manual: true},
		Now:  func() time.Time { return time.Unix(0, h.clock()) },
		Fill: h.fill,
		Again: func() func() bool {
			left := h.rng.IntN(4)
			if h.calm {
				left = 100
			}
			return func() bool { left--; return left >= 0 }
		},
	}
}

// noise returns a source of nonces.
func (w *clusterWorld) noise() noise { return noise{w} }

type noise struct{ w *clusterWorld }

func (n noise) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(n.w.rng.Uint32())
	}
	return len(b), nil
}

// do runs the function work in a new coroutine of the host, up to its first pause.
func (h *simHost) do(work func()) {
	h.resume, h.leave = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if p := recover(); p != nil && p != (abandoned{}) {
				panic(p)
			}
		}()
		h.yield = yield
		if !memfs.Survives(work) {
			h.gone()
		}
	})
	h.goOn()
}

// finish lets the daemon complete what it is doing.
func (h *simHost) finish() {
	for h.resume != nil {
		h.goOn()
	}
}

// goOn resumes the coroutine up to its next pause.
func (h *simHost) goOn() {
	if _, paused := h.resume(); !paused {
		h.resume = nil
	}
}

// fault is called before each call to etcd. It lets others run, and draws a
// fault.
func (h *simHost) fault(string) etcdfake.Fault {
	if !h.yield(struct{}{}) {
		panic(abandoned{})
	}
	if h.calm {
		return etcdfake.None
	}
	switch k := h.rng.IntN(100); {
	case k < 3:
		return etcdfake.RequestLost
	case k < 7:
		return etcdfake.ReplyLost
	case k < 10:
		return etcdfake.CarriedLate
	}
	return etcdfake.None
}

// step does one thing on the host, or a part of it.
func (h *simHost) step() {
	if h.asleep > 0 && !h.calm {
		h.asleep--
		return
	}
	switch {
	case h.resume != nil:
		if !h.calm && h.rng.IntN(60) == 0 {
			h.asleep = h.rng.IntN(120)
			return
		}
		h.goOn()
	case h.core != nil:
		h.write()
	case h.member != nil:
		h.do(h.standBy)
	case h.p == nil && (h.calm || h.rng.IntN(4) == 0):
		h.p = h.disk.Process()
		h.p.Plan(h.deadly())
		h.do(h.start)
	}
}

// deadly draws the operation on the host's disk at which the process is killed.
func (h *simHost) deadly() memfs.Plan {
	at := 60 + h.rng.IntN(4000)
	return func(n int, op memfs.Op, _ string) memfs.Fault {
		return memfs.Fault{Kill: !h.calm && n == at && op != memfs.OpRead}
	}
}

// write does one thing as the writer.
func (h *simHost) write() {
	switch k := h.rng.IntN(100); {
	case k < 45:
		h.do(h.core.Judge)
	case k < 85:
		h.do(h.core.Sync)
	case k < 98:
		h.count++
		h.do(func() { h.log.Beat(context.Background(), h.count) })
	case !h.calm:
		h.do(func() {
			for !h.core.Stop() {
				h.core.Judge()
				h.core.Sync()
			}
			h.log.Close()
			h.gone()
		})
	}
	if h.core == nil || h.resume != nil {
		return
	}
	select {
	case err := <-h.log.Lost():
		h.core.Fail(err)
	default:
	}
	if h.core.Failed() {
		h.stats.fenced++
		h.do(func() { h.log.Close(); h.gone() })
	}
}

// start joins the log as a standby, or opens it as the writer at once.
func (h *simHost) start() {
	ctx, d := context.Background(), h.driver()
	if h.rng.IntN(3) > 0 {
		m, err := d.Join(ctx)
		if err != nil {
			h.failed("joining the log", err)
			return
		}
		h.member = m.(*etcdlog.Member)
		state, err := h.member.Restore(simKeys, simLog)
		if err != nil {
			h.failed("restoring the state", err)
			return
		}
		h.replay = commitlog.NewReplayer(state)
		return
	}
	l, err := d.OpenWriter()
	if err != nil {
		h.failed("opening the log", err)
		return
	}
	state, err := l.Restore(simKeys, simLog)
	if err != nil {
		h.failed("restoring the state", err)
		return
	}
	h.replay = commitlog.NewReplayer(state)
	if err := l.Replay(h.replay.ReplayFrame); err != nil {
		h.failed("replaying the log", err)
		return
	}
	h.become(l.(*etcdlog.Writer))
}

// standBy follows the log, and takes over if no daemon writes.
func (h *simHost) standBy() {
	w, err := h.member.Step(context.Background(), h.replay.ReplayFrame)
	if h.why = err; err != nil {
		if !mayPass(err) {
			h.failed("standing by", err)
		}
		return
	}
	if w != nil {
		h.member = nil
		h.become(w)
	}
}

func (h *simHost) become(w *etcdlog.Writer) {
	h.stats.takeovers++
	h.log = w
	var l commitlog.Writer = w
	if h.broken.log != nil {
		l = h.broken.log(h, w)
	}
	h.core = writer.NewCore(l, h.replay.State(), 8, h.clock, func(f *wal.Frame) { h.saw(h.name, f.Last(), f.Digest) })
}

// mayPass reports whether an error is one that injected faults or other daemons may
// cause.
func mayPass(err error) bool {
	return errors.Is(err, commitlog.ErrUnreachable) || errors.Is(err, wal.ErrLocked) || etcd.Refused(err) || injected(err)
}

// failed ends the daemon. If mayPass returns false for the error, failed ends the
// simulation too.
func (h *simHost) failed(doing string, err error) {
	h.why = err
	if !mayPass(err) {
		h.failf("%s, %s: %v", h.name, doing, err)
	}
	h.gone()
}

// gone ends the process, and makes every client notice that it has ended.
func (h *simHost) gone() {
	h.p.Kill()
	h.p = nil
	if h.core != nil {
		for _, c := range h.clients {
			c.collect()
			c.abandon(h.core)
		}
	}
	h.core, h.log, h.member, h.replay = nil, nil, nil, nil
}

// kill ends the process from outside, wherever it is.
func (h *simHost) kill() {
	if h.p == nil {
		return
	}
	if h.resume != nil {
		h.leave()
		h.resume = nil
	}
	if h.p != nil {
		h.gone()
	}
	h.asleep = 0
}

// stop ends the process. A writer first completes its copy of the log.
func (h *simHost) stop() {
	h.finish()
	if h.core != nil {
		h.do(func() { h.log.Close() })
		h.finish()
	}
	h.kill()
}

// fill copies frames that etcd no longer has. It reads them from the disks of the
// other hosts.
func (h *simHost) fill(_ context.Context, w *wal.Writer, _ []string, upTo uint64) error {
	for _, other := range h.hosts {
		if other == h {
			continue
		}
		p := other.disk.Process()
		r, err := wal.OpenReader(simDir, wal.Options{FS: p})
		if err != nil {
			p.Kill()
			continue
		}
		err = r.Seek(w.LastSeq() + 1)
		for err == nil && w.LastSeq() < upTo {
			var f *wal.Frame
			if f, err = r.Next(); err == nil {
				err = w.PutCopy(f)
			}
		}
		r.Close()
		p.Kill()
		if w.LastSeq() >= upTo {
			return nil
		}
	}
	return fmt.Errorf("%w: no other host has commit %d", commitlog.ErrUnreachable, w.LastSeq()+1)
}

// lose replaces the host's disk with an empty one.
func (h *simHost) lose() {
	h.kill()
	h.disk = memfs.New(h.rng.Uint64())
	h.stats.lost++
}

// A clusterSabotage says what is broken on purpose.
type clusterSabotage struct {
	name  string
	first uint64 // the seed to begin with; the test is short if a seed soon after it fails
	store func(*etcdfake.Store)
	api   func(etcd.API) etcd.API
	log   func(*simHost, commitlog.Writer) commitlog.Writer
}

// sameFrames compares a host's copy with the frames of the log.
func (w *clusterWorld) sameFrames(h *simHost) error {
	p := h.disk.Process()
	defer p.Kill()
	if _, err := wal.Verify(simDir, wal.VerifyOptions{FS: p}); err != nil {
		return fmt.Errorf("%s: verify at the end: %w", h.name, err)
	}
	i := 0
	err := readFrames(p, func(f *wal.Frame) error {
		if i == len(w.frames) || !bytes.Equal(f.AppendWire(nil), w.frames[i]) {
			return fmt.Errorf("frame %d of %s differs from the one in etcd", i, h.name)
		}
		i++
		return nil
	})
	if err == nil && i != len(w.frames) {
		err = fmt.Errorf("%s has %d frames of %d", h.name, i, len(w.frames))
	}
	return err
}

// frameFirst returns the first commit of a frame in wire form.
func frameFirst(image []byte) uint64 { return binary.LittleEndian.Uint64(image[8:]) }
