package systemtest

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestSecondSignal checks that after the first signal, a daemon waits for a
// client that has sent nothing yet, and that the second signal stops it at once.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []*process{startWriteProcess(t, dir), startProcess(t, "ledger-read", "-dir", dir)} {
		addr := strings.TrimPrefix(p.url, "http://")
		silent, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		// The daemon accepts connections in order. Once it answers this one, it has
		// accepted the silent one too.
		if a, err := get(http.DefaultClient, p.url+"/v1/health"); err != nil || a.status != 200 {
			t.Fatalf("health: %v %+v, want 200", err, a)
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		for { // until it accepts no more connections
			probe, err := net.Dial("tcp", addr)
			if err != nil {
				break
			}
			probe.Close()
		}
		p.cmd.Process.Signal(syscall.SIGTERM)
		if code := p.exit(t); code != 1 {
			t.Errorf("%s: exit code %d after the second signal, want 1", p.name, code)
		}
	}
}
