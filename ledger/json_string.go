package ledger

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// plainASCII marks the bytes that stand for themselves in a JSON string.
var plainASCII = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// str reads a string. raw is the text between its quotes. escaped reports
// whether it has escapes, which are then all valid. ok is false, and err nil, if
// no string begins here.
func (s *jsonScanner) str() (raw []byte, escaped, ok bool) {
	if s.peek() != '"' {
		return nil, false, false
	}
	d, start := s.data, s.pos+1
	for i := start; i < len(d); {
		c := d[i]
		if plainASCII[c] {
			i++
			continue
		}
		n := 0
		switch {
		case c == '"':
			s.pos = i + 1
			return d[start:i], escaped, true
		case c == '\\':
			n = s.escape(i)
			escaped = true
		case c < ' ':
			s.malformed(i, "an unescaped control character in a string at byte %d", i)
		default:
			n = s.rune(i)
		}
		if n == 0 {
			return nil, false, false
		}
		i += n
	}
	s.malformed(len(d), "the string that begins at byte %d has no end", start-1)
	return nil, false, false
}

// rune returns the length of the UTF-8 sequence at i, 0 on a fault.
func (s *jsonScanner) rune(i int) int {
	r, n := utf8.DecodeRune(s.data[i:])
	if r == utf8.RuneError && n == 1 {
		s.malformed(i, "invalid UTF-8 at byte %d", i)
		return 0
	}
	return n
}

// escape returns the length of the escape sequence at i, or 0 on a fault. A
// surrogate pair counts as one sequence.
func (s *jsonScanner) escape(i int) int {
	d := s.data
	if i+1 < len(d) && bytes.IndexByte([]byte(`"\/bfnrt`), d[i+1]) >= 0 {
		return 2
	}
	r, ok := unicodeEscape(d[i:])
	if !ok {
		s.malformed(i, "an invalid escape sequence at byte %d", i)
		return 0
	}
	if !utf16.IsSurrogate(r) {
		return 6
	}
	low, ok := unicodeEscape(d[i+6:])
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		s.malformed(i, "a surrogate without its other half at byte %d", i)
		return 0
	}
	return 12
}

// unicodeEscape reads the \uXXXX that b begins with.
func unicodeEscape(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// appendUnescaped appends the text that the raw content of a string represents.
// All escapes must be valid, as str leaves them.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i:]
		if raw[1] != 'u' {
			dst = append(dst, unescapeByte(raw[1]))
			raw = raw[2:]
			continue
		}
		r, _ := unicodeEscape(raw)
		raw = raw[6:]
		if utf16.IsSurrogate(r) {
			low, _ := unicodeEscape(raw)
			r = utf16.DecodeRune(r, low)
			raw = raw[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// unescapeByte returns the byte that a backslash and c represent.
func unescapeByte(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // quote, backslash, slash
}

// AppendString appends s as a JSON string. It escapes what encoding/json
// escapes if HTML escaping is off; invalid UTF-8 becomes \ufffd.
func AppendString(dst []byte, s string) []byte { return appendQuoted(dst, s) }

func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if plainASCII[s[i]] {
			i++
			continue
		}
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			// A string conversion of at most 4 bytes stays on the stack.
			r, n = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if (r != utf8.RuneError || n > 1) && r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r)
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
