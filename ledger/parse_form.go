package ledger

import (
	"bytes"
	"slices"
)

// A form is what the lines of a stream, or the transactions of a batch, have in
// common if they differ only in their numbers and idempotency keys. If a
// transaction has the form of an earlier one, its fixed text is compared, and only the
// rest is read. Anything else, even one more space, is left to the parser. So a form
// accepts only what the parser accepts, with the same result.
type form struct {
	text  []byte     // of the transaction that had the form first
	parts []formPart // of text, in order; empty if there is no form
	ops   []Op       // operations of that transaction
	at    formPlace

	score int // grows with each transaction that has the form, and shrinks with each one that does not
	pause int // number of transactions for which there is no form, after a form was given up
	wait  int // how many of those are left
}

// A formPlace holds everything, apart from the text, that the parser's verdict depends on.
type formPlace struct {
	level, maxLevel int
	conditions      bool
}

// A formPart is fixed text, and what follows it.
type formPart struct {
	start, end int // of the fixed text
	value      formValue
	op, arg    int   // operation and argument that an integer is for
	min, max   int64 // its range
}

type formValue uint8

const (
	formInteger formValue = iota
	formKey               // an idempotency key, without its quotes
	formEnd               // nothing, since the transaction ends
)

const (
	formBytes  = 1 << 10 // maximum size of a transaction whose form is kept
	formScore  = 8       // maximum score; a new form starts with a quarter of it
	formPause  = 512     // maximum pause
	formDigits = 18      // maximum number of digits; that many always fit in an int64
)

// similar reads a transaction as the method transaction does. It is faster if tx has the
// form.
func (p *requestParser) similar(tx *Transaction, level int) bool {
	f := &p.form
	if f.wait > 0 {
		f.wait--
		return p.transaction(tx, level)
	}
	at, start := formPlace{level, p.maxLevel, p.conditions}, p.pos
	if len(f.parts) > 0 {
		fits := f.at == at && p.repeat(f, tx)
		if f.count(fits); fits {
			return true
		}
	}
	if !p.transaction(tx, level) {
		return false
	}
	if len(f.parts) == 0 && f.wait == 0 {
		f.score, f.at = formScore/4, at
		if !f.take(tx, p.data[start:p.pos]) {
			f.giveUp()
		}
	}
	return true
}

// count updates the score. It gives up a form that fits so seldom that it costs more
// than it saves.
func (f *form) count(fits bool) {
	switch {
	case fits && f.score < formScore:
		f.score++
	case fits:
		f.pause = 0
	default:
		if f.score -= 2; f.score < 0 {
			f.giveUp()
		}
	}
}

// giveUp drops the form. The more forms in a row were useless, the longer it takes
// until the next one is tried.
func (f *form) giveUp() {
	f.parts = f.parts[:0]
	f.pause = min(2*f.pause+1, formPause)
	f.wait = f.pause
}

// repeat reads a transaction if it has the form. Otherwise it reads nothing, and
// returns false.
func (p *requestParser) repeat(f *form, tx *Transaction) bool {
	if !bytes.HasPrefix(p.data[p.pos:], f.text[:f.parts[0].end]) {
		return false
	}
	first := len(p.ops)
	p.ops = append(p.ops, f.ops...)
	ops := p.ops[first:len(p.ops):len(p.ops)]
	key, end := f.read(ops, p.data, p.pos)
	if end < 0 {
		p.ops = p.ops[:first]
		return false
	}
	tx.Ops, tx.Key, p.pos = ops, key, end
	p.seal(tx)
	return true
}

// read reads the transaction that begins at d[pos]. It stores the integers in ops, and
// returns the key and the position after the transaction. The result end is negative if
// the transaction does not have the form.
func (f *form) read(ops []Op, d []byte, pos int) (key []byte, end int) {
	for i := range f.parts {
		part := &f.parts[i]
		fixed := f.text[part.start:part.end]
		if len(d)-pos < len(fixed) || string(d[pos:pos+len(fixed)]) != string(fixed) {
			return nil, -1
		}
		pos += len(fixed)
		start := pos
		switch part.value {
		case formEnd:
			return key, pos
		case formKey:
			for pos < len(d) && d[pos] != '"' && d[pos] != '\\' {
				pos++
			}
			if key = d[start:pos]; !ValidIdempotencyKey(key) {
				return nil, -1
			}
		case formInteger:
			v := int64(0)
			for pos < len(d) && d[pos]-'0' <= 9 {
				v = v*10 + int64(d[pos]-'0')
				pos++
			}
			n := pos - start
			if n == 0 || n > formDigits || n > 1 && d[start] == '0' || v < part.min || v > part.max {
				return nil, -1
			}
			ops[part.op].Args[part.arg] = v
		}
	}
	return nil, -1
}

// Arguments that accept every integer in a range.
var formArgs = argSet(func(a Arg) bool {
	r := valueRanges[a.Type]
	return r.min < r.max && a.Type != ArgRotation
})

// take sets the form to that of tx, which has the given text. It returns false if tx
// has no form: if it is longer than formBytes, or has metadata, names, escapes, or
// integers that the method cut does not accept.
func (f *form) take(tx *Transaction, text []byte) bool {
	if len(text) > formBytes || len(tx.Metadata) > 0 || bytes.IndexByte(text, '\\') >= 0 {
		return false
	}
	for i := range tx.Ops {
		if tx.Ops[i].Name != "" {
			return false
		}
	}
	f.text, f.ops, f.parts = append(f.text[:0], text...), append(f.ops[:0], tx.Ops...), f.parts[:0]
	if !f.cut() {
		return false
	}
	key, end := f.read(f.ops, text, 0)
	return end == len(text) && string(key) == string(tx.Key) && slices.Equal(f.ops, tx.Ops)
}

// cut divides the text into parts. The integers of an operation come before those of
// the next one, each after the name of its argument. It returns false for a negative
// integer, and for one that is not an argument in formArgs, such as a reference.
func (f *form) cut() bool {
	var part formPart
	var name []byte // the last field name, or another string
	op, args := -1, uint16(0)
	for i := 0; i < len(f.text); i++ {
		c := f.text[i]
		switch {
		case c == '"':
			i++
			if part.end = i; string(name) == "idempotency_key" {
				part.value = formKey
				f.parts = append(f.parts, part)
			}
			name = f.text[i : i+bytes.IndexByte(f.text[i:], '"')]
			if i += len(name); part.value == formKey {
				part = formPart{start: i}
			}
		case c == '-':
			return false
		case c-'0' <= 9:
			for ; args == 0; args = f.ops[op].Has &^ f.ops[op].Null & formArgs[f.ops[op].Kind] {
				if op++; op == len(f.ops) {
					return false
				}
			}
			of := f.ops[op].Kind.Args()
			arg := slices.IndexFunc(of, func(a Arg) bool { return a.Name == string(name) })
			if arg < 0 || args&(1<<arg) == 0 {
				return false
			}
			args &^= 1 << arg
			r := valueRanges[of[arg].Type]
			part.end, part.op, part.arg, part.min, part.max = i, op, arg, r.min, r.max
			f.parts = append(f.parts, part)
			for f.text[i+1]-'0' <= 9 {
				i++
			}
			part = formPart{start: i + 1}
		}
	}
	part.end, part.value = len(f.text), formEnd
	f.parts = append(f.parts, part)
	return true
}
