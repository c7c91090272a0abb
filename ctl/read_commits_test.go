package ctl

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCommitNamesAreAskedOnce checks that a list of commits requests each name
// only once, even after commits that change names. So the number of requests
// for a long list is limited.
func TestCommitNamesAreAskedOnce(t *testing.T) {
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch {
		case r.URL.Path == "/v1/read/commits":
			const move = `{"op":"TransferFungible","args":{"from_container":7,"to_container":8,"class_id":1,"key":0,"quantity":5}}`
			const create = `{"op":"CreateContainer","args":{"container_id":9,"kind":"Standard","owner":null,"name":"new"}}`
			fmt.Fprint(w, `{"data":{"commits":[`)
			for i, op := range []string{move, create, move, create, move} {
				fmt.Fprintf(w, `%s{"global_seq":%d,"batch_seq":1,"committed_at":"2026-01-02T03:04:05Z","operations":[%s],"minted_instances":[],"metadata":{}}`,
					[2]string{"", ","}[min(i, 1)], i+1, op)
			}
			fmt.Fprint(w, `]},"freshness":{"checkpoint_seq":5,"commit_log_seq":5}}`)
		case strings.HasPrefix(r.URL.Path, "/v1/read/container/"):
			fmt.Fprintf(w, `{"data":{"container_id":7,"name":"n%s","kind":"Standard"}}`, r.URL.Path[len("/v1/read/container/"):])
		default:
			fmt.Fprint(w, `{"data":{"class_id":1,"name":"Euro","fungible":true,"decimals":2,"code":"EUR"}}`)
		}
	}))
	defer server.Close()
	var out, words bytes.Buffer
	code := Main([]string{"read", "commits", "-read-url", server.URL}, strings.NewReader(""), &out, &words, func(string) (string, bool) { return "", false })
	if code != 0 || strings.Count(out.String(), "from_container=n7 to_container=n8 class_id=EUR") != 3 || strings.Count(out.String(), "container_id=9") != 2 {
		t.Fatalf("exit code %d, want 0, three transfers with names and two created containers\n%s%s", code, &out, &words)
	}
	for _, path := range []string{"/v1/read/container/7", "/v1/read/container/8", "/v1/read/class/1"} {
		if asked[path] != 1 {
			t.Errorf("%s was requested %d times, want once", path, asked[path])
		}
	}
}
