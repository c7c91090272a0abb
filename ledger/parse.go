package ledger

// Parsing a request. The parser reads the body once, directly into operations; it
// looks ahead only where args comes before op. At the first fault it stops, and only
// then reads the body again as plain JSON: a body that is not JSON is MalformedJSON,
// whatever else is wrong with it. So exact errors cost valid requests nothing.

// ParseLimits are the limits on a body that depend on the configuration or the endpoint.
type ParseLimits struct {
	Nesting    int  // levels of JSON, the outermost value being level 1; 0 means DefaultNesting
	Conditions bool // accept a transaction that has only conditions, as preflight does
}

// A requestParser keeps memory between requests, so that parsing allocates
// nothing once it has seen a few requests.
type requestParser struct {
	jsonScanner
	ops        []Op              // of the whole body, or of all lines since Reset; each transaction has a range of them
	arena      []byte            // keys and metadata that could not stay in the body
	texts      []byte            // the strings in the operation being read
	spans      [MaxArgs]nameSpan // their positions in texts, by argument
	op         int               // index of the operation being read, or NoOperation
	conditions bool              // a transaction that has only conditions is accepted
	mints      int               // MintInstance operations before the one being read, in its transaction
	lastKind   OpKind            // kind of the previous operation, a good guess for the next
	canon      canonicalizer     // for the request hash
	hashed     []byte            // input of the request hash
	form       form              // of the previous transactions of a batch or stream
}

// ParseTransaction reads the body of /v1/commit or /v1/commit/preflight into
// tx, which may be reused; its previous content is lost. The slices of tx then
// alias body, or memory that tx keeps. They are valid until the body changes or tx is
// parsed into again. If there may be an X-Idempotency-Key header, call SetHeaderKey next;
// after that, Key is final. So is Hash, unless SetSender changes it.
//
// Errors: MalformedJSON with the offset, InvalidRequest with the field,
// UnknownOperation with the op, or PayloadTooLarge for a body of 2 GiB or more.
// OpIndex is set if one operation is at fault. tx must not be used after an error.
func ParseTransaction(body []byte, tx *Transaction, lim ParseLimits) *Error {
	p := tx.reset(EndpointCommit)
	if p.begin(body, lim) {
		p.transaction(tx, 1)
	}
	return p.finish()
}

// ParseRegistration reads the body of /v1/register/class or
// /v1/register/class-shape into a transaction of one operation. Otherwise it is
// like ParseTransaction. Faults in the operation's fields have OpIndex 0.
func ParseRegistration(body []byte, e Endpoint, tx *Transaction, lim ParseLimits) *Error {
	p := tx.reset(e)
	if p.begin(body, lim) {
		p.registration(tx)
	}
	return p.finish()
}

// reset empties tx for reuse and returns its parser.
func (tx *Transaction) reset(e Endpoint) *requestParser {
	p := tx.parser()
	*tx = Transaction{Endpoint: e, scratch: p}
	return p
}

func (tx *Transaction) parser() *requestParser {
	if tx.scratch == nil {
		tx.scratch = new(requestParser)
	}
	return tx.scratch
}

// Scratch memory above these limits is released after an unusual request.
const (
	keepBytes = 1 << 20
	keepNames = 1 << 16
	keepOps   = 1 << 17
)

// recycled empties s for reuse, or releases it if it is larger than keep.
func recycled[T any](s []T, keep int) []T {
	if cap(s) > keep {
		return nil
	}
	return s[:0]
}

// begin prepares p to read a body. It returns false if the body is too long.
func (p *requestParser) begin(body []byte, lim ParseLimits) bool {
	if lim.Nesting <= 0 {
		lim.Nesting = DefaultNesting
	}
	p.data, p.maxLevel, p.conditions, p.err = body, lim.Nesting, lim.Conditions, nil
	p.names, p.text = recycled(p.names, keepNames), recycled(p.text, keepBytes)
	p.ops, p.arena = recycled(p.ops, keepOps), recycled(p.arena, keepBytes)
	p.texts = p.texts[:0]
	p.op = NoOperation
	p.rewind(0)
	if len(body) > maxJSONText {
		p.err = Errorf(PayloadTooLarge, "A body must be shorter than 2 GiB.")
		return false
	}
	return true
}

// rewind returns to an earlier position. That position must be outside every value that
// skip has begun but not finished.
func (p *requestParser) rewind(pos int) {
	p.pos, p.spaces, p.err = pos, 0, nil
	p.names, p.text, p.open = p.names[:0], p.text[:0], p.open[:0]
}

// finish returns the error to report: that the body is not JSON, or else the first
// fault, or nil.
func (p *requestParser) finish() *Error {
	fault := p.err
	if fault == nil {
		p.end()
		return p.err
	}
	if fault.Code == InvalidRequest || fault.Code == UnknownOperation {
		p.rewind(0)
		if !p.skip(1) || !p.end() {
			return p.err
		}
	}
	return fault
}

// invalid records an InvalidRequest for the given field, and returns false. The
// message is a sentence without its period. An earlier fault is kept.
func (p *requestParser) invalid(field, format string, args ...any) bool {
	if p.err == nil {
		p.err = Errorf(InvalidRequest, format+".", args...).With(Text("field", field)).At(p.op)
	}
	return false
}

// enter skips the bracket that begins an object or array. The argument what
// describes the expected value in errors.
func (p *requestParser) enter(bracket byte, level int, field, what string) bool {
	if p.peek() != bracket {
		return p.invalid(field, "%s must be %s", field, what)
	}
	if !p.deeper(level) {
		return false
	}
	p.pos++
	return true
}

// A fieldName is the name of a field, without and with quotes.
type fieldName struct{ name, quoted string }

func fieldNames(names ...string) (t []fieldName) {
	for _, name := range names {
		t = append(t, fieldName{name, `"` + name + `"`})
	}
	return t
}

// fields reads the rest of an object whose fields are those of the table, in any
// order. It calls value(i) to read the value of field i. In seen, bit i is set if
// field i was present.
func (p *requestParser) fields(table []fieldName, value func(i int) bool) (seen uint, ok bool) {
	guess := 0
	for begin := true; p.more('}', begin); begin = false {
		i := p.field(table, guess, &seen)
		if i < 0 || !value(i) {
			return seen, false
		}
		guess = i + 1
	}
	return seen, p.err == nil
}

// field reads a field name and its colon and returns its index in the table. It returns
// -1 on a fault, for example an unknown or repeated name. The argument guess is the
// likely index.
func (p *requestParser) field(table []fieldName, guess int, seen *uint) int {
	i := -1
	p.peek()
	if guess < len(table) && p.hasPrefix(table[guess].quoted) {
		i = guess
		p.pos += len(table[i].quoted)
	} else if i = p.searchField(table); i < 0 {
		return -1
	}
	if *seen&(1<<i) != 0 {
		p.repeated([]byte(table[i].name))
		return -1
	}
	*seen |= 1 << i
	if p.pos < len(p.data) && p.data[p.pos] == ':' {
		p.pos++
	} else if !p.colon() {
		return -1
	}
	return i
}

// searchField reads a field name and looks it up.
func (p *requestParser) searchField(table []fieldName) int {
	raw, escaped, ok := p.str()
	if !ok {
		p.unexpected("a field name in quotes")
		return -1
	}
	if escaped {
		p.text = appendUnescaped(p.text[:0], raw)
		raw = p.text
	}
	for i := range table {
		if table[i].name == string(raw) {
			return i
		}
	}
	p.invalid(clip(raw), "Unknown field %q; the fields here are %s", clip(raw), listNames(table))
	return -1
}

func listNames(table []fieldName) (list string) {
	for i, f := range table {
		if i > 0 {
			list += ", "
		}
		list += f.name
	}
	return list
}
