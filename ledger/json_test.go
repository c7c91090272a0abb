package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// wellFormed reports whether the scanner must accept the text. It uses encoding/json
// for the syntax, and walks over the tokens to find what encoding/json accepts but the
// scanner must not.
func wellFormed(text []byte, maxLevel int) bool {
	if !json.Valid(text) || !utf8.Valid(text) || loneSurrogate(text) {
		return false
	}
	type object struct {
		names map[string]bool // nil: an array
		value bool            // a value comes next, not a name
	}
	var open []object
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return true // the end: the text is valid
		}
		delim, _ := token.(json.Delim)
		top := len(open) - 1
		if delim == '}' || delim == ']' {
			open = open[:top]
			continue
		}
		if top >= 0 && open[top].names != nil {
			if !open[top].value {
				name := token.(string)
				if open[top].names[name] {
					return false
				}
				open[top].names[name] = true
			}
			open[top].value = !open[top].value
		}
		switch delim {
		case '{':
			open = append(open, object{names: map[string]bool{}})
		case '[':
			open = append(open, object{})
		}
		if len(open) > maxLevel {
			return false
		}
	}
}

// loneSurrogate reports whether valid JSON has an escape for half a surrogate pair.
func loneSurrogate(text []byte) bool {
	half := func(i int, from, to int64) bool {
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return false
		}
		var r int64
		fmt.Sscanf(string(text[i+2:i+6]), "%x", &r)
		return r >= from && r <= to
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch {
		case half(i, 0xd800, 0xdbff):
			if !half(i+6, 0xdc00, 0xdfff) {
				return true
			}
			i += 11
		case half(i, 0xdc00, 0xdfff):
			return true
		default:
			i++
		}
	}
	return false
}

// scan reports whether the scanner accepts the text.
func scan(text []byte, maxLevel int) (*jsonScanner, bool) {
	s := &jsonScanner{data: text, maxLevel: maxLevel}
	return s, s.skip(1) && s.end()
}

func TestScanner(t *testing.T) {
	good := []string{
		`0`, `-0`, `-1.5e+10`, `0.1`, `1E5`, `""`, `true`, `false`, `null`, `[]`, `{}`, " \t\r\n[ 1 , 2 ] ",
		`{"a":{"b":[{},[],{"c":null}]},"b":1}`, `"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00"`, `"é€😀"`,
		`[[[[1]]]]`, `{"a":1,"A":2}`, `{"a":{"a":1},"b":{"a":1}}`, `{"a\\":1,"a":2}`, `{"":1}`,
	}
	bad := []string{
		``, ` `, `{`, `[`, `]`, `}`, `"`, `"\`, `"\u`, `"\u12`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `[1,]`, `[,1]`,
		`[1 2]`, `{"a":1 "b":2}`, `{"a" 1}`, `01`, `+1`, `-`, `1.`, `.5`, `1e`, `1e+`, `0x1`, `-01`, `NaN`, `nul`, `truth`, `'a'`,
		"\"\x01\"", "\"\n\"", `"\x"`, `"\u00g0"`, "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}",
		`"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\ud800x"`, `"\ud800\ud800"`, `{} {}`, `{}x`, `1 1`, "\x00", "{}\x00",
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":[{"b":1,"b":1}]}`, `{"":1,"":2}`, `[[[[[1]]]]]`, `{"a":[{"b":[{}]}]}`,
		`{"\ud83d\ude00":1,"😀":2}`, `{"a/":1,"a\/":2}`, `[}`, `{]`, `{"a":1]`,
	}
	for _, text := range good {
		if s, ok := scan([]byte(text), 4); !ok || !wellFormed([]byte(text), 4) {
			t.Errorf("%q is rejected: %v", text, s.err)
		}
	}
	for _, text := range bad {
		s, ok := scan([]byte(text), 4)
		if ok || wellFormed([]byte(text), 4) {
			t.Errorf("%q is accepted", text)
		} else if s.err == nil || s.err.Code != MalformedJSON || s.err.Details[0].Name != "offset" {
			t.Errorf("%q: %v, want MalformedJSON with an offset", text, s.err)
		}
	}
}

func TestRepeatedNamesInLargeObjects(t *testing.T) {
	for _, n := range []int{2, linearNames, linearNames + 1, 1000} {
		for _, repeat := range []string{"", "f0", `\u00660`, fmt.Sprintf("f%d", n-1)} {
			text := []byte(`{"nested":{"f0":[]}`)
			for i := range n {
				text = fmt.Appendf(text, `,"f%d":{"f%d":0}`, i, i)
			}
			if repeat != "" {
				text = fmt.Appendf(text, `,"%s":1`, repeat)
			}
			text = append(text, '}')
			if _, ok := scan(text, 4); ok != (repeat == "") {
				t.Errorf("%d fields, then %q again: accepted is %t, want %t", n, repeat, ok, !ok)
			}
		}
	}
}

func TestNestingIsLimitedNotTheStack(t *testing.T) {
	deep := bytes.Repeat([]byte("["), 1<<20)
	s, ok := scan(deep, DefaultNesting)
	if ok || s.pos != DefaultNesting || len(s.open) > DefaultNesting {
		t.Errorf("the scanner stopped at %d with %d open values: %v; want an error at %d", s.pos, len(s.open), s.err, DefaultNesting)
	}
	text := append(bytes.Repeat([]byte("["), 100_000), bytes.Repeat([]byte("]"), 100_000)...)
	if s, ok := scan(text, 100_000); !ok {
		t.Errorf("100,000 levels are rejected although the limit allows them: %v", s.err)
	}
}

func TestUnescapingIsThatOfEncodingJSON(t *testing.T) {
	for _, text := range []string{
		`""`, `"plain é"`, `"\"\\\/\b\f\n\r\t"`, `"\u0041\u00e9\u20AC\ud83d\uDE00"`, `"a\u0000b"`, `"\\u0041"`, `"\ufffd\uffff"`,
	} {
		s := jsonScanner{data: []byte(text)}
		raw, escaped, ok := s.str()
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(text, err)
		}
		if got := string(appendUnescaped(nil, raw)); !ok || got != want || escaped != strings.Contains(text, `\`) {
			t.Errorf("%s: %q, want %q (escapes: %v)", text, got, want, escaped)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range []string{oneTransfer, keyedTransfer, `{"a":1,"\u0061":2}`, `["\ud83d\ude00\n",-1.5e3,{}]`, `[[[[[[[[]]]]]]]]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := scan(text, 7)
		if want := wellFormed(text, 7); ok != want {
			t.Fatalf("accepted is %v, want %v: %v", ok, want, s.err)
		}
		if !ok {
			return
		}
		compact := appendCompact(nil, text)
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil || !bytes.Equal(compact, want.Bytes()) {
			t.Fatalf("compact form %q, want %q (%v)", compact, &want, err)
		}
		if len(compact) != len(text)-s.spaces {
			t.Fatalf("%d bytes of whitespace were counted in %q, want %d", s.spaces, text, len(text)-len(compact))
		}
		canonical := canonicalOf(text)
		if again := canonicalOf(canonical); !bytes.Equal(again, canonical) {
			t.Fatalf("the canonical form %q has a different canonical form: %q", canonical, again)
		}
		if !sameJSON(text, canonical) {
			t.Fatalf("the canonical form of %q is a different value: %q", text, canonical)
		}
	})
}

func canonicalOf(text []byte) []byte {
	var c canonicalizer
	c.data, c.maxLevel = text, 100
	return c.value(nil)
}

// sameJSON compares two texts as JSON values. Numbers are compared as they are
// spelled.
func sameJSON(a, b []byte) bool {
	var form [2][]byte
	for i, text := range [][]byte{a, b} {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return false
		}
		form[i] = fmt.Appendf(nil, "%#v", v) // prints maps in the order of their keys
	}
	return bytes.Equal(form[0], form[1])
}

func TestCanonicalForm(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{}`, `{}`},
		{` { "b" : 1 , "a" : [ 1 , { "y" : null , "x" : 1.50 } ] } `, `{"a":[1,{"x":1.50,"y":null}],"b":1}`},
		{`{"\u0062":"\u0041\/","a":"é\u00e9"}`, `{"a":"éé","b":"A/"}`},
		{`{"aa":1,"a":2,"a\"":3}`, `{"a":2,"a\"":3,"aa":1}`},
		{`{"c":{"z":1,"y":{"b":0,"a":0}},"b":[],"a":{}}`, `{"a":{},"b":[],"c":{"y":{"a":0,"b":0},"z":1}}`},
	}
	for _, tt := range tests {
		got := string(canonicalOf([]byte(tt.in)))
		if got != tt.want || !sameJSON([]byte(tt.in), []byte(tt.want)) {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestAppendStringIsThatOfEncodingJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", `"`, `\`, "\n", "\r", "\t", "\b", "\f", "\x00", "\x1f", "\x7f", "<>&", "é", "€", "😀", "\u2028", "\u2029", "\ufffd", "\xff", "\xed\xa0\x80", "\xf0\x9f"}
	for range 5000 {
		var b strings.Builder
		for range rng.IntN(8) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(b.String()); err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, b.String()); string(got) != strings.TrimSuffix(want.String(), "\n") {
			t.Fatalf("%q: %s, want %s", b.String(), got, &want)
		}
	}
}
