package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetledger/ctl/client"
)

// Lines that are done are skipped by the resume note, even if the ledger no
// longer remembers them.
func TestResumeMark(t *testing.T) {
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, "", "commit", "-key", "batch:w:7", "-op", "CreateContainer container_id=1 kind=Standard")
	run := &call{ctx: t.Context(), api: newClient(&connecting{}, idle)}
	run.readURL, run.timeout.Duration = x.daemons.readURL, time.Minute
	path := filepath.Join(t.TempDir(), "w.resume")
	mark := func() *resumeMark {
		return &resumeMark{path: path, window: 10, step: 5, note: resumeNote{Name: "w"}}
	}
	at := func(m *resumeMark, line int, end bool) bool {
		before, _ := os.ReadFile(path)
		m.answered(line, &client.Result{GlobalSeq: 1, Metadata: json.RawMessage(`{"idempotency_key":"batch:w:7"}`)})
		if err := m.save(run, end); err != nil {
			t.Fatal(err)
		}
		after, _ := os.ReadFile(path)
		return !bytes.Equal(before, after)
	}
	m := mark()
	for _, c := range []struct {
		line    int
		end     bool
		written bool
	}{{8, false, false}, {10, true, false}, {11, false, true}, {15, false, false}, {16, false, true}, {17, true, true}} {
		if written := at(m, c.line, c.end); written != c.written {
			t.Errorf("at line %d (end: %v) the note was written: %v", c.line, c.end, written)
		}
	}
	m = mark()
	if err := m.load(run); err != nil || m.done != 7 || !m.isDone(7) || m.isDone(8) {
		t.Errorf("done up to line %d: %v", m.done, err)
	}
	if none := (*resumeMark)(nil); none.isDone(1) {
		t.Error("without -resume a line is done")
	}
	for name, note := range map[string]string{
		"is of another ledger":        strings.Replace(string(must(os.ReadFile(path))), "batch:w:7", "batch:w:8", 1),
		"whose commit 9 had the key ": strings.Replace(string(must(os.ReadFile(path))), `"global_seq":1`, `"global_seq":9`, 1),
		"is of a batch named v":       strings.Replace(string(must(os.ReadFile(path))), `"name":"w"`, `"name":"v"`, 1),
		"is no note":                  "{}",
	} {
		if err := os.WriteFile(path, []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := mark().load(run); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a note that %s: %v", name, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestKeyName(t *testing.T) {
	for name, same := range map[string]bool{"day-7.ndjson": true, "with space": false, `q"`: false, "é": false, strings.Repeat("x", 101): false} {
		if got := keyName(name); (got == name) != same || checkKey("batch:"+got+":9223372036854775807") != nil || got != keyName(name) {
			t.Errorf("keyName(%q) = %q", name, got)
		}
	}
}

func TestBarLine(t *testing.T) {
	b := &bar{size: 1000}
	for _, c := range []struct {
		position       int64
		lines, refused int
		elapsed        time.Duration
		want           string
	}{
		{0, 0, 0, 0, "[--------------------]   0%  0 lines"},
		{250, 1000, 0, time.Second, "[#####---------------]  25%  1000 lines  1000/s  3s left"},
		{1000, 4000, 2, 4 * time.Second, "[####################] 100%  4000 lines, 2 refused  1000/s  0s left"},
		{2000, 1, 0, 4 * time.Second, "[####################] 100%  1 line  0/s  0s left"}, // the file has grown
	} {
		if got := b.line(c.position, c.lines, c.refused, c.elapsed); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := new(bar).line(0, 5, 0, time.Second); got != "5 lines  5/s" {
		t.Errorf("of a pipe: %s", got)
	}
}

// On a terminal, the bar is redrawn from time to time, and cleared before
// results.
func TestBarIsDrawnAndCleared(t *testing.T) {
	var shown bytes.Buffer
	now := time.Unix(0, 0)
	b := &bar{progress: progress{w: &shown, now: func() time.Time { return now }, begin: now, next: now.Add(progressEvery)}}
	for range 4 {
		b.at(1, 0)
		now = now.Add(progressEvery / 2)
	}
	b.clear()
	b.clear()
	want := fmt.Sprintf("\r%s\x1b[K\r\x1b[K", b.line(0, 1, 0, progressEvery))
	if shown.String() != want {
		t.Errorf("got %q\nwant %q", shown.String(), want)
	}
}
