package ctl

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"assetledger/wal"
)

// After wal repair, wal verify accepts a log that had a damaged checkpoint but
// only valid frames.
func TestRepairDamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	makeLog(t, dir, 64<<10, containers(t, 6, 2))
	writeCheckpoints(t, dir, 4, 8)
	path := wal.CheckpointPath(dir, 8)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args string
		code int
		says string
	}{
		{"wal verify", exitDamaged, path},
		{"wal repair", exitDamaged, "no commit is lost"},
		{"wal verify", exitDamaged, path},
		{"wal repair -accept-loss", 0, path + ".bad"},
		{"wal verify", 0, ""},
		{"wal repair", 0, "needs no repair"},
	} {
		var out, words bytes.Buffer
		args := append(strings.Fields(step.args), "-dir", dir)
		code := Main(args, strings.NewReader(""), &out, &words, func(string) (string, bool) { return "", false })
		if code != step.code || !strings.Contains(words.String(), step.says) {
			t.Fatalf("ledgerctl %s: exit code %d, want %d: %s", step.args, code, step.code, words.String())
		}
	}
}
