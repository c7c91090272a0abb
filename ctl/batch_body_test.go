package ctl

import (
	"strings"
	"testing"
)

// TestBatchBodyIsStrict checks that a file with a body of /v1/commit/batch is parsed as
// strictly as the endpoint parses it.
func TestBatchBodyIsStrict(t *testing.T) {
	for body, want := range map[string]string{
		`{"transactions":[{},{}],"transactions":[{}]}`:              "- is not a batch: it has transactions twice",
		`{"on_error":"stop","transactions":[{}],"on_error":"stop"}`: "- is not a batch: it has on_error twice",
		`{"transactions":[{}],"on_error":null}`:                     "- is not a batch: its on_error is null, but must be continue or stop",
		`{"transactions":[{}],"on_error":1}`:                        "- is not a batch: its on_error is 1, but must be continue or stop",
		`{"transactions":{}}`:                                       "- is not a batch: it has no transactions: give an array with at least one",
		`{"transactions":null}`:                                     "- is not a batch: it has no transactions: give an array with at least one",
		`{"on_error":"stop"}`:                                       "- is not a batch: it has no transactions: give an array with at least one",
		`{"transactions":[{}],"x":1}`:                               `- is not a batch: it has an unknown field "x"`,
		`{"transactions":[{}]} {}`:                                  "- is not a batch: invalid character",
		`{"transactions":[{}]} }`:                                   "- is not a batch: invalid character",
		`{"transactions":[{}]`:                                      "- is not a batch: ",
	} {
		var words strings.Builder
		if code := Main([]string{"batch", "-"}, strings.NewReader(body), &words, &words, noEnv); code != exitUsage || !strings.Contains(words.String(), want) {
			t.Errorf("%s: exit code %d, want %d and %q: %s", body, code, exitUsage, want, &words)
		}
	}
}
