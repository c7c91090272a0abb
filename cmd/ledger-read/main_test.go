package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"assetledger/server"
	"assetledger/server/reader"
	"assetledger/server/settings/settingstest"
)

func TestUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		exit int
	}{
		{[]string{"-version"}, server.ExitStopped},
		{[]string{"-help"}, server.ExitStopped},
		{nil, server.ExitUsage},
		{[]string{"-dir", "x", "more"}, server.ExitUsage},
		{[]string{"-dir", "x", "-nonsense"}, server.ExitUsage},
		{[]string{"-dir", "x", "-name", "a/b"}, server.ExitUsage},
		{[]string{"-dir", "x", "-poll", "0"}, server.ExitUsage},
		{[]string{"-dir", "x", "-until", "1", "-until-time", "2026-01-31T12:00:00Z"}, server.ExitUsage},
		{[]string{"-dir", "x", "-max-lag", "-1"}, server.ExitUsage},
		{[]string{"-dir", "x", "-log-format", "xml"}, server.ExitUsage},
		{[]string{"-dir", "x", "-listen", "192.0.2.1:0"}, server.ExitUsage},
		{[]string{"-dir", "x", "-client-ca", "x"}, server.ExitUsage},
		{[]string{"-dir", "x", "-from", "http://127.0.0.1:1", "-from-ca", "nowhere", "-from-cert", "nowhere"}, server.ExitUsage},
		{[]string{"-dir", "x", "-from", "https://127.0.0.1:1", "-from-ca", "nowhere"}, server.ExitUsage},
		{[]string{"-dir", "x", "-from", "http://127.0.0.1:1", "-from-token-file", "nowhere"}, server.ExitUsage},
		{[]string{"-dir", "x", "-max-silence", "1s"}, server.ExitUsage},
		{[]string{"-print-config"}, server.ExitStopped},
		{[]string{"-dir", file}, server.ExitFailure},
	} {
		if got := run(c.args, io.Discard, io.Discard); got != c.exit {
			t.Errorf("%v: exit code %d, want %d", c.args, got, c.exit)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the descriptions of the flags in docs")

// TestDocs compares the documentation with the flags.
func TestDocs(t *testing.T) {
	c := reader.DefaultConfig()
	p := program(&c)
	settingstest.Docs(t, p, "../../docs", *update)
}

// TestWrongValues checks that each flag rejects invalid values with an example of a valid one.
func TestWrongValues(t *testing.T) {
	c := reader.DefaultConfig()
	p := program(&c)
	settingstest.Wrong(t, p, run, map[string]string{
		"idempotency-keys": "-1", "checkpoint-every": "-1", "max-lag": "-1", "max-streams": "0", "max-inflight": "0", "name": "a/b", "poll": "0s", "until": "-1", "write-url": "ftp://x", "write-ca": "nowhere", "until-time": "yesterday",
		"from": "ledger-1:8080", "from-token-file": "nowhere", "from-ca": "nowhere", "from-cert": "nowhere", "from-cert-key": "nowhere", "max-silence": "-1s",
	})
}
