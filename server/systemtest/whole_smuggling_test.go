package systemtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// talk sends text on a new connection, then nothing more. It returns everything
// that the daemon sends until it closes the connection. The close may arrive as a
// reset, because the daemon does not read to the end.
func talk(t *testing.T, url, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(c, text)
	c.(*net.TCPConn).CloseWrite()
	said, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%.100q: %v", text, err)
	}
	return string(said)
}

// smuggled is a request that a proxy in front of the daemon would not notice if the
// two disagreed about where the request before it ends.
const (
	smuggledBody = `{"operations":[{"op":"CreateContainer","args":{"container_id":666,"kind":"Standard"}}]}`
	smuggled     = "POST /v1/commit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 87\r\n\r\n" + smuggledBody
)

// TestSmuggling sends requests on whose end two parsers may disagree. They must be
// rejected, and nothing that follows them may be executed.
func TestSmuggling(t *testing.T) {
	w := newWorld(t, "write")
	if len(smuggledBody) != 87 {
		t.Fatalf("the smuggled body has %d bytes, want the 87 of its Content-Length", len(smuggledBody))
	}
	const chunked = "Transfer-Encoding: chunked\r\n"
	for _, c := range []struct {
		about, head, body string
		status            int
		code              string // of the ledger's own response, or "" for a response of net/http
	}{
		{"both kinds of length", "Content-Length: 5\r\n" + chunked, "0\r\n\r\n", 400, "MalformedJSON"},
		{"both kinds of length, the other way round", chunked + "Content-Length: 5\r\n", "0\r\n\r\n", 400, "MalformedJSON"},
		{"capitals", "Content-Length: 5\r\nTransfer-Encoding: CHUNKED\r\n", "0\r\n\r\n", 400, "MalformedJSON"},
		{"two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n", "{}   ", 400, ""},
		{"a list of lengths", "Content-Length: 5, 5\r\n", "{}   ", 400, ""},
		{"a sign", "Content-Length: +5\r\n", "{}   ", 400, ""},
		{"negative", "Content-Length: -5\r\n", "", 400, ""},
		{"hexadecimal", "Content-Length: 0x5\r\n", "{}   ", 400, ""},
		{"beyond 64 bits", "Content-Length: 18446744073709551621\r\n", "{}   ", 400, ""},
		{"chunked twice", "Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n", 501, ""},
		{"two transfer encodings", chunked + chunked, "0\r\n\r\n", 501, ""},
		{"nearly chunked", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n", 501, ""},
		{"compressed and chunked", "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", 501, ""},
		{"identity", "Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "{}   ", 501, ""},
		{"a space before the colon", "Transfer-Encoding : chunked\r\n", "0\r\n\r\n", 400, ""},
		{"a control character", "Transfer-Encoding:\vchunked\r\n", "0\r\n\r\n", 400, ""},
		{"a folded line", "X-A: b\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n", 400, "MalformedJSON"},
		{"a zero byte in a name", "Content\x00-Length: 5\r\n", "{}   ", 400, ""},
		{"a zero byte in a value", "X-A: b\x00c\r\n", "", 400, ""},
		{"two hosts", "Host: y\r\n", "", 400, ""},
		{"chunks that end in a bare line feed", chunked, "2\n{}\n0\n\n", 400, "MalformedJSON"},
		{"a chunk that is too long", chunked, "2\r\n{}   \r\n0\r\n\r\n", 400, "MalformedJSON"},
		{"a chunk that is too short", chunked, "ffff\r\n{}", 400, "MalformedJSON"},
		{"a chunk of negative length", chunked, "-2\r\n{}\r\n0\r\n\r\n", 400, "MalformedJSON"},
		{"a chunk of length 0x2", chunked, "0x2\r\n{}\r\n0\r\n\r\n", 400, "MalformedJSON"},
		{"a chunk beyond 64 bits", chunked, "10000000000000002\r\n{}\r\n0\r\n\r\n", 400, "MalformedJSON"},
		{"a chunk of 2^63 bytes", chunked, "8000000000000000\r\n{}\r\n0\r\n\r\n", 400, "MalformedJSON"},
		{"trailers that would be headers", chunked, "2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n", 400, "InvalidRequest"},
	} {
		said := talk(t, w.write.url, "POST /v1/commit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+c.head+"\r\n"+c.body+smuggled)
		status, body := firstAnswer(said)
		if status != c.status || errorCode(body) != c.code {
			t.Errorf("%s: %.300q, want %d %s", c.about, said, c.status, c.code)
		}
		if strings.Contains(said, `"global_seq"`) {
			t.Errorf("%s: what followed was executed: %q", c.about, said)
		}
	}
	if a, err := get(http.DefaultClient, w.read.url+"/v1/read/container/666"); err != nil || a.status != 404 {
		t.Errorf("the smuggled container: %v %d %s, want 404", err, a.status, a.body)
	}
	// The smuggled request on its own is valid and would be executed.
	if said := talk(t, w.write.url, smuggled); !strings.Contains(said, `{"global_seq":1,`) {
		t.Errorf("the request on its own got %q, want commit 1", said)
	}
}

// TestSmugglingReads checks that a read whose end is in doubt gets only one response.
// A proxy could mistake a second one for the response to another client.
func TestSmugglingReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "write")
	const secret = "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, d := range []*daemon{w.read, w.write} {
		for about, head := range map[string]string{
			"both lengths":           fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 5+len(secret)),
			"a body in chunks":       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"two lengths":            "Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
			"chunks by another name": "Transfer-Encoding: xchunked\r\n\r\n",
			"a body of its length":   fmt.Sprintf("Content-Length: %d\r\n\r\n", len(secret)),
			"an upgrade":             "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nTransfer-Encoding: chunked\r\n\r\n",
		} {
			said := talk(t, d.url, "GET /v1/health HTTP/1.1\r\nHost: x\r\n"+head+secret)
			if n := strings.Count(said, "HTTP/1.1 "); n != 1 || strings.Contains(said, "openapi") {
				t.Errorf("%s: %d responses, want 1: %.300q", about, n, said)
			}
		}
	}
}

// firstAnswer returns the status and the body of the first of several
// responses.
func firstAnswer(said string) (status int, body string) {
	fmt.Sscanf(said, "HTTP/1.1 %d", &status)
	_, body, _ = strings.Cut(said, "\r\n\r\n")
	body, _, _ = strings.Cut(body, "HTTP/1.1 ")
	return status, body
}

// TestStrangeRequestLines checks that each request line gets a clear response: that of
// the path that it names, or an error.
func TestStrangeRequestLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "write")
	for _, d := range []*daemon{w.write, w.read} {
		for _, c := range []struct {
			line   string
			status int
			code   string
		}{
			{"GET /v1/health HTTP/1.1", 200, ""},
			{"GET http://elsewhere/v1/health HTTP/1.1", 200, ""}, // the form for proxies: the host is ignored
			{"GET /v1/health HTTP/1.0", 200, ""},
			{"GET /v1/%68ealth HTTP/1.1", 200, ""}, // the same path, spelled differently
			{"GET /v1/./health HTTP/1.1", 404, "NotFound"},
			{"GET /v1/../v1/health HTTP/1.1", 404, "NotFound"},
			{"GET /v1/%2e%2e/v1/health HTTP/1.1", 404, "NotFound"},
			{"GET /../../../../etc/passwd HTTP/1.1", 404, "NotFound"},
			{"GET /%2e%2e%2f%2e%2e%2fetc/passwd HTTP/1.1", 404, "NotFound"},
			{"GET /..%5c..%5cetc HTTP/1.1", 404, "NotFound"},
			{"GET //v1/health HTTP/1.1", 404, "NotFound"},
			{"GET /v1//health HTTP/1.1", 404, "NotFound"},
			{"GET /v1/health/ HTTP/1.1", 404, "NotFound"},
			{"GET /v1/health%00 HTTP/1.1", 404, "NotFound"},
			{"GET /v1/health%0d%0aX-A:%20b HTTP/1.1", 404, "NotFound"},
			{"GET /v1%2fhealth HTTP/1.1", 404, "NotFound"},
			{"GET /V1/HEALTH HTTP/1.1", 404, "NotFound"},
			{"GET /" + strings.Repeat("a", 50_000) + " HTTP/1.1", 404, "NotFound"},
			{"GET /v1/health%zz HTTP/1.1", 400, ""},
			{"GET  /v1/health HTTP/1.1", 400, ""},
			{"GET /v1/health", 400, ""},
			{"G\x00T /v1/health HTTP/1.1", 400, ""},
			{"GET /v1/health HTTP/9.1", 505, ""},
			{"GET /v1/health HTTP/1.1\r\nExpect: foo", 417, ""},
			{"GET /" + strings.Repeat("a", 200_000) + " HTTP/1.1", 431, ""},
			{"DELETE /v1/health HTTP/1.1", 405, "MethodNotAllowed"},
			{"TRACE /v1/health HTTP/1.1", 405, "MethodNotAllowed"},
			{"get /v1/health HTTP/1.1", 405, "MethodNotAllowed"},
			{"OPTIONS * HTTP/1.1", 404, "NotFound"},
			{"CONNECT elsewhere:443 HTTP/1.1", 404, "NotFound"},
			{"PRI * HTTP/2.0", 404, "NotFound"},
			{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, ""}, // TLS to a plain port
		} {
			said := talk(t, d.url, c.line+"\r\nHost: x\r\n\r\n")
			status, body := firstAnswer(strings.Replace(said, "HTTP/1.0 ", "HTTP/1.1 ", 1))
			if status != c.status || errorCode(body) != c.code {
				t.Errorf("%.80q: %.300q, want %d %s", c.line, said, c.status, c.code)
			}
			if len(said) > 60_000 || strings.Contains(said, "\nX-A:") {
				t.Errorf("%.80q: a response of %d bytes, want at most 60,000 and no header from the path", c.line, len(said))
			}
		}
	}
}

// TestRequestID checks that a request's id is sent back if it is short and
// safe to print, and that otherwise a new one is generated.
func TestRequestID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "write")
	made := map[string]bool{}
	for _, d := range []*daemon{w.write, w.read} {
		for _, sent := range []string{"a", "7f:3-ü", "order-12/3:~!", strings.Repeat("x", 128), strings.Repeat("x", 129), "", "a b", "a\tb"} {
			req, err := http.NewRequest("GET", d.url+"/v1/nothing", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header["X-Request-Id"] = []string{sent}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			got := res.Header["X-Request-Id"]
			if len(got) != 1 {
				t.Fatalf("id %q: the response has the ids %q, want one", sent, got)
			}
			if fit := sent == "a" || sent[:min(5, len(sent))] == "order" || len(sent) == 128; fit != (got[0] == sent) {
				t.Errorf("id %q: the response has the id %q, want the same: %t", sent, got, fit)
			} else if !fit {
				if made[got[0]] || len(got[0]) < 8 {
					t.Errorf("the generated id %q is shorter than 8 bytes, or one of %d earlier ones", got[0], len(made))
				}
				made[got[0]] = true
			}
		}
	}
}
