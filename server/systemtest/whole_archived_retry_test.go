package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRetryOfAnArchivedCommit repeats requests that have idempotency keys and long
// metadata, after their segment was archived. A retry with the same spelling gets
// the first result, byte for byte. A retry with a different spelling can't get it,
// because only the log has the first spelling. Its error says that the request was
// committed, and as which commit. Nothing is committed again, and such a retry gets
// the result once the segment is back.
func TestRetryOfAnArchivedCommit(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "old")
	w := writeSmall(t, dir)
	told := fillCheckpointed(t, dir, w)
	ctl(t, 0, "wal", "archive", "-dir", dir, "-to", to)
	otherwise := func(i int) string { return strings.Replace(wide(i), `"note":"nn`, `"note" : "n\u006e`, 1) }
	send := func(path, body string) answer {
		t.Helper()
		a, err := post(http.DefaultClient, w.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	same := func(i int, body string) {
		t.Helper()
		if a := send("/v1/commit", body); a.status != 200 || !a.hit || a.body != told[i] {
			t.Errorf("key k%d again: %d, a hit: %v, %.100s, want %.100s", i, a.status, a.hit, a.body, told[i])
		}
	}
	archived := func() {
		t.Helper()
		same(1, wide(1))
		same(60, otherwise(60))
		a := send("/v1/commit", otherwise(1))
		if a.status != 410 || !strings.Contains(a.body, `"code":"CommitArchived"`) || !strings.Contains(a.body, `"details":{"global_seq":1,"first_seq":`) {
			t.Errorf("archived and spelled differently: %d %s, want 410 CommitArchived with commit 1", a.status, a.body)
		}
		a = send("/v1/commit/batch", fmt.Sprintf(`{"transactions":[%s,%s,%s]}`, otherwise(2), wide(2), otherwise(59)))
		if a.status != 200 || !strings.HasPrefix(a.body, `{"results":[{"error":{"code":"CommitArchived"`) || strings.Count(a.body, `"replayed":true`) != 2 {
			t.Errorf("in a batch: %d %.300s, want one CommitArchived and two replays", a.status, a.body)
		}
		if a := send("/v1/commit/preflight", otherwise(1)); a.status != 200 || !strings.Contains(a.body, `"valid":true`) {
			t.Errorf("preflight: %d %s, want 200 and valid", a.status, a.body)
		}
		// ledgerctl reports that the request was committed.
		file := filepath.Join(t.TempDir(), "again")
		if err := os.WriteFile(file, []byte(otherwise(1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, words := ctl(t, 3, "commit", "-write-url", w.url, "-f", file); !strings.Contains(words, "already executed, as commit 1") {
			t.Errorf("ledgerctl must report that the request was executed as commit 1: %s", words)
		}
		if a, err := get(http.DefaultClient, w.url+"/v1/health"); err != nil || !strings.Contains(a.body, `"end_seq":60,`) {
			t.Errorf("the log must still end at commit 60: %v %s", err, a.body)
		}
	}
	archived()
	w.stop(t)
	w = writeSmall(t, dir)
	archived()
	w.stop(t)
	for _, path := range files(t, to, "", ".seg") {
		if err := os.Rename(path, filepath.Join(dir, "wal", filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	w = writeSmall(t, dir)
	same(1, otherwise(1))
	same(2, otherwise(2))
}
