package mirror

import (
	"context"
	"testing"
	"time"

	"assetledger/server/httpserver"
	"assetledger/wal"
)

// TestSourceIsTheDirectoryItself names the directory's own log as the source.
// The directory must not be marked as a copy, because its write daemon would no
// longer start. A true copy of that log must be marked, even if it was opened
// for writing the same number of times.
func TestSourceIsTheDirectoryItself(t *testing.T) {
	o := late(t)
	backup := t.TempDir()
	if _, err := wal.Backup(o.dir, backup, wal.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	o.w.Close()
	o.open() // a second time, so that its epoch equals that of the mirror, which opens the backup once more
	o.append(3, "a")
	end := o.w.LastSeq()
	o.w.Close()

	run := func(dir string, until func() bool) error {
		m, err := New(Config{From: o.url}, dir, "m", "", silent)
		if err != nil {
			t.Fatal(err)
		}
		m.src.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		for {
			select {
			case err := <-ended:
				return err
			default:
			}
			if until() {
				cancel()
				return <-ended
			}
		}
	}
	marked := func(dir string) string {
		of, err := wal.CopyOf(dir, wal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return of
	}
	filled := func() bool {
		r, err := wal.OpenReader(backup, wal.Options{})
		if err != nil {
			return false
		}
		defer r.Close()
		return r.Durable() >= end
	}
	if err := run(backup, filled); err != nil || marked(backup) != o.url {
		t.Errorf("a mirror of a backup: %v; the backup is marked as a copy of %q, want the source", err, marked(backup))
	}
	if err := run(o.dir, func() bool { return marked(o.dir) != "" }); !httpserver.IsUsage(err) {
		t.Errorf("a source that is the directory itself: got %v, want a usage error", err)
	}
	if of := marked(o.dir); of != "" {
		t.Errorf("the directory is marked as a copy of %s, want no mark", of)
	}
	o.open() // a write daemon can still start
}
