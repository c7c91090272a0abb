package systemtest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd/etcdfake"
	"assetledger/server/writer"
	"assetledger/wal"
)

// startHost starts the write daemon of a host whose log is in an etcd store.
func startHost(t *testing.T, store *etcdfake.Store, name string, change ...func(*writer.Config)) *daemon {
	t.Helper()
	return startWriter(t, t.TempDir()+"/log", append([]func(*writer.Config){func(c *writer.Config) {
		c.Driver = &etcdlog.Driver{API: &etcdfake.Client{Store: store}, Prefix: "/l", Where: "etcd://fake/l", Dir: c.Dir, Name: name, URL: "http://" + name, Log: c.Log}
	}}, change...)...)
}

// awaitStatus polls until the response has the given status.
func awaitStatus(t *testing.T, url string, status int) (a answer) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if a, err = get(http.DefaultClient, url); err == nil && a.status == status {
			return a
		}
		if time.Now().After(end) {
			t.Fatalf("%s: still %d %s, %v after a minute, want %d", url, a.status, a.body, err, status)
		}
	}
}

const standbyCommit = `{"operations":[{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard"}}],"idempotency_key":"k"}`

// TestStandby checks that one daemon writes, and that the other stands by and names
// the writer. When the first stops, the second takes over, and answers retries with
// the first one's responses.
func TestStandby(t *testing.T) {
	t.Parallel()
	store := etcdfake.NewStore()
	a := startHost(t, store, "a")
	awaitStatus(t, a.url+"/v1/readyz", 200)
	b := startHost(t, store, "b")
	first, err := post(http.DefaultClient, a.url+"/v1/commit", standbyCommit)
	if err != nil || first.status != 200 {
		t.Fatalf("the first commit got %d %s %v, want 200", first.status, first.body, err)
	}
	if h := awaitStatus(t, a.url+"/v1/health", 503); !strings.HasPrefix(h.body, `{"status":"degraded","role":"writer","commit_log":{"end_seq":1,`) ||
		!strings.Contains(h.body, `"driver":{"name":"etcd","path":"etcd://fake/l"}`) {
		t.Errorf("the writer's health must be degraded, as writer, with the driver etcd: %s", h.body)
	}
	if h := awaitStatus(t, b.url+"/v1/health", 200); !strings.HasPrefix(h.body, `{"status":"healthy","role":"standby","commit_log":{"end_seq":`) {
		t.Errorf("the standby's health must be healthy, as standby: %s", h.body)
	}
	if r := awaitStatus(t, b.url+"/v1/readyz", 503); !strings.Contains(r.body, "http://a") {
		t.Errorf("the standby's readyz does not name the writer: %s", r.body)
	}
	for _, path := range []string{"/v1/commit", "/v1/commit/batch", "/v1/commit/stream", "/v1/commit/preflight", "/v1/commit/1/reverse", "/v1/commit/1/reverse/preflight", "/v1/register/class", "/v1/register/class-shape"} {
		resp, err := http.Post(b.url+path, "application/json", strings.NewReader(standbyCommit))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"code":"NotTheWriter"`) ||
			!strings.Contains(string(body), `"details":{"writer":"http://a"}`) {
			t.Errorf("%s: %d %s, want 503 NotTheWriter with the writer", path, resp.StatusCode, body)
		}
	}

	c := writer.DefaultConfig()
	c.Dir, c.Listen, c.Ready, c.Log, c.LogDriver.Standby = t.TempDir(), "127.0.0.1:0", io.Discard, slog.New(slog.DiscardHandler), false
	c.Driver = &etcdlog.Driver{API: &etcdfake.Client{Store: store}, Prefix: "/l", Dir: c.Dir, Name: "c"}
	if err := server.RunWrite(context.Background(), c); !errors.Is(err, wal.ErrLocked) || server.ExitCode(err) != server.ExitLocked {
		t.Errorf("with -standby=false: %v, want ErrLocked", err)
	}

	a.stop()
	awaitStatus(t, b.url+"/v1/readyz", 200)
	again, err := post(http.DefaultClient, b.url+"/v1/commit", standbyCommit)
	if err != nil || again.status != 200 || again.body != first.body || !again.hit {
		t.Errorf("the first response was %s, the standby's is %d %s, %v", first.body, again.status, again.body, err)
	}
	if h := awaitStatus(t, b.url+"/v1/health", 503); !strings.HasPrefix(h.body, `{"status":"degraded","role":"writer"`) {
		t.Errorf("the new writer's health must be degraded, as writer: %s", h.body)
	}
}

// TestLosesItsPlace checks that a writer that was replaced by another daemon
// stands by, and writes again once that daemon is gone.
func TestLosesItsPlace(t *testing.T) {
	t.Parallel()
	store := etcdfake.NewStore()
	a := startHost(t, store, "a")
	awaitStatus(t, a.url+"/v1/readyz", 200)
	if first, err := post(http.DefaultClient, a.url+"/v1/commit", standbyCommit); err != nil || first.status != 200 {
		t.Fatalf("the first commit got %d %s %v, want 200", first.status, first.body, err)
	}
	// Another daemon starts and takes over in one step, as if the lease had just
	// expired.
	driver := &etcdlog.Driver{API: &etcdfake.Client{Store: store}, Prefix: "/l", Dir: t.TempDir() + "/log", Name: "b", URL: "http://b"}
	var w commitlog.Writer
	for err := error(wal.ErrLocked); errors.Is(err, wal.ErrLocked); {
		for _, id := range store.Leases() {
			store.Revoke(id)
		}
		if w, err = driver.OpenWriter(); err != nil && !errors.Is(err, wal.ErrLocked) {
			t.Fatal(err)
		}
	}
	refused, err := post(http.DefaultClient, a.url+"/v1/commit", standbyCommit)
	if err != nil || refused.status != 503 {
		t.Errorf("a repeated request, after another daemon took over: %d %s, %v; want 503", refused.status, refused.body, err)
	}
	for {
		if h := awaitStatus(t, a.url+"/v1/health", 200); strings.Contains(h.body, `"role":"standby"`) {
			break
		}
	}
	w.Close()
	awaitStatus(t, a.url+"/v1/readyz", 200)
	if again, err := post(http.DefaultClient, a.url+"/v1/commit", standbyCommit); err != nil || again.status != 200 || !again.hit {
		t.Errorf("a repeated request, as the writer again: %d %s, %v; want a hit", again.status, again.body, err)
	}
}
