package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pastOf returns what a read daemon reports about the past of three containers up to
// the given commit: every page of their history, and their balances after every
// seventh commit.
func pastOf(t *testing.T, url string, last int) string {
	t.Helper()
	var all strings.Builder
	for container := 1; container <= 3; container++ {
		for cursor := "start"; cursor != ""; {
			var page struct {
				Data struct {
					Entries []json.RawMessage
					Next    string `json:"next_cursor"`
				}
			}
			path := fmt.Sprintf("%s/v1/read/container/%d/history?limit=100&to_seq=%d", url, container, last)
			if cursor != "start" {
				path += "&cursor=" + cursor
			}
			mustGetReady(t, path, &page)
			for _, e := range page.Data.Entries {
				fmt.Fprintln(&all, container, string(e))
			}
			cursor = page.Data.Next
		}
		for seq := 2; seq <= last; seq += 7 {
			var past struct {
				Balances json.RawMessage
				AsOf     json.RawMessage `json:"as_of"`
			}
			mustGetReady(t, fmt.Sprintf("%s/v1/read/container/%d/balances?at_seq=%d", url, container, seq), &past)
			fmt.Fprintln(&all, container, seq, string(past.Balances), string(past.AsOf))
		}
	}
	return all.String()
}

// mustGetReady is like mustGet, but repeats the request while the history index is
// being built.
func mustGetReady(t *testing.T, url string, into any) {
	t.Helper()
	var a answer
	awaits(t, "the history index is built", func() bool {
		var err error
		if a, err = get(http.DefaultClient, url); err != nil || a.status != 200 && a.status != 503 {
			t.Fatalf("GET %s: %v %d %s", url, err, a.status, a.body)
		}
		return a.status == 200
	})
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatal(a.body, err)
	}
}

// change returns a transaction that adds a random quantity to one of the three
// containers, and transfers one unit between two of them. Its padding fills segments.
func change(rnd *rand.Rand) string {
	from := 1 + rnd.IntN(3)
	return fmt.Sprintf(`{"operations":[{"op":"AddFungible","args":{"container_id":%d,"class_id":1,"key":%d,"quantity":%d}},`+
		`{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":1,"key":0,"quantity":1}}],"metadata":{"pad":"%s"}}`,
		1+rnd.IntN(3), rnd.IntN(3), 1+rnd.IntN(50), from, from%3+1, strings.Repeat("p", 4000))
}

// TestHistoryOfPrograms reads the past of three containers from built daemons:
// from files of the index, after the files are deleted, from a backup, with the
// front of the log archived and moved back, and from a daemon that stops at an
// earlier commit.
func TestHistoryOfPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := writeSmall(t, dir)
	r := readEvery(t, dir, 20)
	rnd := rand.New(rand.NewPCG(14, 1))
	setup := `{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}}`
	for c := 1; c <= 3; c++ {
		setup += fmt.Sprintf(`,{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard","owner":%d}},{"op":"AddFungible","args":{"container_id":%d,"class_id":1,"key":0,"quantity":1000}}`, c, c, c)
	}
	mustCommit(t, w.url, `{"operations":[`+setup+`]}`)
	last := 1
	batch := func(n int) {
		var lines []string
		for range n {
			lines = append(lines, change(rnd))
		}
		if a, err := post(http.DefaultClient, w.url+"/v1/commit/batch", `{"transactions":[`+strings.Join(lines, ",")+`]}`); err != nil || a.status != 200 {
			t.Fatalf("a batch got %v %+v, want 200", err, a)
		}
		last += n
	}
	for range 15 {
		batch(10)
		awaitSeq(t, r.url, last)
	}
	truth := pastOf(t, r.url, last)
	if n := strings.Count(truth, "TransferFungible"); n != 2*(last-1) {
		t.Fatalf("%d entries of %d transfers, want two of each", n, last-1)
	}
	same := func(url, where string) {
		t.Helper()
		if got := pastOf(t, url, last); got != truth {
			t.Errorf("%s: the past differs", where)
		}
	}
	if len(files(t, dir, "history", ".hist")) == 0 {
		t.Error("the index has no file")
	}

	// A daemon that stops in the middle of a batch, next to the other one.
	stop := last - 33
	until := startProcess(t, "ledger-read", "-dir", dir, "-until", fmt.Sprint(stop))
	var state, then struct {
		Balances  json.RawMessage
		Freshness json.RawMessage
	}
	mustGet(t, fmt.Sprintf("%s/v1/read/container/2/balances?at_seq=%d", r.url, stop), &then)
	mustGet(t, until.url+"/v1/read/container/2/balances", &state)
	if want := fmt.Sprintf(`{"checkpoint_seq":%d,"commit_log_seq":%d}`, stop, stop); string(state.Balances) != string(then.Balances) || string(state.Freshness) != want {
		t.Errorf("-until %d has %s, %s, want %s", stop, state.Balances, state.Freshness, then.Balances)
	}
	if pastOf(t, until.url, stop) != pastOf(t, r.url, stop) {
		t.Errorf("-until %d shows a different past", stop)
	}
	if a, err := get(http.DefaultClient, until.url+"/"); err != nil || !strings.Contains(a.body, fmt.Sprintf("as it was after commit %d.", stop)) {
		t.Errorf("the page does not show after which commit the daemon stops: %v %+v", err, a)
	}
	if a, _ := get(http.DefaultClient, w.url+"/v1/health"); strings.Count(a.body, `"name":"read"`) != 1 {
		t.Errorf("the write daemon must list one reader: %s", a.body)
	}

	// All files of the index are deleted while no read daemon runs. The daemon that
	// stops at an earlier commit rebuilds them up to that commit, and the next daemon
	// adds the rest.
	r.stop(t)
	until.stop(t)
	if err := os.RemoveAll(filepath.Join(dir, "history")); err != nil {
		t.Fatal(err)
	}
	until = startProcess(t, "ledger-read", "-dir", dir, "-until", fmt.Sprint(stop))
	shown := pastOf(t, until.url, stop)
	r = readEvery(t, dir, 20)
	batch(25)
	awaitSeq(t, r.url, last)
	truth = pastOf(t, r.url, last)
	if pastOf(t, r.url, stop) != shown || pastOf(t, until.url, stop) != shown {
		t.Error("the past up to where one daemon stops differs")
	}
	until.stop(t)

	// A backup.
	backup := filepath.Join(t.TempDir(), "backup")
	ctl(t, 0, "backup", dir, backup)
	b := readEvery(t, backup, 20)
	same(b.url, "in a backup")
	b.stop(t)

	// The front of the log is archived, and moved back.
	old := filepath.Join(t.TempDir(), "old")
	if moved, _ := ctl(t, 0, "wal", "archive", "-dir", dir, "-to", old); moved == "" {
		t.Fatalf("nothing was archived; checkpoints: %v", files(t, dir, "ckpt", ".ckpt"))
	}
	a, err := get(http.DefaultClient, r.url+"/v1/read/container/1/balances?at_seq=2")
	if err != nil || a.status != 410 {
		t.Fatalf("the past before the archive: %v %d %s, want 410", err, a.status, a.body)
	}
	var gone struct {
		Error struct {
			Details struct {
				First int `json:"first_seq"`
			}
		}
	}
	json.Unmarshal([]byte(a.body), &gone)
	first := gone.Error.Details.First
	for path, status := range map[string]int{
		"history?order=oldest": 410, fmt.Sprintf("history?order=oldest&from_seq=%d", first): 200, fmt.Sprintf("balances?at_seq=%d", first): 200, fmt.Sprintf("balances?at_seq=%d", first-1): 410,
	} {
		if a, err := get(http.DefaultClient, r.url+"/v1/read/container/1/"+path); err != nil || a.status != status {
			t.Errorf("%s after the archive: %v %d %.300s, want %d", path, err, a.status, a.body, status)
		}
	}
	if code, _, words := runProgram(t, "ledger-read", "-dir", dir, "-until", "5", "-listen", "127.0.0.1:0"); code != 1 || !strings.Contains(words, "archived") {
		t.Errorf("-until of what is archived: exit code %d, want 1 and the reason: %s", code, words)
	}
	r.stop(t)
	if err := os.RemoveAll(filepath.Join(dir, "history")); err != nil { // so that the index begins at a checkpoint
		t.Fatal(err)
	}
	r = readEvery(t, dir, 20)
	awaitSeq(t, r.url, last)
	mustGetReady(t, fmt.Sprintf("%s/v1/read/container/1?at_seq=%d", r.url, last), &struct{}{})
	r.stop(t)
	if base := files(t, dir, "history", ".hist"); len(base) == 0 || strings.Contains(base[0], fmt.Sprintf("%020d-", 1)) {
		t.Fatalf("the index does not begin at a checkpoint: %v", base)
	}
	for _, path := range files(t, old, "", ".seg") {
		if err := os.Rename(path, filepath.Join(dir, "wal", filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	r = readEvery(t, dir, 20)
	same(r.url, "with the archived segments back")
}

// TestHistoryOfOwners checks that a token limited to owners sees only the past
// of their containers.
func TestHistoryOfOwners(t *testing.T) {
	t.Parallel()
	dir, auth := t.TempDir(), filepath.Join(t.TempDir(), "auth")
	admin, limited := auth+".all", auth+".seven"
	ctl(t, 0, "token", "new", "all", "-scopes", "commit,read,admin", "-auth-file", auth, "-to", admin)
	ctl(t, 0, "token", "new", "seven", "-scopes", "commit,read", "-owners", "7", "-auth-file", auth, "-to", limited)
	w := startProcess(t, "ledger-write", "-dir", dir, "-segment-size", fmt.Sprint(testSegment), "-auth-file", auth)
	r := startProcess(t, "ledger-read", "-dir", dir, "-auth-file", auth)
	as := func(token string, words ...string) (int, string, string) {
		return runProgram(t, "ledgerctl", append(words, "-write-url", w.url, "-read-url", r.url, "-token-file", token)...)
	}
	do := func(words ...string) string {
		t.Helper()
		code, out, errs := as(admin, words...)
		if code != 0 {
			t.Fatalf("ledgerctl %v: exit code %d, want 0: %s", words, code, errs)
		}
		return out
	}
	do("register", "class", "EUR", "-decimals", "2")
	do("commit", "CreateContainer", "container_id=1", "kind=Standard", "owner=8")
	do("commit", "RemoveContainer", "container_id=1")
	do("create", "mine", "-owner", "7")
	do("create", "other", "-owner", "8")
	do("commit", "CreateContainer", "container_id=1", "kind=Standard", "owner=7")
	do("add", "mine", "10.00", "EUR")
	do("transfer", "mine", "other", "4.00", "EUR")
	for _, c := range []struct {
		words []string
		code  int
		want  string // in the output
	}{
		{[]string{"history", "mine"}, 0, "TransferFungible"},
		{[]string{"statement", "mine", "-class", "EUR", "-from", "2"}, 0, "closing"},
		{[]string{"read", "balances", "mine", "-at", "7"}, 0, "10.00"},
		{[]string{"history", "1"}, 0, "created"},
		{[]string{"read", "container", "1", "-at", "2"}, 3, ""},
		{[]string{"history", "other"}, 3, ""},
		{[]string{"read", "balances", "other", "-at", "8"}, 3, ""},
		{[]string{"statement", "other", "-class", "EUR"}, 3, ""},
		{[]string{"history", "99"}, 3, ""},
	} {
		do("freshness", "-wait", "8")
		code, out, errs := as(limited, c.words...)
		if code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, "removed") {
			t.Errorf("ledgerctl %v: exit code %d, want %d, %q, and nothing removed: %s%s", c.words, code, c.code, c.want, out, errs)
		}
		if c.code != 0 {
			if _, plain, words := as(admin, c.words...); plain == "" && c.words[1] != "99" && c.words[1] != "1" {
				t.Errorf("ledgerctl %v prints nothing with a token for all owners: %s", c.words, words)
			}
		}
	}
	if out := do("history", "1"); strings.Count(out, "\n") != 4 {
		t.Errorf("the history of an id that was used twice must have a header and three changes: %s", out)
	}
}
