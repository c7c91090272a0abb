package ledger

import (
	"math"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// integer reads an integer. ok is false for anything else, including numbers
// above 2^63-1. Numbers below -2^63 are returned as -2^63.
func (s *jsonScanner) integer() (v int64, ok bool) {
	negative := s.peek() == '-'
	d, i := s.data, s.pos
	if negative {
		i++
	}
	start := i
	var u uint64
	for i < len(d) && d[i]-'0' <= 9 {
		u = u*10 + uint64(d[i]-'0')
		i++
	}
	n := i - start
	if n == 0 || d[start] == '0' && (n > 1 || negative) {
		return 0, false // -0 is not an integer here
	}
	if i < len(d) && (d[i] == '.' || d[i]|0x20 == 'e') {
		return 0, false
	}
	tooLong := n > 19 // 19 digits always fit in u
	switch {
	case !negative:
		if tooLong || u > math.MaxInt64 {
			return 0, false
		}
		v = int64(u)
	case tooLong || u > math.MaxInt64:
		v = math.MinInt64
	default:
		v = -int64(u)
	}
	s.pos = i
	return v, true
}

// A valueRange is the range of integers that a type of argument accepts. It is
// empty for types that are not integers.
type valueRange struct {
	min, max int64
	what     string // what a value must be, for errors
}

const (
	positive    = "an integer from 1 to 9223372036854775807"
	nonNegative = "an integer from 0 to 9223372036854775807"

	nameForm = "of the characters A-Z a-z 0-9 . _ : / @ + -, beginning with a letter or digit, and not only digits"
	nameText = "a name: 1 to 128 " + nameForm
	codeText = "a code: 1 to 32 " + nameForm
)

var valueRanges = [...]valueRange{
	ArgID:        {1, math.MaxInt64, positive},
	ArgKey:       {0, math.MaxInt64, nonNegative},
	ArgQuantity:  {math.MinInt64, math.MaxInt64, "an integer of at most 9223372036854775807"},
	ArgIndex:     {0, math.MaxInt64, nonNegative},
	ArgRotation:  {0, 90, "0 or 90"},
	ArgSlotCount: {1, MaxSlotCount, "an integer from 1 to 65536"},
	ArgSide:      {1, MaxSide, "an integer from 1 to 1024"},
	ArgInstance:  {1, math.MaxInt64, positive + `, or {"minted": n} for an instance minted earlier in the transaction, n counting from 0`},
	ArgKind:      {1, 0, `"Standard", "Slots" or "Grid"`},
	ArgOwner:     {1, math.MaxInt64, "null or " + positive},
	ArgShapeKey:  {0, math.MaxInt64, "null or " + nonNegative},
	ArgName:      {1, 0, "a string of 1 to 128 characters, none of them a control character"},
	ArgBool:      {1, 0, "true or false"},
	ArgFlag:      {1, 0, "true or false"},
	ArgDecimals:  {0, MaxDecimals, "an integer from 0 to 18"},

	ArgContainer:           {1, math.MaxInt64, positive + ", or " + nameText},
	ArgClass:               {1, math.MaxInt64, positive + ", or " + codeText},
	ArgNewID:               {1, math.MaxInt64, positive},
	ArgContainerName:       {1, 0, nameText},
	ArgClassCode:           {1, 0, codeText},
	ArgContainerNameOrNull: {1, 0, "null or " + nameText},
	ArgClassCodeOrNull:     {1, 0, "null or " + codeText},
	ArgPeriod:              {1, MaxPeriod, "an integer number of seconds from 1 to 315360000"},
	ArgTime:                {1, MaxTime, "an integer number of seconds since 1970, from 1 to 253402300799"},
}

// argument reads the value of argument i. The parameter level is the nesting level of a
// value that is an object.
func (p *requestParser) argument(op *Op, i, level int) bool {
	t := opSpecs[op.Kind].args[i].Type
	r := &valueRanges[t]
	v, ok := p.integer()
	if ok && v >= r.min && v <= r.max && (t != ArgRotation || v%90 == 0) {
		op.Args[i] = v
		op.Has |= 1 << i
		return true
	}
	if !ok && p.otherArgument(op, i, t, level) {
		op.Has |= 1 << i
		return true
	}
	return p.invalid(op.Kind.Args()[i].Name, "%s must be %s", op.Kind.Args()[i].Name, r.what)
}

// otherArgument reads a value that is not an integer.
func (p *requestParser) otherArgument(op *Op, i int, t ArgType, level int) bool {
	if nullable[op.Kind]&(1<<i) != 0 && p.hasPrefix("null") {
		op.Null |= 1 << i
		return p.literal("null")
	}
	switch t {
	case ArgBool, ArgFlag:
		if p.hasPrefix("true") {
			op.Args[i] = 1
			return p.literal("true")
		}
		op.Args[i] = 0
		return p.hasPrefix("false") && p.literal("false")
	case ArgInstance:
		op.Ref |= 1 << i
		return p.peek() == '{' && p.minted(op, i, level)
	case ArgKind:
		raw, ok := p.shortText()
		k, known := ParseContainerKind(string(raw))
		op.Args[i] = int64(k)
		return ok && known
	case ArgContainer, ArgClass:
		op.Ref |= 1 << i
	}
	raw, ok := p.shortText()
	if ok = ok && validText(t, raw); ok {
		p.noteText(i, raw)
	}
	return ok
}

// noteText keeps the string that is argument i of the current operation.
func (p *requestParser) noteText(i int, text []byte) {
	start := uint32(len(p.texts))
	p.texts = append(p.texts, text...)
	p.spans[i] = nameSpan{start, uint32(len(p.texts))}
}

// takeTexts moves the kept strings to op, in the order of the arguments.
func (p *requestParser) takeTexts(op *Op) {
	if len(p.texts) == 0 {
		return
	}
	end := len(p.texts)
	for texts := op.texts(); texts != 0; texts &= texts - 1 {
		if len(p.texts) > end {
			p.texts = append(p.texts, '\n')
		}
		span := p.spans[bits.TrailingZeros16(texts)]
		p.texts = append(p.texts, p.texts[span.start:span.end]...)
	}
	op.Name = string(p.texts[end:])
	p.texts = p.texts[:0]
}

// shortText reads a string. The result is valid until the next one is read.
func (p *requestParser) shortText() ([]byte, bool) {
	raw, escaped, ok := p.str()
	if escaped {
		p.text = appendUnescaped(p.text[:0], raw)
		raw = p.text
	}
	return raw, ok
}

// minted reads {"minted": n}.
func (p *requestParser) minted(op *Op, i, level int) bool {
	if !p.deeper(level) {
		return false
	}
	p.pos++
	name := op.Kind.Args()[i].Name
	seen, ok := p.fields(mintedField, func(int) bool {
		n, ok := p.integer()
		if !ok || n < 0 {
			return p.invalid("minted", "minted must be %s", nonNegative)
		}
		if n >= int64(p.mints) {
			return p.invalid(name, `%s {"minted":%d} refers to no MintInstance earlier in the transaction; they are numbered from 0, and there are %d`,
				name, n, p.mints)
		}
		op.Args[i] = n
		return true
	})
	if ok && seen == 0 {
		return p.invalid("minted", "minted is missing: %s must be %s", name, valueRanges[ArgInstance].what)
	}
	return ok
}

// validName reports whether a class may have the name.
func validName[T string | []byte](name T) bool {
	n := 0
	for _, r := range string(name) {
		if unicode.IsControl(r) {
			return false
		}
		n++
	}
	return n >= 1 && n <= MaxNameLength && utf8.ValidString(string(name))
}

// ValidIdempotencyKey reports whether an idempotency key is 1 to 255 bytes of
// printable ASCII.
func ValidIdempotencyKey[T string | []byte](key T) bool {
	for i := 0; i < len(key); i++ {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return len(key) >= 1 && len(key) <= MaxKeyLength
}
