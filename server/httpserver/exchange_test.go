package httpserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"assetledger/ledger"
)

// TestWhyIncomplete checks that a message about a body has no socket addresses.
func TestWhyIncomplete(t *testing.T) {
	from, to := &net.TCPAddr{Port: 8080}, &net.TCPAddr{Port: 36819}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "read", Net: "tcp", Source: from, Addr: to, Err: os.ErrDeadlineExceeded}, "the rest did not arrive in time"},
		{&net.OpError{Op: "read", Net: "tcp", Source: from, Addr: to, Err: errors.New("connection reset by peer")}, "connection reset by peer"},
		{io.ErrUnexpectedEOF, "unexpected EOF"},
	} {
		if got := WhyIncomplete(test.err); got != test.want {
			t.Errorf("%v is reported as %q, want %q", test.err, got, test.want)
		}
	}
}

// TestStalledBody checks that a client that stops in the middle of a body gets an error
// that says so.
func TestStalledBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := unwatchServer(t, new(atomic.Int32), func(x *Exchange) *ledger.Error { return x.ReadBody(100) })
		go io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
		r, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != 400 || !strings.Contains(string(body), `"The body is incomplete: the rest did not arrive in time."`) {
			t.Errorf("%d: %s, want 400, and that the rest did not arrive in time", r.StatusCode, body)
		}
	})
}
