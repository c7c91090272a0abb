package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/httpserver"
	"assetledger/server/reader"
)

// readEvery starts a read daemon with the given -checkpoint-every.
func readEvery(t *testing.T, dir string, every int, more ...string) *process {
	t.Helper()
	return startProcess(t, "ledger-read", append([]string{"-dir", dir, "-checkpoint-every", fmt.Sprint(every)}, more...)...)
}

// writeSmall starts a write daemon whose segments hold only a few wide commits.
func writeSmall(t *testing.T, dir string) *process {
	t.Helper()
	return startProcess(t, "ledger-write", "-dir", dir, "-segment-size", fmt.Sprint(128<<10))
}

func files(t *testing.T, dir, sub, ext string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, sub, "*"+ext))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// ctl runs ledgerctl, which must exit with the given code.
func ctl(t *testing.T, code int, args ...string) (out, words string) {
	t.Helper()
	got, out, words := runProgram(t, "ledgerctl", args...)
	if got != code {
		t.Fatalf("ledgerctl %v: exit code %d, want %d\n%s%s", args, got, code, out, words)
	}
	return out, words
}

// fillLog makes n commits with idempotency keys and metadata, so that segments
// fill up. It returns the responses by the numbers in their idempotency keys.
func fillLog(t *testing.T, url string, from, n int) map[int]string {
	t.Helper()
	told := map[int]string{}
	for i := from; i < from+n; i++ {
		told[i] = mustCommit(t, url, wide(i))
	}
	return told
}

// fillCheckpointed makes 60 commits. The two checkpoints that remain are at commits 45
// and 60, because a reader writes one when it stops.
func fillCheckpointed(t *testing.T, dir string, w *process, more ...string) map[int]string {
	t.Helper()
	r := readEvery(t, dir, 15, more...)
	told := fillLog(t, w.url, 1, 45)
	awaitSeq(t, r.url, 45)
	r.stop(t)
	r = readEvery(t, dir, 15, more...)
	maps.Copy(told, fillLog(t, w.url, 46, 15))
	awaitSeq(t, r.url, 60)
	r.stop(t)
	return told
}

func wide(i int) string {
	return fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard","owner":7}}],"idempotency_key":"k%d","metadata":{"note":"%s"}}`,
		i, i, strings.Repeat("n", 15000))
}

// TestCheckpointsStandForTheLog writes checkpoints, starts both daemons from
// them, archives the segments that they replace, and damages the checkpoints.
func TestCheckpointsStandForTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := writeSmall(t, dir)
	told := fillCheckpointed(t, dir, w)
	ckpts := files(t, dir, "ckpt", ".ckpt")
	if len(ckpts) != 2 || filepath.Base(ckpts[1]) != fmt.Sprintf("%020d.ckpt", 60) {
		t.Fatalf("checkpoints: %v, want two, the newer at commit 60", ckpts)
	}
	verified, _ := ctl(t, 0, "wal", "verify", "-dir", dir)
	before := len(files(t, dir, "wal", ".seg"))

	// Start from the checkpoint: the same idempotency keys get the same responses.
	w.stop(t)
	w = writeSmall(t, dir)
	for i, want := range told {
		if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(i)); err != nil || !a.hit || a.body != want {
			t.Fatalf("key k%d again: %v %+v, want %s", i, err, a, want)
		}
	}
	r := readEvery(t, dir, 15)
	mustShow(t, r.url, 60, 60)

	// Archive while both daemons run. The read daemon has read and indexed the
	// archived segments.
	mustGet := func(path string, want int) {
		t.Helper()
		var a answer
		awaits(t, path, func() bool { // 503 while the index is being built
			var err error
			a, err = get(http.DefaultClient, r.url+path)
			return err == nil && a.status != 503
		})
		if a.status != want || want == 410 && (!strings.Contains(a.body, `"CommitArchived"`) || !strings.Contains(a.body, `"first_seq":`)) {
			t.Errorf("GET %s: %d, want %d: %s", path, a.status, want, a.body)
		}
	}
	gone := []string{"/v1/read/commit/1", "/v1/read/commit/2", "/v1/read/commits", "/v1/read/commits?after=3",
		"/v1/read/container/2/history", "/v1/read/container/2/history?order=oldest", "/v1/read/container/1?at_seq=5"}
	for _, path := range gone {
		mustGet(path, 200)
	}
	to := filepath.Join(t.TempDir(), "old")
	out, _ := ctl(t, 0, "wal", "archive", "-dir", dir, "-to", to)
	moved := len(strings.Fields(out))
	if moved == 0 || len(files(t, dir, "wal", ".seg")) != before-moved || len(files(t, to, "", ".seg")) != moved {
		t.Fatalf("archived %d of %d segments:\n%s", moved, before, out)
	}
	ctl(t, 0, "wal", "archive", "-dir", dir, "-to", to) // the second run does nothing
	for _, path := range gone {
		mustGet(path, 410)
	}
	stream, _ := http.NewRequest("GET", r.url+"/v1/read/commits", nil)
	stream.Header.Set("Accept", "text/event-stream")
	if a, err := read(http.DefaultClient.Do(stream)); err != nil || a.status != 410 {
		t.Errorf("a stream from the beginning: %v %d %s, want 410", err, a.status, a.body)
	}
	if a, err := get(http.DefaultClient, r.url+"/v1/read/commit/60"); err != nil || a.status != 200 {
		t.Errorf("commit 60: %v %d %s, want 200", err, a.status, a.body)
	}
	again, _ := ctl(t, 0, "wal", "verify", "-dir", dir)
	digest := func(s string) string { return s[strings.LastIndex(s, "digest"):] }
	if digest(again) != digest(verified) {
		t.Errorf("the digests before and after the archive differ:\n%s\n%s", verified, again)
	}

	// An index that is rebuilt begins at a checkpoint. It does not claim that
	// nothing happened in earlier commits.
	r.stop(t)
	os.RemoveAll(filepath.Join(dir, "history"))
	r = readEvery(t, dir, 15)
	base := 0
	if _, err := fmt.Sscanf(filepath.Base(ckpts[0]), "%d.ckpt", &base); err != nil || base < 5 || base > 59 {
		t.Fatalf("the older checkpoint is at commit %d, want 5 to 59: %v", base, err)
	}
	early, late := fmt.Sprintf("/v1/read/container/%d/history", base-1), "/v1/read/container/60/history"
	for path, want := range map[string]int{early: 410, early + fmt.Sprintf("?to_seq=%d", base-2): 410, early + "?to_time=2020-01-01T00:00:00Z": 410,
		early + fmt.Sprintf("?to_seq=%d", base-1): 410, early + fmt.Sprintf("?from_seq=%d&to_seq=%d", base, base): 200,
		early + fmt.Sprintf("?from_seq=%d", base+1): 200, late: 200, late + "?to_seq=60&from_seq=60": 200} {
		mustGet(path, want)
	}

	// Both daemons start without the archived front, and so does the write daemon on
	// a backup.
	fillLog(t, w.url, 61, 5)
	r.stop(t)
	w.stop(t)
	w = writeSmall(t, dir)
	r = readEvery(t, dir, 15)
	mustShow(t, r.url, 65, 65)
	copied := filepath.Join(t.TempDir(), "copy")
	ctl(t, 0, "backup", dir, copied)
	r.stop(t)
	w.stop(t)
	w = writeSmall(t, copied)
	if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(65)); err != nil || !a.hit {
		t.Errorf("key k65 on the copy: %v %+v, want a hit", err, a)
	}
	w.stop(t)

	// If the newest checkpoint is damaged, the older one is used. If both are, the
	// log is rejected.
	ckpts = files(t, dir, "ckpt", ".ckpt")
	spoil(t, ckpts[1])
	w = writeSmall(t, dir)
	if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(65)); err != nil || !a.hit {
		t.Errorf("key k65 from the older checkpoint: %v %+v, want a hit", err, a)
	}
	w.stop(t)
	if words := w.words.String(); !strings.Contains(words, "skipping a checkpoint") || !strings.Contains(words, ckpts[1]) {
		t.Errorf("no warning names %s:\n%s", ckpts[1], words)
	}
	ctl(t, 6, "wal", "verify", "-dir", dir)
	spoil(t, ckpts[0])
	for _, name := range []string{"ledger-write", "ledger-read"} {
		if code, _, words := runProgram(t, name, "-dir", dir, "-listen", "127.0.0.1:0"); code != 3 || !strings.Contains(words, "front of the log missing") {
			t.Errorf("%s without a valid checkpoint: exit code %d, want 3 and the rule\n%s", name, code, words)
		}
	}
	for _, path := range ckpts {
		os.Remove(path)
	}
	if code, _, words := runProgram(t, "ledger-write", "-dir", dir, "-listen", "127.0.0.1:0"); code != 3 {
		t.Errorf("without any checkpoint: exit code %d, want 3\n%s", code, words)
	}
	// After the archive is moved back, the log is complete.
	for _, path := range files(t, to, "", ".seg") {
		if err := os.Rename(path, filepath.Join(dir, "wal", filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	w = writeSmall(t, dir)
	if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(1)); err != nil || !a.hit {
		t.Errorf("key k1 from the whole log: %v %+v, want a hit", err, a)
	}
	w.stop(t)
}

// TestOtherWindowIsNoDamage archives a log whose daemons remember 20
// idempotency keys, and then starts both daemons with 40. They must report a wrong
// setting, and no damage.
func TestOtherWindowIsNoDamage(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "old")
	start := func() *process {
		return startProcess(t, "ledger-write", "-dir", dir, "-segment-size", fmt.Sprint(128<<10), "-idempotency-keys", "20")
	}
	w := start()
	told := fillCheckpointed(t, dir, w, "-idempotency-keys", "20")
	before := len(files(t, dir, "wal", ".seg"))
	if _, words := ctl(t, 2, "wal", "archive", "-dir", dir, "-to", to); !strings.Contains(words, "-idempotency-keys") {
		t.Errorf("the error of an archive for 1,000,000 keys does not name the flag: %s", words)
	}
	if left := len(files(t, dir, "wal", ".seg")); left != before {
		t.Errorf("%d of %d segments are left, want all", left, before)
	}
	ctl(t, 0, "wal", "archive", "-dir", dir, "-to", to, "-idempotency-keys", "20")
	if left := len(files(t, dir, "wal", ".seg")); left == before {
		t.Error("nothing was archived")
	}
	w.stop(t)
	for _, name := range []string{"ledger-write", "ledger-read"} {
		code, _, words := runProgram(t, name, "-dir", dir, "-listen", "127.0.0.1:0", "-idempotency-keys", "40")
		if code != 2 || !strings.Contains(words, "-idempotency-keys is 40") || strings.Contains(words, "damaged") {
			t.Errorf("%s with 40 keys: exit code %d, want 2 and the flag\n%s", name, code, words)
		}
	}
	w = start()
	if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(60)); err != nil || !a.hit || a.body != told[60] {
		t.Errorf("key k60: %v %+v, want a hit with its first response", err, a)
	}
	w.stop(t)
}

// TestFormatDocumentCheckpoint reads the header of a checkpoint as the table in
// docs/format.md describes it. Metadata longer than 256 bytes makes it version 2.
func TestFormatDocumentCheckpoint(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	l := layoutOf(t, string(doc), "Checkpoint")
	dir := t.TempDir()
	w := writeSmall(t, dir)
	r := readEvery(t, dir, 5)
	fillLog(t, w.url, 1, 7)
	awaitSeq(t, r.url, 7)
	r.stop(t)
	w.stop(t)
	list := files(t, dir, "ckpt", ".ckpt")
	b, err := os.ReadFile(list[len(list)-1])
	if err != nil {
		t.Fatal(err)
	}
	segment, err := os.ReadFile(files(t, dir, "wal", ".seg")[0])
	if err != nil {
		t.Fatal(err)
	}
	if string(l.bytes(t, b, "magic")) != "ASTLCKP\n" || !bytes.Equal(l.bytes(t, b, "log id"), segment[16:32]) {
		t.Errorf("magic %q, log id %x; want ASTLCKP and %x", l.bytes(t, b, "magic"), l.bytes(t, b, "log id"), segment[16:32])
	}
	for field, want := range map[string]uint64{"version": 2, "global seq": 7, "containers": 7, "stacks": 0, "keys": 7,
		"window": 1_000_000, "next instance": 1, "header crc": uint64(crc32.Checksum(b[:124], crc32.MakeTable(crc32.Castagnoli)))} {
		if got := l.num(t, b, field); got != want {
			t.Errorf("%s is %d, want %d", field, got, want)
		}
	}
}

// TestReadersShareTheDuty runs two read daemons that could both write
// checkpoints. Only one of them does at a time, and the other can take over.
func TestReadersShareTheDuty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := writeSmall(t, dir)
	a, b := readEvery(t, dir, 10, "-name", "a"), readEvery(t, dir, 10, "-name", "b")
	fillLog(t, w.url, 1, 30)
	awaitSeq(t, a.url, 30)
	awaitSeq(t, b.url, 30)
	a.kill()
	fillLog(t, w.url, 31, 15)
	awaitSeq(t, b.url, 45)
	b.stop(t)
	w.stop(t)
	list := files(t, dir, "ckpt", ".ckpt")
	if len(list) == 0 || len(list) > 2 || filepath.Base(list[len(list)-1]) != fmt.Sprintf("%020d.ckpt", 45) {
		t.Errorf("checkpoints: %v, want one or two, the last at commit 45", list)
	}
	for _, p := range []*process{a, b} {
		if words := p.words.String(); strings.Contains(words, "no checkpoint was made") {
			t.Errorf("a read daemon could not write a checkpoint: %s", words)
		}
	}
	ctl(t, 0, "wal", "verify", "-dir", dir)
}

// TestCheckpointsBesideReads reads and commits while checkpoints are written, in
// one process, so that the race detector sees everything.
func TestCheckpointsBesideReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriter(t, dir)
	r := startDaemon(t, "the read daemon", func(ctx context.Context, ready readyLine, log *slog.Logger) error {
		return server.RunRead(ctx, reader.Config{
			Dir: dir, Listen: "127.0.0.1:0", Name: "read", CheckpointEvery: 2, IdempotencyKeys: 1_000_000,
			Poll: 100 * time.Millisecond, Timeouts: httpserver.DefaultTimeouts, Ready: ready, Log: log,
		})
	})
	var reads sync.WaitGroup
	quit := make(chan struct{})
	for range 2 {
		reads.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				if a, err := get(http.DefaultClient, r.url+"/v1/read/containers?owner=7"); err != nil || a.status != 200 {
					t.Errorf("reading: %v %d %s", err, a.status, a.body)
					return
				}
			}
		})
	}
	fillLog(t, w.url, 1, 80)
	awaitSeq(t, r.url, 80)
	close(quit)
	reads.Wait()
	r.stop()
	w.stop()
	if list := files(t, dir, "ckpt", ".ckpt"); len(list) != 2 || filepath.Base(list[1]) != fmt.Sprintf("%020d.ckpt", 80) {
		t.Errorf("checkpoints: %v, want two, the newer at commit 80", list)
	}
	w = startWriter(t, dir) // from the checkpoint
	if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(80)); err != nil || !a.hit {
		t.Errorf("key k80 again: %v %+v, want a hit", err, a)
	}
	w.stop()
}
