package writer

import (
	"fmt"
	"strings"
	"testing"

	"assetledger/server/httpserver"
	"assetledger/server/servertest"
	"assetledger/wal"
)

func TestWriteProbes(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	ready := func(status int, body string) {
		t.Helper()
		a := w.do("GET", "/v1/readyz", "")
		if a.status != status || !strings.HasPrefix(a.body, body) || (a.header.Get("Retry-After") != "") != (status == 503) {
			t.Errorf("%d %s, want %d %s", a.status, a.body, status, body)
		}
		if a := w.do("GET", "/v1/livez", ""); a.status != 200 || a.body != `{"status":"alive"}` {
			t.Errorf("livez: %d %s, want 200 and alive", a.status, a.body)
		}
	}
	ready(200, `{"status":"ready"}`)
	l.set(nil, wal.ErrNoSpace)
	ready(503, `{"status":"not_ready","reason":"`)
	l.set(nil, nil)
	ready(200, `{"status":"ready"}`)
	w.stopping.Store(true)
	ready(503, `{"status":"not_ready","reason":"The daemon is stopping`)
	w.stopping.Store(false)
	l.set(nil, fmt.Errorf("%w on the filesystem of /secret", wal.ErrNoSpace))
	ready(503, `{"status":"not_ready","reason":"wal: no space for the next segment on the filesystem of /secret"`)
	w.api.Gate = httpserver.NewGate("auth", servertest.Tenants(t), silent)
	ready(503, `{"status":"not_ready","reason":"Commits are not accepted now`)
}
