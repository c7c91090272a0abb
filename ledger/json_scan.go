package ledger

import "unicode/utf8"

// A jsonScanner reads one JSON text (RFC 8259) in place, strictly: invalid
// UTF-8, lone surrogates, repeated field names and deep nesting are faults too.
// It is not recursive, and the memory that it needs is at most a small multiple of
// the text's size.
//
// Its methods return false on a fault. A fault of the text itself is kept in err
// as MalformedJSON. A method that merely does not find what the caller looked for
// leaves err nil, and skips no more than whitespace.
type jsonScanner struct {
	data     []byte
	pos      int
	maxLevel int         // deepest array or object allowed; the outermost is level 1
	spaces   int         // bytes of whitespace passed so far
	names    []nameSpan  // field names of the objects that skip is inside of
	text     []byte      // those names that had to be unescaped
	open     []openValue // arrays and objects that skip is inside of
	err      *Error      // the first fault
}

// An openValue is an array or object whose end has not been reached.
type openValue struct {
	close byte // ']' or '}'
	names int  // length of jsonScanner.names when it began
}

// malformed records that the text is not JSON, at the given offset. An earlier
// fault is kept.
func (s *jsonScanner) malformed(at int, format string, args ...any) bool {
	if s.err == nil {
		s.err = Errorf(MalformedJSON, "The body is not well-formed JSON: "+format+".", args...).With(Num("offset", int64(at)))
	}
	return false
}

// unexpected records that the position does not hold what the caller wanted.
func (s *jsonScanner) unexpected(wanted string) bool {
	if s.pos >= len(s.data) {
		return s.malformed(s.pos, "it ends at byte %d where %s is expected", s.pos, wanted)
	}
	form := "%q at byte %d where %s is expected"
	if s.data[s.pos] >= utf8.RuneSelf {
		form = "%#x at byte %d where %s is expected"
	}
	return s.malformed(s.pos, form, s.data[s.pos], s.pos, wanted)
}

// peek skips whitespace and returns the next byte, or 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	return s.peekPastSpace()
}

func (s *jsonScanner) peekPastSpace() byte {
	for i := s.pos; i < len(s.data); i++ {
		switch c := s.data[i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			s.spaces += i - s.pos
			s.pos = i
			return c
		}
	}
	s.spaces += len(s.data) - s.pos
	s.pos = len(s.data)
	return 0
}

// more moves to the next field or element of an object or array, past the
// comma. It returns false after it has skipped close, the closing bracket, or on a
// fault.
func (s *jsonScanner) more(close byte, first bool) bool {
	c := s.peek()
	if c == ',' && !first {
		s.pos++
		return true
	}
	if c == close {
		s.pos++
		return false
	}
	if !first {
		return s.unexpected("',' or '" + string(rune(close)) + "'")
	}
	return true
}

// colon skips the colon after a field name.
func (s *jsonScanner) colon() bool {
	if s.peek() != ':' {
		return s.unexpected("':'")
	}
	s.pos++
	return true
}

// deeper checks that an array or object may begin at the given level.
func (s *jsonScanner) deeper(level int) bool {
	if level > s.maxLevel {
		return s.malformed(s.pos, "it is nested more than %d levels deep at byte %d", s.maxLevel, s.pos)
	}
	return true
}

// skip skips one value of any kind. level is its nesting level if it is an array
// or object. A skipped value is well-formed, without repeated names.
func (s *jsonScanner) skip(level int) bool {
	floor := len(s.open)
	for {
		opened, ok := s.skipStart(level + len(s.open) - floor)
		if !ok {
			return false
		}
		if opened {
			continue // with its first element or field value
		}
		next, ok := s.skipEnd(floor)
		if !ok || !next {
			return ok
		}
	}
}

// skipStart skips a scalar, an empty array or object, or the beginning of one
// that is not empty, up to its first element or field value. In the last case
// opened is true.
func (s *jsonScanner) skipStart(level int) (opened, ok bool) {
	var close byte
	switch c := s.peek(); c {
	case '{':
		close = '}'
	case '[':
		close = ']'
	case '"':
		_, _, ok = s.str()
		return false, ok
	case 't':
		return false, s.literal("true")
	case 'f':
		return false, s.literal("false")
	case 'n':
		return false, s.literal("null")
	default:
		return false, s.number()
	}
	if !s.deeper(level) {
		return false, false
	}
	s.pos++
	if s.peek() == close {
		s.pos++
		return false, true
	}
	s.open = append(s.open, openValue{close, len(s.names)})
	if close == '}' && !s.pushName() {
		return false, false
	}
	return true, true
}

// skipEnd is called after a value. It closes the arrays and objects that end
// here, as long as more than floor values are open, and reports whether another value
// comes next.
func (s *jsonScanner) skipEnd(floor int) (next, ok bool) {
	for len(s.open) > floor {
		top := s.open[len(s.open)-1]
		if s.more(top.close, false) {
			return true, top.close == ']' || s.pushName()
		}
		if s.err != nil || top.close == '}' && !s.popNames(top.names) {
			return false, false
		}
		s.open = s.open[:len(s.open)-1]
	}
	return false, true
}

// literal skips true, false or null.
func (s *jsonScanner) literal(word string) bool {
	if !s.hasPrefix(word) {
		return s.unexpected("a value")
	}
	s.pos += len(word)
	return true
}

// hasPrefix reports whether the text at the position begins with word.
func (s *jsonScanner) hasPrefix(word string) bool {
	rest := s.data[s.pos:]
	return len(rest) >= len(word) && string(rest[:len(word)]) == word
}

// number skips any JSON number.
func (s *jsonScanner) number() bool {
	wanted := "a value"
	if s.peek() == '-' {
		s.pos++
		wanted = "a digit"
	}
	if s.pos < len(s.data) && s.data[s.pos] == '0' {
		s.pos++
	} else if !s.digits(wanted) {
		return false
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if !s.digits("a digit") {
			return false
		}
	}
	if s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		return s.digits("a digit")
	}
	return true
}

// digits skips one digit or more.
func (s *jsonScanner) digits(wanted string) bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos > start || s.unexpected(wanted)
}

// end checks that nothing but whitespace is left.
func (s *jsonScanner) end() bool {
	s.peek()
	return s.pos == len(s.data) || s.unexpected("the end")
}
