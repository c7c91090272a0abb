package ctl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/wal"
)

// TestRepairDamagedCheckpoint checks that wal repair mends a log with a damaged checkpoint
// and valid frames, so that wal verify accepts it.
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
			t.Fatalf("ledgerctl %s: exit code %d, want %d and %q: %s", step.args, code, step.code, step.says, words.String())
		}
	}
}

// TestRepairForeign checks what wal verify and wal repair say about files of another log,
// which are no evidence of lost commits, and about a segment that was cut short. Repair must
// not recommend itself.
func TestRepairForeign(t *testing.T) {
	long, short := t.TempDir(), t.TempDir()
	makeLog(t, long, 64<<10, containers(t, 6, 2))
	writeCheckpoints(t, long, 4, 12)
	makeLog(t, short, 64<<10, containers(t, 1, 5))
	writeCheckpoints(t, short, 5)
	const advice, foreign = "wal repair` would lose", "belongs to another log, or to another history of this log"
	put := func(t *testing.T, from, to, pattern string) {
		files, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files match %s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(from, file)
			if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		base   string
		change func(t *testing.T, dir string)
		verify []string // what it says
		repair []string
		lost   bool // repair is impossible
	}{
		"a checkpoint within": {base: long, change: func(t *testing.T, dir string) { put(t, short, dir, "ckpt/*") },
			verify: []string{wal.CheckpointPath("DIR", 5), foreign, advice}, repair: []string{wal.CheckpointPath("DIR", 5) + " " + foreign, "no commit is lost"}},
		"END and checkpoints": {base: short, change: func(t *testing.T, dir string) { put(t, long, dir, "ckpt/*"); put(t, long, dir, "END") },
			verify: []string{"END of another log", advice}, repair: []string{"END of another log", wal.CheckpointPath("DIR", 12) + " " + foreign, wal.CheckpointPath("DIR", 4) + " " + foreign, "no commit is lost"}},
		"a segment cut short": {base: long, change: func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "wal", "00000000000000000001.seg"), 20_000); err != nil {
				t.Fatal(err)
			}
		}, verify: []string{"file has 20000 bytes", advice}, repair: []string{"file has 20000 bytes", "restore a backup"}, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			if _, err := wal.Backup(c.base, dir, wal.BackupOptions{}); err != nil {
				t.Fatal(err)
			}
			c.change(t, dir)
			says := func(code int, want []string, args ...string) string {
				got, _, words := runs(noEnv, append(args, dir)...)
				for _, w := range want {
					if w = strings.ReplaceAll(w, "DIR", dir); got != code || !strings.Contains(words, w) {
						t.Errorf("ledgerctl %v: exit code %d, want %d and %q: %s", args, got, code, w, words)
					}
				}
				return words
			}
			says(exitDamaged, c.verify, "wal", "verify")
			if words := says(exitDamaged, c.repair, "wal", "repair"); strings.Contains(words, advice) || strings.Contains(words, "{") {
				t.Errorf("wal repair must not recommend itself or print a Go value: %s", words)
			}
			if c.lost {
				return
			}
			says(exitDone, []string{"no commit is lost"}, "wal", "repair", "-accept-loss")
			says(exitDone, []string{""}, "wal", "verify")
		})
	}
}
