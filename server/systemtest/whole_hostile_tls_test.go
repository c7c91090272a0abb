package systemtest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestHostileHandshakes connects and then sends nothing, half of a client hello, or
// garbage. The daemon must drop each connection, and must serve a well-behaved client
// at the same time.
func TestHostileHandshakes(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	serving := ca.issue(t, "server", time.Time{})
	w := startProcess(t, "ledger-write", "-dir", t.TempDir(), "-segment-size", fmt.Sprint(testSegment), "-tls-cert", serving.cert, "-tls-key", serving.key,
		"-header-timeout", "3s", "-read-timeout", "6s", "-write-timeout", "6s", "-idle-timeout", "6s")
	addr := strings.TrimPrefix(w.url, "https://")
	good := &http.Client{Transport: &http.Transport{TLSClientConfig: ca.client()}}
	defer good.CloseIdleConnections()
	var attacks sync.WaitGroup
	for about, said := range map[string]string{
		"nothing":                "",
		"half of a client hello": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"a record of 64 KiB":     "\x16\x03\x01\xff\xff" + strings.Repeat("a", 70_000),
		"plain text":             "GET / HTTP/1.1\r\nHost: x\r\n",
		"an alert":               "\x15\x03\x03\x00\x02\x01\x00",
	} {
		for range 20 {
			attacks.Go(func() {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute)) // in case the daemon never closes it
				io.WriteString(c, said)
				if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s: the daemon did not close the connection", about)
				}
			})
		}
	}
	attacks.Go(func() { // a complete handshake, and then nothing
		c, err := tls.Dial("tcp", addr, ca.client())
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("after the handshake: the daemon did not close the connection")
		}
	})
	over := make(chan struct{})
	go func() { attacks.Wait(); close(over) }()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for n, done := 1, false; !done || n < 20; n++ { // well-behaved clients notice nothing
		<-pause.C
		if a, err := post(good, w.url+"/v1/commit", fmt.Sprintf(oneContainer, n)); err != nil || a.status != 200 {
			t.Fatalf("the well-behaved client got %v %d %s, want 200", err, a.status, a.body)
		}
		select {
		case <-over:
			done = true
		default:
		}
	}
	if highest := statusBytes(t, w, "VmHWM"); highest > mostWriteMemory {
		t.Errorf("%d bytes resident, more than %d", highest, mostWriteMemory)
	}
	w.stop(t)
}

// TestStrangersHoldNothing checks that unauthenticated clients can't use up the
// memory for bodies, even if many of them send large bodies at once.
func TestStrangersHoldNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth")
	clientsOf(t, file, "good g commit")
	w := startProcess(t, "ledger-write", "-dir", t.TempDir(), "-segment-size", fmt.Sprint(testSegment), "-auth-file", file, "-max-inflight", fmt.Sprint(1<<20))
	v := &victim{T: t}
	const strangers, megabytes = 50, 8
	var attacks sync.WaitGroup
	for i := range strangers {
		attacks.Go(func() {
			c := v.dial(w)
			length := fmt.Sprintf("Content-Length: %d", megabytes<<20)
			if i%2 == 0 {
				length = "Transfer-Encoding: chunked"
			}
			c.send(postHead("/v1/commit/batch", "Authorization: Bearer guess", length))
			if i%2 == 0 {
				c.send(fmt.Sprintf("%x\r\n", megabytes<<20))
			}
			go io.CopyN(c, endless{}, megabytes<<20)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") == "" || !res.Close {
				t.Errorf("the response is %v, %v; want 401 and a closed connection", res, err)
			}
		})
	}
	for n := 1; n < 50; n++ {
		if status, body := ask(t, http.DefaultClient, "POST", w.url+"/v1/commit", "g", fmt.Sprintf(oneContainer, n)); status != 200 {
			t.Errorf("an authorized client was rejected: %d %s", status, body)
		}
	}
	attacks.Wait()
	const most = 128 << 20 // the 400 MiB that strangers send are not stored
	if highest := statusBytes(t, w, "VmHWM"); highest > most {
		t.Errorf("%d bytes resident, more than %d", highest, most)
	}
	w.stop(t)
}

// endless is an endless stream of whitespace.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
