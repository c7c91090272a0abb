package writer

import (
	"testing"

	"assetledger/ledger"
	"assetledger/server/commitlog"
)

// TestRefusalsAreConfirmed checks that a rejection is sent only if the log confirms,
// after the request was judged, that no other daemon has become the writer. A batch
// in flight does not prove that: it may have been appended earlier.
func TestRefusalsAreConfirmed(t *testing.T) {
	for name, appended := range map[string]func(*bench){
		"nothing is in flight":         func(b *bench) { b.syncOne() },
		"a batch was appended":         func(b *bench) { b.sync.append(b.inFlight) },
		"its clients are answered too": func(b *bench) { b.sync.append(b.inFlight); b.inFlight.settle(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, newRAMLog())
			_, first := b.submit(world)
			b.step()
			appended(b)
			b.log.fenced = commitlog.ErrFenced
			_, g := b.submit(transferTx(5000, ""))
			b.step()
			if b.inFlight != nil {
				b.inFlight.settle(nil)
			}
			if !isDone(first) || first.err != nil {
				t.Errorf("the previous commit: done %v, error %v; want done and no error", isDone(first), first.err)
			}
			if !isDone(g) || code(g.err) != ledger.LogUnavailable {
				t.Errorf("the rejection, although another daemon writes: done %v, error %v; want LogUnavailable", isDone(g), g.err)
			}
		})
	}
}
