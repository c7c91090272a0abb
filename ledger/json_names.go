package ledger

import (
	"bytes"
	"slices"
)

// A nameSpan is a field name without its quotes. Offsets below len(data) are in
// data; a name that had escapes is in text, at its offsets less len(data).
type nameSpan struct{ start, end uint32 }

// maxJSONText is the maximum length of a text in bytes. A nameSpan can then
// address it, and as many bytes of unescaped names.
const maxJSONText = 1<<31 - 1

// linearNames is the number of names up to which comparing all pairs is cheapest.
const linearNames = 12

func (s *jsonScanner) name(n nameSpan) []byte {
	if past := uint32(len(s.data)); n.start >= past {
		return s.text[n.start-past : n.end-past]
	}
	return s.data[n.start:n.end]
}

// pushName reads a field name and its colon, and keeps the name until the end
// of the object.
func (s *jsonScanner) pushName() bool {
	raw, escaped, ok := s.str()
	if !ok {
		return s.unexpected("a field name in quotes")
	}
	end := s.pos - 1
	n := nameSpan{uint32(end - len(raw)), uint32(end)}
	if escaped {
		n.start = uint32(len(s.data) + len(s.text))
		s.text = appendUnescaped(s.text, raw)
		n.end = uint32(len(s.data) + len(s.text))
	}
	s.names = append(s.names, n)
	return s.colon()
}

// popNames is called at the end of an object, whose names begin at index base. It
// checks that they differ, and drops them. An object of n fields costs O(n log n).
func (s *jsonScanner) popNames(base int) bool {
	names := s.names[base:]
	s.names = s.names[:base]
	if len(names) <= linearNames {
		for i, a := range names {
			for _, b := range names[:i] {
				if a.end-a.start == b.end-b.start && bytes.Equal(s.name(a), s.name(b)) {
					return s.repeated(s.name(a))
				}
			}
		}
		return true
	}
	slices.SortFunc(names, func(a, b nameSpan) int { return bytes.Compare(s.name(a), s.name(b)) })
	for i := 1; i < len(names); i++ {
		if bytes.Equal(s.name(names[i-1]), s.name(names[i])) {
			return s.repeated(s.name(names[i]))
		}
	}
	return true
}

// repeated records that an object has two fields with the same name.
func (s *jsonScanner) repeated(name []byte) bool {
	return s.malformed(s.pos, "the field %q is repeated in one object, before byte %d", clip(name), s.pos)
}

// clipLength is the maximum number of bytes of a client's text that clip keeps.
const clipLength = 128

// clip shortens a client's text for an error.
func clip[T string | []byte](s T) string {
	if len(s) <= clipLength {
		return string(s)
	}
	return string(bytes.ToValidUTF8([]byte(s[:clipLength]), nil)) + "…"
}
