package writer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/wal"
)

// vault returns a transaction that creates the world with one hold for each element of
// ends, which is the text after quantity in HoldFungible. The holds are numbered from
// 1.
func vault(ends ...string) string {
	ops := world[:len(world)-len("]}")]
	for i, end := range ends {
		ops += fmt.Sprintf(`,{"op":"HoldFungible","args":{"hold_id":%d,"container_id":1,"class_id":1,"key":0,"quantity":1%s}}`, i+1, end)
	}
	return ops + "]}"
}

func expiresAt(second int64) string { return fmt.Sprintf(`,"expires_at":%d`, second) }

// newVault returns a bench with holds. Its clock is stopped at second 100.
func newVault(t *testing.T, l *ramLog, ends ...string) (b *bench, now *int64) {
	b, now = newBench(t, l), new(int64)
	*now = 100 * int64(time.Second)
	b.now = func() int64 { return *now }
	b.submit(vault(ends...))
	b.step()
	b.syncOne()
	return b, now
}

// expirations lists the commits that the ledger itself made, as "seq: holds".
func expirations(t *testing.T, frames []wal.Frame) (list []string) {
	t.Helper()
	for _, f := range frames {
		err := f.Each(func(seq uint64, record []byte) error {
			var rec ledger.Record
			if err := rec.Decode(record); err != nil {
				return err
			}
			if string(rec.Tx.Principal) != ledger.PrincipalLedger {
				return nil
			}
			text := fmt.Sprintf("%d:", seq)
			for _, op := range rec.Tx.Ops {
				text += fmt.Sprintf(" %d", op.Args[ledger.HoldID])
			}
			list = append(list, text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func wantExpirations(t *testing.T, l *ramLog, want ...string) {
	t.Helper()
	if got := expirations(t, l.written()); !slices.Equal(got, want) {
		t.Errorf("released %q, want %q", got, want)
	}
}

// A running ledger releases each hold within a second of its expiry, never before it,
// and without any request.
func TestHoldsExpireInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRAMLog()
		b := newBench(t, l)
		b.start()
		ends := []string{`,"expires_in":10`, "", `,"expires_in":3600`, `,"expires_in":10`, expiresAt(time.Now().Unix() + 3600)}
		_, g := b.submit(vault(ends...))
		<-g.done
		start := time.Now()
		for _, c := range []struct {
			after time.Duration
			want  []string
		}{
			{10*time.Second - 1, nil}, {11 * time.Second, []string{"2: 1 4"}},
			{3600*time.Second - 1, []string{"2: 1 4"}}, {3601 * time.Second, []string{"2: 1 4", "3: 3 5"}}, {100 * time.Hour, []string{"2: 1 4", "3: 3 5"}},
		} {
			time.Sleep(time.Until(start.Add(c.after)))
			synctest.Wait()
			wantExpirations(t, l, c.want...)
		}
		b.stop()
		if at, ok := b.state.NextExpiry(); ok {
			t.Errorf("a hold remains, which expires at %d", at)
		}
	})
}

// Requests get a turn between two commits that release holds. None of these
// commits is larger than the log permits.
func TestExpiryTakesTurns(t *testing.T) {
	l := newRAMLog()
	b, now := newVault(t, l, expiresAt(101), expiresAt(101), expiresAt(102), expiresAt(103), expiresAt(200))
	b.maxBody = releaseRest + 2*releaseBytes
	*now = 150 * int64(time.Second)
	for i, want := range []time.Duration{0, 0, expiryCheck} {
		if got := b.expire(); got != want {
			t.Errorf("call %d: %v, want %v", i, got, want)
		}
		for b.inFlight != nil {
			b.syncOne()
		}
	}
	wantExpirations(t, l, "2: 1 2", "3: 3 4")
}

// The commit that releases a hold has a time at or after the hold's end,
// whichever batch is filling and however the clock is set.
func TestExpiryFollowsTheTimeOfTheLog(t *testing.T) {
	l := newRAMLog()
	b, now := newVault(t, l, expiresAt(110), expiresAt(120))
	b.submit(transferTx(1, ""))
	b.step() // now in flight
	b.submit(transferTx(1, ""))
	b.step() // now filling; it began at second 100
	*now = 115 * int64(time.Second)
	if wait := b.expire(); wait <= 0 {
		t.Error("a hold is released in a batch that began before its end")
	}
	b.syncOne()
	if wait := b.expire(); wait != 0 {
		t.Errorf("after the batch was handed over, expire returned %v, want 0", wait)
	}
	b.syncOne()
	b.syncOne()
	*now = 50 * int64(time.Second) // set back: the log's time does not go back
	if wait := b.expire(); wait <= 0 || wait > expiryCheck {
		t.Errorf("after the clock was set back, expire returned %v, want more than 0 and at most %v", wait, expiryCheck)
	}
	*now = 120 * int64(time.Second)
	b.expire()
	b.syncOne()
	wantExpirations(t, l, "4: 1", "5: 2")
	for _, f := range l.written() {
		if f.Last() >= 4 && f.Time < int64(100+10*(f.Last()-3))*int64(time.Second) {
			t.Errorf("commit %d is dated %d, before the end of its hold", f.Last(), f.Time)
		}
	}
}

// No hold is released while the log accepts nothing, while the daemon is stopping, or if
// -expire is false. The sequencer does not spin then.
func TestNothingExpiresWithoutALog(t *testing.T) {
	for what, spoil := range map[string]func(*bench){
		"no room":    func(b *bench) { b.log.set(nil, wal.ErrNoSpace) },
		"stalled":    func(b *bench) { b.stalled = diskFull },
		"failed":     func(b *bench) { b.failed = noSpace },
		"stopping":   func(b *bench) { b.intake.refuse(shuttingDown) },
		"turned off": func(b *bench) { b.keepExpired = true },
	} {
		l := newRAMLog()
		b, now := newVault(t, l, expiresAt(110))
		*now = 115 * int64(time.Second)
		spoil(b)
		if wait := b.expire(); wait == 0 || !b.filling.empty() || b.inFlight != nil {
			t.Errorf("%s: wait %v, batch empty: %v; want a wait other than 0, and no release", what, wait, b.filling.empty() && b.inFlight == nil)
		}
		if _, ok := b.state.NextExpiry(); !ok {
			t.Errorf("%s: the hold is gone", what)
		}
	}
}

// Holds that expired while the ledger was stopped are released, durably, before
// the first request is judged. With -expire=false they stay.
func TestExpiryAtStart(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", vault(expiresAt(110), expiresAt(120), `,"expires_in":1000`))
	w.stop()
	settle := `{"operations":[{"op":"SettleHold","args":{"hold_id":1,"to_container":2,"keep":true}}]}`
	l.log.Truncate(1) // as if the ledger had been killed before it released the holds, which expired long ago

	kept := startWriter(t, l, func(c *Config) { c.Expire = false })
	<-kept.seq().caughtUp.done
	kept.post(200, "/v1/commit/preflight", settle)
	kept.stop()
	wantExpirations(t, l)

	again := startWriter(t, l)
	<-again.seq().caughtUp.done
	wantExpirations(t, l, "2: 1 2")
	if a := again.post(404, "/v1/commit", settle); a.code() != string(ledger.HoldNotFound) {
		t.Errorf("settling a released hold: %s, want HoldNotFound", a.body)
	}
	if text := again.do("GET", "/v1/metrics", "").body; !strings.Contains(text, `operations_total{op="ReleaseHold"} 2`) {
		t.Error("the metrics don't count what the ledger released")
	}
}

// A Core releases holds by its caller's clock, in its own steps.
func TestCoreExpires(t *testing.T) {
	now, l := int64(100*time.Second), newRAMLog()
	c := NewCore(l, ledger.NewState(ledger.Config{}), 8, func() int64 { return now }, func(*wal.Frame) {})
	var tx ledger.Transaction
	if err := ledger.ParseTransaction([]byte(vault(expiresAt(110))), &tx, ledger.ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Submit(&tx); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.Judge()
		c.Sync()
	}
	wantExpirations(t, l)
	now = int64(110 * time.Second)
	for range 3 {
		c.Judge()
		c.Sync()
	}
	wantExpirations(t, l, "2: 1")
	if !c.Stop() {
		t.Error("Stop returned false, although nothing is in progress")
	}
}
