package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const warehouse = "../../testdata/warehouse"

// TestWarehouseFilesAreGenerated checks that the committed files are what the
// generator writes.
func TestWarehouseFilesAreGenerated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if *update {
		dir = warehouse
	}
	if out, err := exec.Command("go", "run", warehouse+"/gen", dir).CombinedOutput(); err != nil {
		t.Fatalf("the generator failed: %v\n%s", err, out)
	}
	for _, name := range []string{"transactions.ndjson", "refused.txt", "expected.txt"} {
		if diff := cmp.Diff(lines(t, filepath.Join(warehouse, name)), lines(t, filepath.Join(dir, name))); diff != "" {
			t.Errorf("%s is not what the generator writes (-committed +generated):\n%s", name, diff)
		}
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestWarehouse runs the scenario, once with one transaction per request and
// once in batches. It compares every read with the generator's own ledger.
func TestWarehouse(t *testing.T) {
	for name, play := range map[string]func(*testing.T, string) []string{"commits": playCommits, "batches": playBatches} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := startWriter(t, dir)
			r := startReader(t, dir)
			if diff := cmp.Diff(refusals(t), play(t, w.url)); diff != "" {
				t.Errorf("rejections (-expected +got):\n%s", diff)
			}
			checkWarehouse(t, r.url)
			w.stop()
			r.stop()
			r = startReader(t, dir) // from the log alone
			checkWarehouse(t, r.url)
		})
	}
}

// refusals returns the expected rejections: line, code and operation_index.
func refusals(t *testing.T) []string {
	return lines(t, filepath.Join(warehouse, "refused.txt"))
}

type refusal struct {
	Code  string
	Index *int `json:"operation_index"`
}

func (r *refusal) line(n int) string {
	index := -1
	if r.Index != nil {
		index = *r.Index
	}
	return fmt.Sprintf("%d %s %d", n, r.Code, index)
}

// playCommits sends one transaction per request, and returns the rejections.
func playCommits(t *testing.T, url string) (refused []string) {
	for i, tx := range lines(t, filepath.Join(warehouse, "transactions.ndjson")) {
		a, err := post(http.DefaultClient, url+"/v1/commit", tx)
		if err != nil {
			t.Fatal(err)
		}
		if a.status == 200 {
			continue
		}
		var body struct{ Error refusal }
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(err)
		}
		refused = append(refused, body.Error.line(i+1))
	}
	return refused
}

// playBatches sends all transactions in batches of 50, and returns the rejections.
func playBatches(t *testing.T, url string) (refused []string) {
	const size = 50
	all := lines(t, filepath.Join(warehouse, "transactions.ndjson"))
	for first := 0; first < len(all); first += size {
		some := all[first:min(first+size, len(all))]
		a, err := post(http.DefaultClient, url+"/v1/commit/batch", `{"transactions":[`+strings.Join(some, ",")+`]}`)
		if err != nil || a.status != 200 {
			t.Fatalf("a batch got %v %d %s, want 200", err, a.status, a.body)
		}
		var body struct {
			Results []struct{ Error *refusal }
		}
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Results) != len(some) {
			t.Fatalf("%d results for %d transactions", len(body.Results), len(some))
		}
		for i, r := range body.Results {
			if r.Error != nil {
				refused = append(refused, r.Error.line(first+i+1))
			}
		}
	}
	return refused
}

// checkWarehouse sends every read that has a response in expected.txt, and compares
// the responses.
func checkWarehouse(t *testing.T, url string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(warehouse, "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)
	asked := 0
	for in.Scan() {
		path := strings.TrimPrefix(in.Text(), "GET ")
		if !in.Scan() {
			t.Fatalf("no response to %s", path)
		}
		asked++
		a, err := get(http.DefaultClient, url+path+"?wait=20s&min_seq="+lastSeq(in.Text()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in.Text(), a.body); diff != "" {
			t.Errorf("%s (-expected +got):\n%s", path, diff)
		}
	}
	if asked < 50 {
		t.Errorf("only %d reads were sent, want at least 50", asked)
	}
}

// lastSeq returns the commit_log_seq of a response.
func lastSeq(body string) string {
	_, seq, _ := strings.Cut(body, `"commit_log_seq":`)
	return strings.TrimRight(seq, "}")
}
