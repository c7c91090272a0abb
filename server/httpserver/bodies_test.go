package httpserver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"assetledger/ledger"
)

// TestBodiesAreReused checks that the buffer of a large body is reused after a large
// response, and after a request that ended without one.
func TestBodiesAreReused(t *testing.T) {
	for _, end := range []func(*Exchange){(*Exchange).write, (*Exchange).release} {
		emptySpares(t)
		x := newExchange(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
		x.Claim = NewBudget(1 << 30).Claim()
		body := make([]byte, 900_000)
		x.Body, x.Out = body, make([]byte, 2*TinyClaim)
		end(x)
		if x.Body != nil {
			t.Error("the exchange keeps the body, and nothing counts it")
		}
		if again := takeBody(890_000); &again[:1][0] != &body[0] {
			t.Error("the buffer was not used again")
		}
	}
}

// However many bodies there are at once, the total size of the spare buffers is bounded,
// and the newest ones are kept.
func TestSpareBodiesAreBounded(t *testing.T) {
	emptySpares(t)
	for _, size := range []int{leastSpare - 1, 3 << 20, 3 << 20, leastSpare, keepBody, keepBody + 1, 3 << 20} {
		spareBody(make([]byte, size))
	}
	var sizes []int
	for _, b := range spareBodies.list {
		sizes = append(sizes, cap(b))
	}
	if len(sizes) != 3 || sizes[0] != leastSpare || sizes[1] != keepBody || sizes[2] != 3<<20 || spareBodies.size != sizes[0]+sizes[1]+sizes[2] {
		t.Errorf("%d are kept, %d bytes in all; want the three newest that fit into %d", sizes, spareBodies.size, mostSpare)
	}
	if b := takeBody(1 << 20); cap(b) != 1<<20 {
		t.Errorf("a body of 1 MiB got a buffer of %d bytes, want 1 MiB", cap(b))
	}
}

// A body that waits for the budget holds no memory for bytes that it has not received.
func TestBodyWaitsWithoutMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		emptySpares(t)
		budget := NewBudget(16 * mib)
		budget.claim(t, 64*mib) // a lone claim may exceed the budget
		const size = 3 * mib
		spareBody(make([]byte, size+1))
		x := newExchange(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, size))))
		x.Claim = budget.Claim()
		x.Body = make([]byte, 0, 2*mib)
		if err := x.ReadBody(size); err == nil || err.Code != ledger.Overloaded {
			t.Fatalf("reading returned %v, want Overloaded", err)
		}
		if len(spareBodies.list) != 1 {
			t.Error("a buffer was taken before there was room for it")
		}
	})
}

func emptySpares(t *testing.T) {
	empty := func() { spareBodies.list, spareBodies.size = nil, 0 }
	empty()
	t.Cleanup(empty)
}
