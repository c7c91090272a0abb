package writer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Many clients read a response only after they have sent their whole request.
// They must be able to send all of it and then find the response, whatever the
// size of a body that was rejected unread.
func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog())
	const json, large = "Content-Type: application/json\r\n", 20 << 20 // far more than the buffers of two sockets hold
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", large, strings.Repeat(" ", large))
	spaces, length := strings.Repeat(" ", large), fmt.Sprintf("Content-Length: %d\r\n", large)
	for _, c := range []struct {
		about, path, head, body string
		status                  int
	}{
		{"too large", "/v1/commit", json + length, spaces, 413},
		{"too large, in chunks", "/v1/commit", json + "Transfer-Encoding: chunked\r\n", chunk, 413},
		{"too large a batch", "/v1/commit/batch", json + "Content-Length: 67108865\r\n", strings.Repeat(" ", 67108865), 413},
		{"of a wrong type", "/v1/commit", "Content-Type: text/plain\r\n" + length, spaces, 415},
		{"of no type, in chunks", "/v1/commit", "Transfer-Encoding: chunked\r\n", chunk, 415},
		{"to no path", "/v1/none", json + length, spaces, 404},
		{"to a path without POST", "/v1/health", json + length, spaces, 405},
	} {
		head := "POST " + c.path + " HTTP/1.1\r\nHost: x\r\n" + c.head + "\r\n"
		for _, first := range []string{head + c.body, head} { // the second client waits for the response before it sends the body, and so sends none
			if first == head && strings.Contains(head, "chunked") && c.status == 413 {
				continue // the daemon can't tell yet that the body is too large
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(conn, first); err != nil {
				t.Errorf("%s: sending %d bytes: %v", c.about, len(first), err)
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				conn.Close() // otherwise the daemon would wait for the rest
				t.Fatalf("%s: no response: %v", c.about, err)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != c.status || !r.Close || !bytes.HasPrefix(body, []byte(`{"error":`)) {
				t.Errorf("%s: error %v, status %d, close %v: %s; want status %d, close, and an error in JSON", c.about, err, r.StatusCode, r.Close, body, c.status)
			}
			conn.Close()
		}
	}
}
