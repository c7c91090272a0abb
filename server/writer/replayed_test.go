package writer

import (
	"fmt"
	"strings"
	"testing"
)

// longMetadata returns metadata of more than ledger.MaxInlineMetadata bytes, in
// two spellings.
func longMetadata(i int) (first, other string) {
	note := strings.Repeat("n", 1000)
	return fmt.Sprintf(`{"a":%d,"note":"%s"}`, i, note), fmt.Sprintf(`{"note":"%s","a":%d}`, strings.ReplaceAll(note, "nn", `n\u006e`), i)
}

func replayedTx(i int, metadata string) string {
	return fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}],"idempotency_key":"long-%d","metadata":%s}`, 100+i, i, metadata)
}

// TestReplayedLongMetadata repeats requests whose metadata is too long to be
// remembered. A retry with the same spelling needs no read of the log. A retry
// with another spelling gets the metadata of the first request, read back from
// the log.
func TestReplayedLongMetadata(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	first, other := longMetadata(1)
	told := w.post(200, "/v1/commit", replayedTx(1, first))
	if again := w.post(200, "/v1/commit", replayedTx(1, first)); again.body != told.body || again.header.Get(headerHit) != "hit" || l.readBack.Load() != 0 {
		t.Errorf("the same spelling: %.60q after %d reads of the log, want the first result without a read", again.body, l.readBack.Load())
	}
	if again := w.post(200, "/v1/commit", replayedTx(1, other)); again.body != told.body || l.readBack.Load() != 1 {
		t.Errorf("another spelling: %.60q after %d reads of the log, want the first result after one", again.body, l.readBack.Load())
	}
	// In one batch: a new request, its retry before it is durable, a retry of an
	// old one, and one that is rejected.
	first2, other2 := longMetadata(2)
	got := w.post(200, "/v1/commit/batch", batchOf("", replayedTx(2, first2), replayedTx(2, other2), replayedTx(1, other), replayedTx(1, first2)))
	result := func(seq, batchSeq, i int, metadata string) string {
		return fmt.Sprintf(`{"global_seq":%d,"batch_seq":%d,"minted_instances":[],"metadata":%s,"idempotency_key":"long-%d"}`,
			seq, batchSeq, strings.TrimSuffix(metadata, "}"), i)
	}
	replayed := func(s string) string { return strings.TrimSuffix(s, "}") + `,"replayed":true}` }
	want := `{"results":[` + result(2, 1, 2, first2) + `},` + replayed(result(2, 1, 2, first2)+"}") + `,` + replayed(result(1, 1, 1, first)+"}") + `,{"error":{"code":"IdempotencyConflict"`
	if !strings.HasPrefix(got.body, want) {
		t.Errorf("batch:\n%s\nwant\n%s", shortNotes(got.body), shortNotes(want))
	}
	// The same in a stream, which reads the commits back one at a time.
	lines := strings.Join([]string{replayedTx(1, other), replayedTx(2, other2), replayedTx(2, first2), replayedTx(1, first2), replayedTx(1, other), ""}, "\n")
	got = w.post(200, "/v1/commit/stream", lines, "Content-Type: application/x-ndjson")
	one, two := replayed(result(1, 1, 1, first)+"}")+"\n", replayed(result(2, 1, 2, first2)+"}")+"\n"
	before, rest, _ := strings.Cut(got.body, `{"error":{"code":"IdempotencyConflict"`)
	if _, after, _ := strings.Cut(rest, "\n"); before != one+two+two || after != one {
		t.Errorf("stream:\n%s\nwant commits 1, 2, 2, IdempotencyConflict, 1", shortNotes(got.body))
	}
	// A preflight needs no metadata.
	looks := l.readBack.Load()
	if got := w.post(200, "/v1/commit/preflight", replayedTx(1, other)); !strings.Contains(got.body, `"valid":true`) || l.readBack.Load() != looks {
		t.Errorf("preflight: %s, want valid without a read of the log", got.body)
	}
	// An archived commit can't be read back, and its metadata is not guessed.
	l.archived.Store(1)
	if got := w.post(410, "/v1/commit", replayedTx(1, other)); !strings.Contains(got.body, `"details":{"global_seq":1,`) {
		t.Errorf("archived: %s, want an error that names commit 1", got.body)
	}
	if again := w.post(200, "/v1/commit", replayedTx(1, first)); again.body != told.body {
		t.Errorf("archived, the same spelling: %.60q, want the first result", again.body)
	}
}

func shortNotes(s string) string { return strings.ReplaceAll(s, strings.Repeat("n", 1000), "n…") }

// TestReplayedLongMetadataAfterRestart reads first results back from a log on
// disk, while it is written and after restarts.
func TestReplayedLongMetadataAfterRestart(t *testing.T) {
	dir := t.TempDir()
	w := runWriter(t, dir)
	told := map[int]string{}
	for round := range 3 {
		for i := 10 * round; i < 10*round+10; i++ {
			first, _ := longMetadata(i)
			told[i] = w.post(200, "/v1/commit", replayedTx(i, first)).body
		}
		for _, i := range []int{10*round + 9, 0, 10*round + 5, 1, 2} {
			first, other := longMetadata(i)
			for _, metadata := range []string{other, first} {
				if got := w.post(200, "/v1/commit", replayedTx(i, metadata)); got.body != told[i] {
					t.Errorf("round %d, key %d: %s, want %s", round, i, shortNotes(got.body), shortNotes(told[i]))
				}
			}
		}
		w.end()
		w = runWriter(t, dir)
	}
	w.end()
}
