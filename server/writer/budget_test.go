package writer

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// A response counts against the budget until the client has read it. A response that
// nobody reads is dropped when others need the memory.
func TestUnreadAnswersAreCounted(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 16 << 20 })
	w.post(200, "/v1/commit", world)
	txs := make([]string, 999)
	for i := range txs {
		txs[i] = transferTx(1, fmt.Sprintf(`,"metadata":{"%d":"%s"}`, i, strings.Repeat("x", 12_000)))
	}
	body := batchOf("", txs...)
	conn, err := net.Dial("tcp", w.srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "POST /v1/commit/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	answer := int64(999 * 12_000)
	until(t, "the answer is being written, and the body is released", func() bool {
		return w.inflight.Load() == 0 && w.budget.Used() > answer && w.budget.Used() < answer*3/2
	})
	until(t, "another request gets through, although it needs more than is left", func() bool {
		a, err := w.try("POST", "/v1/commit/batch", body)
		return err == nil && a.status == 200
	})
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
}

// Slow large bodies don't block small ones. The slow ones are dropped when another
// large body needs their memory.
func TestSlowLargeBodies(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 32 << 20 })
	w.post(200, "/v1/commit", world)
	const promised = 20 << 20
	for range 2 {
		conn, err := net.Dial("tcp", w.srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go fmt.Fprintf(conn, "POST /v1/commit/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			promised, strings.Repeat(" ", promised-1))
	}
	until(t, "the budget is full", func() bool { return w.budget.Used() > 20<<20 })
	w.post(200, "/v1/commit", transferTx(1, ""))
	large := strings.Repeat(" ", 8<<20) + batchOf("", transferTx(1, ""))
	until(t, "a large body gets through", func() bool {
		a, err := w.try("POST", "/v1/commit/batch", large)
		return err == nil && a.status == 200
	})
}
