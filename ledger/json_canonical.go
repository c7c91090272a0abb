package ledger

import (
	"bytes"
	"slices"
)

// appendCompact appends well-formed JSON without its whitespace.
func appendCompact(dst, text []byte) []byte {
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\':
			dst = append(dst, c)
			i++
			c = text[i]
		case c == '"':
			inString = !inString
		case !inString && c <= ' ':
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// A canonicalizer writes JSON values so that those that differ only in whitespace,
// escapes and the order of fields get equal bytes: the fields of objects sorted by
// name, strings escaped as AppendString escapes them, numbers as they were spelled, no
// whitespace.
type canonicalizer struct {
	jsonScanner
	fields []segment // fields of the objects that value is inside of
	moved  []byte    // an object's fields while they are put in order
}

// A segment is a range of bytes in the output.
type segment struct{ from, to int }

// value appends the canonical form of the value at the position, which must be
// well-formed. Its recursion is as deep as the value is nested, so the parser's limit
// on levels limits it too.
func (c *canonicalizer) value(dst []byte) []byte {
	switch c.peek() {
	case '{':
		return c.appendObject(dst)
	case '[':
		c.pos++
		dst = append(dst, '[')
		for first := true; c.more(']', first); first = false {
			if !first {
				dst = append(dst, ',')
			}
			dst = c.value(dst)
		}
		return append(dst, ']')
	case '"':
		return c.appendText(dst)
	}
	start := c.pos
	c.skip(1)
	return append(dst, c.data[start:c.pos]...)
}

// appendText appends the string at the position.
func (c *canonicalizer) appendText(dst []byte) []byte {
	raw, escaped, _ := c.str()
	if escaped {
		c.text = appendUnescaped(c.text[:0], raw)
		raw = c.text
	}
	return appendQuoted(dst, raw)
}

// appendObject appends the fields as they come, then sorts them if they are not
// sorted. Names differ, and a quoted name is no prefix of another, so comparing
// whole fields compares names.
func (c *canonicalizer) appendObject(dst []byte) []byte {
	c.pos++
	dst = append(dst, '{')
	base, start := len(c.fields), len(dst)
	for first := true; c.more('}', first); first = false {
		if !first {
			dst = append(dst, ',')
		}
		from := len(dst)
		dst = c.appendText(dst)
		c.colon()
		dst = append(dst, ':')
		dst = c.value(dst)
		c.fields = append(c.fields, segment{from - start, len(dst) - start})
	}
	fields := c.fields[base:]
	c.fields = c.fields[:base]
	c.moved = append(c.moved[:0], dst[start:]...)
	byName := func(a, b segment) int { return bytes.Compare(c.moved[a.from:a.to], c.moved[b.from:b.to]) }
	if !slices.IsSortedFunc(fields, byName) {
		slices.SortFunc(fields, byName)
		dst = dst[:start]
		for i, f := range fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, c.moved[f.from:f.to]...)
		}
	}
	return append(dst, '}')
}
