package ctl

import (
	"strings"
	"testing"
)

// TestAddressFlag parses a list of addresses, and checks that invalid lists are
// rejected.
func TestAddressFlag(t *testing.T) {
	var got string
	if err := (baseURL{&got}).Set("a:1, https://b:2/,unix:/run/x"); err != nil || got != "http://a:1,https://b:2,unix:/run/x" {
		t.Errorf("the list of addresses became %q, %v; want http://a:1,https://b:2,unix:/run/x", got, err)
	}
	for _, bad := range []string{"a:1,", ",", "http://a:1,ftp://b", strings.Repeat("a:1,", 16) + "a:1"} {
		if err := (baseURL{&got}).Set(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
