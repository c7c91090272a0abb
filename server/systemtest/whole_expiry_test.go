package systemtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	expiryRounds = 3
	expiryHolds  = 200 // made in each round; they expire within the next two seconds
)

// A readCommit has the fields of a commit that these tests need.
type readCommit struct {
	GlobalSeq   int64     `json:"global_seq"`
	CommittedAt time.Time `json:"committed_at"`
	Principal   string
	Operations  []struct {
		Op   string
		Args struct {
			HoldID    int64 `json:"hold_id"`
			ExpiresAt int64 `json:"expires_at"`
		}
	}
}

// released reads the whole log through a read daemon, and returns the commit
// that ended each hold, and the open holds. The test fails if a hold ended
// twice, too early, or by a commit that is not the ledger's own.
func released(t *testing.T, reader string, end int64) (ended map[int64]int64, open map[int64]time.Time) {
	t.Helper()
	var page struct {
		Data struct{ Commits []readCommit }
	}
	mustGet(t, fmt.Sprintf("%s/v1/read/commits?limit=10000&min_seq=%d&wait=20s", reader, end), &page)
	ended, open = map[int64]int64{}, map[int64]time.Time{}
	for _, c := range page.Data.Commits {
		for _, op := range c.Operations {
			id := op.Args.HoldID
			switch op.Op {
			case "HoldFungible":
				open[id] = time.Unix(op.Args.ExpiresAt, 0)
			case "ReleaseHold":
				if due, is := open[id]; !is || c.CommittedAt.Before(due) || c.Principal != "ledger" {
					t.Errorf("commit %d of %q releases hold %d at %v, but it expires at %v", c.GlobalSeq, c.Principal, id, c.CommittedAt, due)
				}
				delete(open, id)
				ended[id] = c.GlobalSeq
			}
		}
	}
	return ended, open
}

// TestHoldsExpireThroughKills kills the write daemon while holds expire. Each
// time it starts, it must release what expired in the meantime before it accepts
// requests; with -expire=false it must not. In the end, each hold must have been
// released once, in time.
func TestHoldsExpireThroughKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir)
	mustCommit(t, w.url, `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},`+
		`{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard"}},{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1000}}]}`)
	id := 0
	for round := range expiryRounds {
		const commits = 10
		before := logEnd(t, w.url)
		for range commits {
			var holds []string
			for i := range expiryHolds / commits {
				id++
				holds = append(holds, fmt.Sprintf(`{"op":"HoldFungible","args":{"hold_id":%d,"container_id":1,"class_id":1,"key":0,"quantity":1,"expires_in":%d}}`, id, 1+i%2))
			}
			mustCommit(t, w.url, `{"operations":[`+strings.Join(holds, ",")+`]}`)
		}
		awaits(t, "a hold expires", func() bool { return logEnd(t, w.url) > before+commits })
		w.kill()
		awaits(t, "all have expired", func() bool { return time.Now().Unix() > lastEnd(t, r.url, before+commits) })
		if round == 0 {
			kept := startProcess(t, "ledger-write", "-dir", dir, "-segment-size", fmt.Sprint(testSegment), "-expire=false")
			before := logEnd(t, kept.url)
			mustCommit(t, kept.url, `{"operations":[{"op":"CreateContainer","args":{"container_id":2,"kind":"Standard"}}]}`)
			if end := logEnd(t, kept.url); end != before+1 {
				t.Errorf("with -expire=false the log continued from commit %d to %d, want only the next commit", before, end)
			}
			kept.kill()
		}
		w = startWriteProcess(t, dir)
		ended, left := released(t, r.url, logEnd(t, w.url))
		if len(ended) != id || len(left) != 0 {
			t.Fatalf("round %d: of %d holds, %d have ended, and these are left: %v", round, id, len(ended), left)
		}
	}
	w.stop(t)
	r.stop(t)
	if code, out, words := runProgram(t, "ledgerctl", "wal", "verify", "-dir", dir); code != 0 {
		t.Errorf("ledgerctl wal verify: exit code %d, want 0: %s%s", code, out, words)
	}
}

// awaits polls until cond is true, for at most a minute.
func awaits(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// lastEnd waits until a read daemon has applied the commit numbered end. It returns
// the latest expiry of the holds that the daemon shows, in Unix seconds, or 0 if there
// is no hold.
func lastEnd(t *testing.T, reader string, end int64) (last int64) {
	t.Helper()
	var page struct {
		Data struct {
			Holds []struct {
				ExpiresAt time.Time `json:"expires_at"`
			}
		}
	}
	mustGet(t, fmt.Sprintf("%s/v1/read/container/1/holds?limit=1000&min_seq=%d&wait=20s", reader, end), &page)
	for _, h := range page.Data.Holds {
		last = max(last, h.ExpiresAt.Unix())
	}
	return last
}
