package reader

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// deepLog returns a log in which container 1 has thousands of stacks, and container
// 2 has one.
func deepLog(t *testing.T) *memLog {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=gold", "CreateContainer container_id=1 kind=Standard", "CreateContainer container_id=2 kind=Standard",
		"AddFungible container_id=2 class_id=1 key=1 quantity=1")
	for at := range 10 {
		var ops []string
		for key := at * 1000; key < (at+1)*1000; key++ {
			ops = append(ops, fmt.Sprintf("AddFungible container_id=1 class_id=1 key=%d quantity=1", key))
		}
		w.commit(ops...)
	}
	return log
}

const (
	deep    = "/v1/read/container/1/balances?limit=1&at_seq=11"
	shallow = "/v1/read/container/2/balances?limit=1&at_seq=11"
)

// TestPastTakesTurns checks that a read of the past that must rebuild a large
// container waits for its turn, but no longer than its client does. Reads of
// small containers, and of a container's own record, need no turn.
func TestPastTakesTurns(t *testing.T) {
	r := startReader(t, deepLog(t), func(d *daemon) { d.pasts = make(pastTurns, 1) })
	r.until(11)
	r.get(http.StatusOK, deep)
	if len(r.pasts) != 0 {
		t.Fatal("the turn was not released")
	}
	r.pasts <- struct{}{} // taken by another read
	r.get(http.StatusOK, shallow)
	if body := r.get(http.StatusOK, "/v1/read/container/1?at_seq=11"); !strings.Contains(body, `"stacks":10000`) {
		t.Errorf("%s, want 10,000 stacks", body)
	}
	for _, target := range []string{deep, "/v1/read/container/1/history?key=77"} {
		ctx, gone := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
		}()
		gone()
		<-ended
		if len(r.pasts) != 1 {
			t.Fatalf("%s took the turn of another read", target)
		}
	}
	<-r.pasts
	r.get(http.StatusOK, deep)
}

// TestPastIsCharged checks that the memory of a read that rebuilds a large container
// counts against the budget. While other claims leave no room for such a read, it is
// rejected, but small reads are not.
func TestPastIsCharged(t *testing.T) {
	t.Parallel()
	r := startReader(t, deepLog(t), smallBudget(1<<20))
	r.until(11)
	others := r.api.Budget.Claim()
	if !others.Grow(200 << 10) {
		t.Fatal("no room")
	}
	r.get(http.StatusOK, shallow)
	if body := r.get(http.StatusServiceUnavailable, deep); !strings.Contains(body, `"Overloaded"`) {
		t.Errorf("while others use the budget: %s, want Overloaded", body)
	}
	if r.api.Budget.Waits.Load() == 0 {
		t.Error("nobody was counted as waiting")
	}
	others.Release()
	r.get(http.StatusOK, deep)
	if used := r.api.Budget.Used(); used != 0 || len(r.pasts) != 0 {
		t.Errorf("%d bytes and %d turns are still held", used, len(r.pasts))
	}
}

// TestShortListsGetThrough checks that a list claims memory for its actual length,
// and not for its maximum. So short lists can be read while other claims leave no room
// for a long one.
func TestShortListsGetThrough(t *testing.T) {
	t.Parallel()
	r := startReader(t, deepLog(t), smallBudget(512<<10))
	r.until(11)
	others := r.api.Budget.Claim()
	if !others.Grow(300 << 10) {
		t.Fatal("no room")
	}
	r.get(http.StatusOK, "/v1/read/container/2/balances?limit=10000")
	r.get(http.StatusOK, "/v1/read/container/1/balances?limit=100")
	if body := r.get(http.StatusServiceUnavailable, "/v1/read/container/1/balances?limit=10000"); !strings.Contains(body, `"Overloaded"`) {
		t.Errorf("a long list: %.200s, want Overloaded", body)
	}
	others.Release()
	if body := r.get(http.StatusOK, "/v1/read/container/1/balances?limit=10000"); strings.Count(body, `"key"`) != 10_000 {
		t.Errorf("%d stacks are listed, want 10,000", strings.Count(body, `"key"`))
	}
}
