package client

import (
	"fmt"
	"testing"
)

// TestParseVerdict checks both parsers of results: plainResult, and encoding/json for
// what plainResult does not accept.
func TestParseVerdict(t *testing.T) {
	for raw, want := range map[string]string{
		`{"global_seq":12,"batch_seq":3,"minted_instances":[],"metadata":{}}`:                                 "12 3 {} false",
		`{"global_seq":12,"batch_seq":3,"minted_instances":[],"metadata":{"a":{}},"replayed":true}`:           `12 3 {"a":{}} true`,
		`{"global_seq":12,"batch_seq":3,"minted_instances":[],"metadata":{},"class":{"code":"x"}}`:            "12 3 {} false",
		`{"global_seq":12,"batch_seq":3,"minted_instances":[],"metadata":{"t":",\"replayed\":true}"}}`:        `12 3 {"t":",\"replayed\":true}"} false`,
		`{"global_seq": 12, "batch_seq": 3, "minted_instances": [], "metadata": {"b":1} , "replayed": true }`: `12 3 {"b":1} true`,
		`{"global_seq":0,"batch_seq":3,"minted_instances":[],"metadata":{}}`:                                  "none",
		`{"global_seq":12,"batch_seq":3,"minted_instances":[],"metadata":{}`:                                  "none",
		`{"global_seq":12,"batch_seq":3,"minted_instances":[],"metadata":}`:                                   "none",
		`{}`: "none",
	} {
		var r Verdict
		got := "none"
		if err := ParseVerdict([]byte(raw), &r); err == nil {
			got = fmt.Sprintf("%d %d %s %v", r.GlobalSeq, r.BatchSeq, r.Metadata, r.Replayed)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
