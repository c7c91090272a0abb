package ctl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoLogThere checks that every command for a log reports that the directory has none,
// and creates nothing in the directory or in its target.
func TestNoLogThere(t *testing.T) {
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	makeLog(t, path("log"), 64<<10, containers(t, 3, 1))
	for _, name := range []string{"empty", "notes"} {
		if err := os.Mkdir(path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"plain", "notes/a.txt"} {
		if err := os.WriteFile(path(name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := filesIn(t, root)
	const directory, file = ": name the directory of ledger-write", ": it is a file, not a directory"
	for name, why := range map[string]string{
		"nowhere": directory, "empty": directory, "notes": directory, "log/wal": directory, "log/ckpt": directory, "plain": file, "log/END": file,
	} {
		for _, command := range []string{
			"wal stat", "wal verify", "wal dump", "wal repair", "wal repair -accept-loss", "wal archive -to " + path("target"),
			"log push -to etcd://127.0.0.1:1/none", "log detach", "log detach -accept-loss", "backup " + path("target"),
		} {
			code, out, errs := runs(noEnv, append(strings.Fields(command), "-dir", path(name))...)
			if code != exitFailure || out != "" || !strings.Contains(errs, "there is no log in "+path(name)+why) {
				t.Errorf("ledgerctl %s, DIR %s: exit code %d, want %d and that there is no log%s: %q %q", command, name, code, exitFailure, why, out, errs)
			}
			if after := filesIn(t, root); !slices.Equal(before, after) {
				t.Fatalf("ledgerctl %s, DIR %s: the files were %v, and are %v", command, name, before, after)
			}
		}
	}
}
