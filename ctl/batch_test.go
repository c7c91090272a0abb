package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
)

// TestBatchSplitsLines checks that lines beyond the limit of one request go into further
// requests.
func TestBatchSplitsLines(t *testing.T) {
	t.Parallel()
	const lines = 2*ledger.MaxBatch + 1
	for _, c := range []struct {
		name   string
		args   []string
		fail   int // number of the request whose first transaction is rejected; 0: none
		drop   int // number of the request that gets no response; 0: none
		code   int
		sizes  []int // number of transactions in each request
		stderr string
	}{
		{"all", nil, 0, 0, exitDone, []int{ledger.MaxBatch, ledger.MaxBatch, 1}, ""},
		{"one rejected", nil, 1, 0, exitRefused, []int{ledger.MaxBatch, ledger.MaxBatch, 1}, "1 of 20001 transactions failed"},
		{"stop", []string{"-on-error", "stop"}, 2, 0, exitRefused, []int{ledger.MaxBatch, ledger.MaxBatch}, "1 of 20000 transactions failed"},
		{"no response", nil, 0, 2, exitSilent, []int{ledger.MaxBatch, ledger.MaxBatch}, "10000 committed and 0 failed before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sizes []int
			daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/commit/batch" { // a daemon without streams
					http.NewResponseController(w).EnableFullDuplex()
					noPath(w)
					return
				}
				var body struct{ Transactions []json.RawMessage }
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				sizes = append(sizes, len(body.Transactions))
				if len(sizes) == c.drop {
					panic(http.ErrAbortHandler)
				}
				results := make([]string, len(body.Transactions))
				for i := range results {
					results[i] = `{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}`
				}
				if len(sizes) == c.fail {
					results[0] = `{"error":{"code":"GridFull","message":"It is full.","details":{}}}`
				}
				fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
			}))
			input := filepath.Join(t.TempDir(), "lines")
			if err := os.WriteFile(input, bytes.Repeat([]byte(`{"operations":[]}`+"\n"), lines), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			args := append([]string{"batch", "-f", input, "-write-url", daemon.URL}, c.args...)
			code := Main(args, nil, &stdout, &stderr, func(string) (string, bool) { return "", false })
			daemon.Close() // waits for the handler, which appends to sizes
			if code != c.code || !slices.Equal(sizes, c.sizes) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("exit code %d, requests %v, standard error %q; want %d, %v, %q", code, sizes, &stderr, c.code, c.sizes, c.stderr)
			}
		})
	}
}
