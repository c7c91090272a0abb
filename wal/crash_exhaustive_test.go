package wal_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

var exhaustive = flag.Bool("exhaustive", false, "flip every bit, and try ten times as many crashes")

const firstSegment = crashDir + "/wal/00000000000000000001.seg"

// A tally counts outcomes.
type tally struct{ whole, refused int }

// judge opens a damaged log, as a reader and as a writer.
func (n *tally) judge(d *memfs.Disk, r run) error {
	p := d.Process()
	last, rerr := readBack(p)
	if rerr != nil && rerr != wal.ErrNoLog {
		if err := wellRefused(rerr); err != nil {
			return fmt.Errorf("reader: %w", err)
		}
	}
	if rerr == nil && last > r.begun {
		return fmt.Errorf("reader: shows commit %d, which never existed", last)
	}
	switch err := r.recovers(d); {
	case err == nil:
		n.whole++
		return nil
	case errors.Is(err, errLost):
		// The log can be opened, although acknowledged commits are missing or can't
		// be read, or there are commits that were never begun.
		return err
	default:
		n.refused++
		return wellRefused(err)
	}
}

// TestEveryBitFlip flips bits of a log of three batches, one at a time: with
// -exhaustive all of them except most of the zeroes after the last frame, otherwise at
// most one in each byte.
func TestEveryBitFlip(t *testing.T) {
	step := 1 // without -exhaustive, every step-th byte is tested
	switch {
	case raceFactor > 1:
		step = 17
	case !*exhaustive && !longtest.Form(t, "two of three bytes"):
		step = 3
	}
	d, r := newLog(t, 1)
	p := d.Process()
	used, err := wal.Verify(crashDir, wal.VerifyOptions{FS: p})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{firstSegment, crashDir + "/END", crashDir + "/LOCK"} {
		b, err := d.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var n tally
		within := 0 // flips of significant bytes
		for at := 0; at < len(b); at++ {
			if name == firstSegment && at > int(used.Bytes)+1024 && at%509 != 0 {
				continue // one rule covers all zeroes after the last frame, so a sample is enough
			}
			for bit := range 8 {
				if !*exhaustive && (bit != at%8 || b[at] == 0 && at%16 > 8 || at%step > 0) {
					continue
				}
				if name == firstSegment && at < int(used.Bytes) {
					within++
				}
				e := d.Clone(memfs.Random(1), 1)
				b[at] ^= 1 << bit
				e.WriteFile(name, b)
				b[at] ^= 1 << bit
				if err := n.judge(e, r); err != nil {
					t.Fatalf("%s, byte %d, bit %d: %v", name, at, bit, err)
				}
			}
		}
		t.Logf("%s: %d bytes, %d flips survived, %d were rejected", name, len(b), n.whole, n.refused)
		if n.refused < within || name == firstSegment && within < 2000/step {
			t.Errorf("%d flips were rejected, want at least %d, the number in bytes that matter", n.refused, within)
		}
		if name != firstSegment && n.refused > 0 {
			t.Errorf("%s: %d flips were rejected, although the frames alone show where the log ends", name, n.refused)
		}
	}
}

// TestEveryTruncation truncates each file to many lengths, and removes it. With
// -exhaustive, it tries each length of END and LOCK.
func TestEveryTruncation(t *testing.T) {
	d, r := newLog(t, 1)
	for _, name := range []string{firstSegment, crashDir + "/END", crashDir + "/LOCK"} {
		b, _ := d.ReadFile(name)
		var n tally
		step := 7
		if *exhaustive {
			step = 1
		}
		if name == firstSegment {
			step *= 61
		}
		for size := 0; size < len(b); size += step {
			e := d.Clone(memfs.Random(1), 1)
			e.WriteFile(name, b[:size])
			if err := n.judge(e, r); err != nil {
				t.Fatalf("%s cut to %d bytes: %v", name, size, err)
			}
		}
		t.Logf("%s: %d truncations survived, %d were rejected", name, n.whole, n.refused)
		if (name == firstSegment) != (n.whole == 0) || (name != firstSegment) != (n.refused == 0) {
			t.Errorf("%s: %d truncations survived, %d were rejected; want all of one kind", name, n.whole, n.refused)
		}
	}
	for _, name := range []string{firstSegment, crashDir + "/END", crashDir + "/LOCK"} {
		e := d.Clone(memfs.Random(1), 1)
		e.RemoveFile(name)
		var n tally
		if err := n.judge(e, r); err != nil || (name == firstSegment) != (n.refused == 1) {
			t.Errorf("%s removed: got %+v, %v; want a rejection only if it is the segment", name, n, err)
		}
	}
}

const (
	combinations = 300 / raceFactor // maximum number of outcomes of one crash that are tried in order
	samples      = 40 / raceFactor  // random outcomes that are tried in addition if that maximum is reached
)

// TestEverySubsetOfSectors runs a writer that creates a log, appends, rotates, stops and
// opens the log again. The test crashes the machine at each operation that changes
// something. For each crash it tries every outcome for the sectors and names in flight,
// or a sample if there are too many.
func TestEverySubsetOfSectors(t *testing.T) {
	combinations, samples := combinations, samples
	if *exhaustive {
		combinations, samples = 10*combinations, 10*samples
	} else if !longtest.Form(t, "seven of eight outcomes of each crash") {
		combinations, samples = combinations/8, samples/8
	}
	var ops []memfs.Op
	var r run
	p := memfs.New(0).Process()
	p.Plan(func(_ int, op memfs.Op, _ string) memfs.Fault { ops = append(ops, op); return memfs.Fault{} })
	if err := r.work(p, 2, 7); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(ops, memfs.OpRename) || len(ops) < 100 {
		t.Fatal("the scenario does not rotate")
	}
	const shards = 8 // enough to keep all cores busy to the end
	var counts [shards]crashCounts
	t.Cleanup(func() {
		var sum crashCounts
		for _, c := range counts {
			sum.all, sum.points, sum.sampled = sum.all+c.all, sum.points+c.points, sum.sampled+c.sampled
		}
		t.Logf("%d crashes at %d operations: at %d in all possible ways, at %d in a sample", sum.all, sum.points, sum.points-sum.sampled, sum.sampled)
	})
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for n := shard; n < len(ops); n += shards {
				counts[shard].crashAt(t, ops[n], n, combinations, samples)
			}
		})
	}
}

// crashCounts counts crashes, the operations at which they occurred, and the operations
// with only a sample of outcomes.
type crashCounts struct{ all, points, sampled int }

// crashAt crashes the machine at operation n, with every outcome or a sample.
func (counts *crashCounts) crashAt(t *testing.T, op memfs.Op, n, combinations, samples int) {
	switch op {
	case memfs.OpRead, memfs.OpSize, memfs.OpList, memfs.OpOpen, memfs.OpBoot, memfs.OpClose, memfs.OpLocked:
		return // nothing new is in flight
	}
	counts.points++
	d, r := killedAt(t, n)
	c, tried := new(memfs.Choices), 0
	for ; tried < combinations && c.Next(); tried++ {
		crashOnce(t, d.Clone(c, uint64(tried)), r, n, tried)
	}
	if counts.all += tried; tried < combinations {
		return
	}
	counts.sampled++
	for seed := range uint64(samples) {
		crashOnce(t, d.Clone(memfs.Random(seed), seed), r, n, int(seed))
	}
	counts.all += samples
}

// killedAt returns a disk whose writer was killed at its n-th operation.
func killedAt(t *testing.T, n int) (*memfs.Disk, run) {
	d := memfs.New(uint64(n))
	p := d.Process()
	p.Plan(memfs.KillAt(n))
	var r run
	if memfs.Survives(func() { r.work(p, 2, 7) }) {
		t.Fatalf("operation %d is never reached", n)
	}
	return d, r
}

func crashOnce(t *testing.T, d *memfs.Disk, r run, n, which int) {
	t.Helper()
	d.Crash()
	d.Decide(memfs.Random(uint64(which))) // the choices of the clone are used up
	if err := r.recovers(d); err != nil {
		t.Fatalf("crash at operation %d, fate %d: %v", n, which, err)
	}
}

// TestCrashWhileRecovering kills the process four times in a row, each time at a
// random operation of the recovery or of the work after it. Usually the machine
// crashes too.
func TestCrashWhileRecovering(t *testing.T) {
	rounds := uint64(400 / raceFactor)
	if *exhaustive {
		rounds *= 10
	}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := memfs.New(seed)
		var r run
		for range 4 {
			p := d.Process()
			p.Plan(memfs.KillAt(rng.IntN(120)))
			now := run{acked: r.acked, begun: r.begun}
			memfs.Survives(func() {
				if err := now.work(p, 1, 1+rng.IntN(6)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			})
			r.acked, r.begun = max(r.acked, now.acked), max(r.begun, now.begun)
			p.Kill()
			if rng.IntN(3) > 0 {
				d.Crash()
			}
		}
		if err := r.recovers(d); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSyncThatLies tests these tests: on a disk whose syncs do nothing, they
// must find that crashes lose commits.
func TestSyncThatLies(t *testing.T) {
	lost := 0
	for seed := range uint64(40) {
		d := memfs.New(seed)
		d.SyncLies = true
		var r run
		if err := r.work(d.Process(), 1, 4); err != nil {
			t.Fatal(err)
		}
		d.Crash()
		d.SyncLies = false
		if err := r.recovers(d); err != nil && (errors.Is(err, errLost) || wellRefused(err) == nil) {
			lost++
		}
	}
	if lost < 30 {
		t.Errorf("only %d of 40 crashes of a lying disk were detected, want at least 30", lost)
	}
}
