package httpserver

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"assetledger/ledger"
)

// TestTogether checks that what a handler writes and flushes within Together
// arrives whole and in order, and in one piece if it is short.
func TestTogether(t *testing.T) {
	for _, size := range []int{0, 1, 100, 4094, 4096, 8000, 9000, 40_000, 80_000, 100_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			text := strings.Repeat("0123456789", size/10+1)[:size]
			client := unwatchServer(t, new(atomic.Int32), func(x *Exchange) *ledger.Error {
				control := http.NewResponseController(x.W)
				x.Written = true
				control.Flush() // the header
				if err := x.Together(func() error {
					x.W.Write([]byte(text))
					return control.Flush()
				}); err != nil {
					t.Error(err)
				}
				return nil
			})
			go io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
			buf := make([]byte, 64<<10)
			readPiece(t, client, buf) // the header
			want := fmt.Appendf(nil, "%x\r\n%s\r\n", size, text)
			if size == 0 {
				want = nil
			}
			want = append(want, "0\r\n\r\n"...)
			var got []byte
			for pieces := 1; !bytes.HasSuffix(got, []byte("0\r\n\r\n")); pieces++ {
				got = append(got, readPiece(t, client, buf)...)
				if pieces == 1 && 0 < size && size <= 8000 && len(got) != len(want)-len("0\r\n\r\n") {
					t.Errorf("the first piece has %d bytes, want all %d of the chunk", len(got), len(want)-len("0\r\n\r\n"))
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes arrived, want %d", len(got), len(want))
			}
		})
	}
}

// writes is a connection that keeps what each call of Write sends.
type writes struct {
	writeCloser
	pieces []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.pieces = append(w.pieces, string(p))
	return len(p), nil
}

// TestGathering checks that the bytes written during gathering are sent in order, and
// in one call if they are at most 96 KiB. No buffer is kept.
func TestGathering(t *testing.T) {
	for _, sizes := range [][]int{{}, {1}, {6, 80_000, 2}, {gatherBytes}, {gatherBytes, 1}, {5, gatherBytes, 7}, {6, gatherBytes + 1}} {
		to := &writes{}
		c := &Tracked{writeCloser: to}
		c.gathered.on.Store(true)
		want := ""
		for i, size := range sizes {
			text := strings.Repeat(string(rune('a'+i)), size)
			want += text
			if n, err := io.WriteString(c, text); n != size || err != nil {
				t.Fatalf("wrote %d of %d bytes: %v", n, size, err)
			}
		}
		if err := c.sendGathered(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(to.pieces, ""); got != want || want != "" && len(want) <= 96<<10 && len(to.pieces) != 1 {
			t.Errorf("%v: %d bytes in %d pieces, want %d", sizes, len(got), len(to.pieces), len(want))
		}
		if io.WriteString(c, "x"); c.gathered.bytes != nil || to.pieces[len(to.pieces)-1] != "x" {
			t.Errorf("%v: what is written after the end is gathered", sizes)
		}
	}
}

// readPiece reads what one write sent.
func readPiece(t *testing.T, client net.Conn, buf []byte) []byte {
	t.Helper()
	n, err := client.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// TestTogetherReportsErrors checks that Together fails if the client is gone, even
// if what was written was only gathered.
func TestTogetherReportsErrors(t *testing.T) {
	failed := make(chan bool)
	client := unwatchServer(t, new(atomic.Int32), func(x *Exchange) *ledger.Error {
		control := http.NewResponseController(x.W)
		x.Written = true
		control.Flush()
		<-failed
		failed <- x.Together(func() error {
			io.WriteString(x.W, "text")
			return control.Flush()
		}) != nil
		return nil
	})
	go io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	readPiece(t, client, make([]byte, 64<<10))
	client.Close()
	failed <- true
	if !<-failed {
		t.Error("Together returned no error, although the client has disconnected")
	}
}
