package ledger

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestSetHeaderKey(t *testing.T) {
	tests := []struct {
		body   string // key in the body
		header []string
		want   string // the key, or the error
	}{
		{"", nil, ""},
		{"b", nil, "b"},
		{"", []string{"h"}, "h"},
		{"k", []string{"k"}, "k"},
		{"", []string{"k", "k"}, "k"},
		{"", []string{""}, "InvalidRequest X-Idempotency-Key -1"},
		{"k", []string{"k", ""}, "InvalidRequest X-Idempotency-Key -1"},
		{"", []string{"a\tb"}, "InvalidRequest X-Idempotency-Key -1"},
		{"", []string{"é"}, "InvalidRequest X-Idempotency-Key -1"},
		{"", []string{strings.Repeat("k", 255)}, strings.Repeat("k", 255)},
		{"", []string{strings.Repeat("k", 256)}, "InvalidRequest X-Idempotency-Key -1"},
		{"b", []string{"h"}, "IdempotencyKeyMismatch  -1"},
		{"", []string{"h", "i"}, "IdempotencyKeyMismatch  -1"},
		{"h", []string{"h", "i"}, "IdempotencyKeyMismatch  -1"},
	}
	for _, tt := range tests {
		body := oneTransfer
		if tt.body != "" {
			body = strings.TrimSuffix(body, "}") + `,"idempotency_key":"` + tt.body + `"}`
		}
		tx, err := parseOne(body)
		if err != nil {
			t.Fatal(err)
		}
		err = tx.SetHeaderKey(tt.header)
		if err != nil {
			if show(err) != tt.want {
				t.Errorf("%q and %q: %v, want %s", tt.body, tt.header, err, tt.want)
			}
			continue
		}
		if string(tx.Key) != tt.want || (tx.Hash != [16]byte{}) != (tt.want != "") {
			t.Errorf("%q and %q: key %q, hash %x; want key %q, and a hash only if there is a key", tt.body, tt.header, tx.Key, tx.Hash, tt.want)
		}
	}
	tx, _ := parseOne(strings.TrimSuffix(oneTransfer, "}") + `,"idempotency_key":"b"}`)
	if err := tx.SetHeaderKey([]string{"h"}); len(err.Details) != 2 || err.Details[0] != Text("header_key", "h") || err.Details[1] != Text("body_key", "b") {
		t.Errorf("details %v, want header_key h and body_key b", err.Details)
	}
}

// hashOf returns the hash of a transaction with one CreateContainer. args are
// its arguments, and rest is the rest of the body.
func hashOf(t *testing.T, args, rest string) [16]byte {
	t.Helper()
	tx, err := parseOne(`{"operations":[{"op":"CreateContainer","args":{` + args + `}}],"idempotency_key":"k"` + rest + `}`)
	if err != nil {
		t.Fatal(err)
	}
	return tx.Hash
}

func TestHashIsOfTheRequestNotItsSpelling(t *testing.T) {
	const args = `"container_id":1,"kind":"Slots"`
	base := hashOf(t, args, "")
	md := hashOf(t, args, `,"metadata":{"a":{"x":1,"y":[true,"é"]},"b":2.50}`)
	same := []struct {
		hash       [16]byte
		args, rest string
	}{
		{base, `"kind": "\u0053lots" , "container_id" : 1`, ""},
		{base, args + `,"owner":null`, ""},
		{base, args, `,"metadata":{}`},
		{base, args, `,"metadata": { } `},
		{md, args, `,"metadata": {"b": 2.50, "\u0061": {"y":[true ,"\u00e9"],"x":1}}`},
	}
	for _, tt := range same {
		if hashOf(t, tt.args, tt.rest) != tt.hash {
			t.Errorf("%s%s has a different hash", tt.args, tt.rest)
		}
	}
	seen := map[[16]byte]string{base: "", md: "md"}
	for _, tt := range []struct{ args, rest string }{
		{`"container_id":2,"kind":"Slots"`, ""},
		{`"container_id":1,"kind":"Standard"`, ""},
		{args + `,"owner":1`, ""},
		{args + `,"slot_count":64`, ""}, // the default, given explicitly
		{args, `,"metadata":{"a":1}`},
		{args, `,"metadata":{"a":1.0}`},
		{args, `,"metadata":{"a":"1"}`},
		{args, `,"metadata":{"a":[1]}`},
		{args, `,"metadata":{"a":{}}`},
		{args, `,"metadata":{"a":null}`},
		{args, `,"metadata":{"a":{"x":1,"y":["é",true]},"b":2.50}`},
	} {
		hash := hashOf(t, tt.args, tt.rest)
		if other, ok := seen[hash]; ok {
			t.Errorf("%s%s has the same hash as %s", tt.args, tt.rest, other)
		}
		seen[hash] = tt.args + tt.rest
	}
	// The hash does not depend on the idempotency key, nor on whether it is in the
	// header or the body.
	tx, _ := parseOne(`{"operations":[{"op":"CreateContainer","args":{` + args + `}}]}`)
	if err := tx.SetHeaderKey([]string{"other"}); err != nil || tx.Hash != base {
		t.Errorf("hash %x from the header, %x from the body (%v)", tx.Hash, base, err)
	}
	// The log stores hashes, so they must not change between versions.
	if got, want := hex.EncodeToString(md[:]), goldenHash; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

// goldenHash is the hash of 00 01 01 03 01 02 and the metadata in canonical
// form. It was computed with another program.
const goldenHash = "bccc233c27495bca3b6983f69624088c"

func TestSeal(t *testing.T) {
	parsed, err := parseOne(keyedTransfer)
	if err != nil {
		t.Fatal(err)
	}
	made := Transaction{Ops: parsed.Ops, Key: parsed.Key, Metadata: parsed.Metadata}
	made.Seal()
	if made.Hash != parsed.Hash {
		t.Errorf("hash %x, want %x, as of the parsed transaction", made.Hash, parsed.Hash)
	}
	made = Transaction{Ops: parsed.Ops}
	if made.Seal(); made.Hash != [16]byte{} {
		t.Errorf("hash %x without a key, want none", made.Hash)
	}
}
