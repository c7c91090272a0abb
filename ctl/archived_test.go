package ctl

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetledger/wal"
)

// archivedLog returns the directory of a log with 300 commits, of which the
// oldest are archived.
func archivedLog(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	makeLog(t, dir, 64<<10, containers(t, 300, 1))
	writeCheckpoints(t, dir, 250, 300)
	report, err := wal.Archive(dir, filepath.Join(t.TempDir(), "to"), 250, nil)
	if err != nil || len(report.Moved) == 0 {
		t.Fatalf("Archive must move segments: %+v, %v", report, err)
	}
	return dir
}

// TestArchivedLog checks that commands that normally begin with commit 1 begin with
// the first commit that is not archived, and report that.
func TestArchivedLog(t *testing.T) {
	dir := archivedLog(t)
	x := tool{t, startDaemons(t, dir)}
	segments, _, err := wal.Stat(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := segments[0].First
	for _, args := range [][]string{{"wal", "dump", "-dir", dir}, {"export"}} {
		code, out, words := x.run("", args...)
		if n := strings.Count(out, "\n"); code != exitDone || uint64(n) != 300-first+1 || !strings.Contains(words, "archived") {
			t.Errorf("ledgerctl %v: exit code %d, %d lines, want 0, %d and a note that commits are archived\n%s", args, code, n, 300-first+1, words)
		}
	}
	c := &call{ctx: t.Context(), api: newClient(&connecting{}, idle)}
	c.timeout.Duration = time.Minute
	if id, status := c.logID(x.daemons.readURL); status != http.StatusOK || id == (wal.LogID{}) {
		t.Errorf("logID returns %v, %d for a log whose first commits are archived, want its id and 200", id, status)
	}
	x.must(exitFailure, "", "wal", "dump", "-dir", dir, "-from", "1")
	x.must(exitRefused, "", "export", "-after", "0")
}
