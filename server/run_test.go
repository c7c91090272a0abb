package server

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"assetledger/server/reader"
	"assetledger/server/writer"
	"assetledger/wal"
)

// TestUnusableDir checks that both daemons report that -dir is a file, or that they may not
// use it.
func TestUnusableDir(t *testing.T) {
	file, shut := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "shut")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(shut, 0); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		file: "can't use " + file + " as a log directory: it is a file",
		shut: "can't use " + shut + " as a log directory: permission denied",
	} {
		if dir == shut && os.Geteuid() == 0 {
			continue // root may use it
		}
		w, r := writer.DefaultConfig(), reader.DefaultConfig()
		w.Dir, r.Dir = dir, dir
		ctx, stop := context.WithCancel(t.Context())
		stop() // a daemon that does start stops at once
		for name, err := range map[string]error{"write": RunWrite(ctx, w), "read": RunRead(ctx, r)} {
			if err == nil || err.Error() != want {
				t.Errorf("the %s daemon: %v, want %s", name, err, want)
			}
		}
	}
}

// TestDirWithinALog checks that neither daemon creates or awaits a log inside another
// log's directory.
func TestDirWithinALog(t *testing.T) {
	dir := t.TempDir()
	l, err := wal.Open(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := filepath.Join(dir, "wal", "new")
	w, r := writer.DefaultConfig(), reader.DefaultConfig()
	w.Dir, r.Dir = at, at
	ctx, stop := context.WithCancel(t.Context())
	stop() // a daemon that does start stops at once
	for name, err := range map[string]error{"write": RunWrite(ctx, w), "read": RunRead(ctx, r)} {
		if ExitCode(err) != ExitUsage || err == nil || err.Error() != at+" is part of the log in "+dir {
			t.Errorf("the %s daemon: exit code %d: %v; want %d, because the directory is part of a log", name, ExitCode(err), err, ExitUsage)
		}
	}
	if _, err := os.Stat(at); err == nil {
		t.Error("the directory was created")
	}
}
