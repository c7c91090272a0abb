package systemtest

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// withFewFiles creates a folder of programs that run with a limit on open
// files.
func withFewFiles(t *testing.T, files int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range []string{"ledger-write", "ledger-read"} {
		script := fmt.Sprintf("#!/bin/sh\nulimit -n %d && exec %s \"$@\"\n", files, filepath.Join(buildPrograms(t), name))
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestIdleConnectionsOfStrangers opens more connections than the daemons may
// have open files. Half of them never send anything. They must neither bring the
// daemons down nor block a client that opens a connection for each request.
func TestIdleConnectionsOfStrangers(t *testing.T) {
	t.Parallel()
	for _, files := range []int{128, 256} {
		t.Run(fmt.Sprint(files), func(t *testing.T) { idleStrangers(t, files) })
	}
}

func idleStrangers(t *testing.T, files int) {
	folder, dir := withFewFiles(t, files), t.TempDir()
	w := startProcessFrom(t, folder, "127.0.0.1:0", "ledger-write", "-dir", dir, "-segment-size", "65536")
	r := startProcessFrom(t, folder, "127.0.0.1:0", "ledger-read", "-dir", dir, "-checkpoint-every", "10")
	mustCommit(t, w.url, goodContainers)
	for _, p := range []*process{w, r} {
		for i := range 2 * files {
			c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if i%2 == 0 {
				fmt.Fprint(c, getHealth)
			}
		}
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	large := strings.Replace(goodCommit, "}]}", `}],"metadata":{"a":"`+strings.Repeat("x", 16000)+`"}}`, 1)
	const commits = 20 // each new segment has room for three
	for n := 1; n <= commits; n++ {
		a, err := post(client, w.url+"/v1/commit", large)
		if err != nil || a.status != 200 {
			t.Fatalf("commit %d: %v %d %s", n, err, a.status, a.body)
		}
		a, err = get(client, r.url+"/v1/read/container/1/balances?wait=20s&min_seq="+seqOf(a.body))
		if err != nil || !strings.Contains(a.body, fmt.Sprintf(`"quantity":%d}`, n)) {
			t.Fatalf("reading commit %d: %v %d %s", n, err, a.status, a.body)
		}
		if a, err = get(client, r.url+"/v1/read/commits?limit=1"); err != nil || a.status != 200 {
			t.Fatalf("reading commits back: %v %d %s", err, a.status, a.body)
		}
	}
	for _, p := range []*process{w, r} {
		a, err := get(client, p.url+"/v1/metrics")
		if err != nil || strings.Contains(a.body, "connections_dropped_total 0\n") {
			t.Errorf("%s: no idle connection was closed: %v", p.name, err)
		}
		p.stop(t)
	}
}

// TestSilentFollowers opens as many streams as are permitted, from clients that
// never read. They must not keep other clients from following the commits.
func TestSilentFollowers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir, "-max-streams", "50")
	mustCommit(t, w.url, goodContainers)
	const request = "GET /v1/read/commits HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
	open := func() net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprint(c, request)
		return c
	}
	for range 50 {
		open()
	}
	awaits(t, "all streams are open", func() bool { return (&victim{T: t}).metric(r, "asset_ledger_read_streams") == 50 })
	for range 50 {
		c, said := open(), make([]byte, 0, 4096)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		for !strings.Contains(string(said), "id: 1\ndata: ") {
			n, err := c.Read(said[len(said):cap(said)])
			if said = said[:len(said)+n]; err != nil {
				t.Fatalf("a client that reads did not get the first commit: %v %s", err, said)
			}
		}
	}
	r.stop(t)
}
