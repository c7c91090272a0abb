package httpserver

import (
	"fmt"
	"strings"
	"testing"
)

func TestETag(t *testing.T) {
	tag := string(AppendETag(nil, ContentHash([]byte("data"))))
	if tag != `"`+fmt.Sprintf("%016x", ContentHash([]byte("data")))+`"` || len(tag) != ETagLength {
		t.Errorf("the tag is %s, want the hash in 16 digits, quoted", tag)
	}
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{nil, false},
		{[]string{tag}, true},
		{[]string{"W/" + tag}, true},
		{[]string{"*"}, true},
		{[]string{`"other"`, tag}, true},
		{[]string{`"other", W/"x" , ` + tag}, true},
		{[]string{`"a,b",` + tag}, true},
		{[]string{`"other"`}, false},
		{[]string{strings.Trim(tag, `"`)}, false},
		{[]string{`"unclosed`}, false},
		{[]string{`nonsense`, tag}, true},
		{[]string{`,,, `}, false},
	} {
		if got := MatchesETag(c.values, tag); got != c.want {
			t.Errorf("%q matches: %v, want %v", c.values, got, c.want)
		}
	}
}

// The hash is part of the API: other read daemons of the same ledger, and later
// builds, must compute the same one.
func TestContentHash(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 70 {
		for _, fill := range []string{"\x00", "a", "b"} {
			s := strings.Repeat(fill, n)
			if n > 0 || fill == "a" {
				if other, ok := seen[ContentHash([]byte(s))]; ok {
					t.Errorf("%q and %q have the same hash", s, other)
				}
				seen[ContentHash([]byte(s))] = s
			}
		}
	}
	data := []byte(`{"container_id":1,"balances":[{"class_id":1,"key":0,"quantity":5}]`)
	base := ContentHash(data)
	for bit := range len(data) * 8 {
		data[bit/8] ^= 1 << (bit % 8)
		if ContentHash(data) == base {
			t.Errorf("bit %d does not matter", bit)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	if base != goldenHash {
		t.Errorf("the hash is %#x, want %#x, as in earlier builds", base, uint64(goldenHash))
	}
}

const goldenHash = 0x397cc820513f7fc6
