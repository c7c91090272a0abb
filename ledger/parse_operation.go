package ledger

// Fields of an operation object, in the order of operationFields.
const (
	fieldOp = iota
	fieldArgs
)

var (
	operationFields = fieldNames("op", "args")
	requestField    = fieldNames("request")
	mintedField     = fieldNames("minted")

	opNames     = perKind(func(k OpKind) fieldName { return fieldNames(k.String())[0] })
	argumentsOf = perKind(argumentFields)
)

// perKind returns a table that has of(k) for each kind k.
func perKind[T any](of func(OpKind) T) (t [NumOpKinds]T) {
	for _, k := range OpKinds() {
		t[k] = of(k)
	}
	return t
}

func argumentFields(k OpKind) (t []fieldName) {
	for _, a := range k.Args() {
		t = append(t, fieldNames(a.Name)...)
	}
	return t
}

// operation reads one operation object and appends it to p.ops.
func (p *requestParser) operation(level int) bool {
	if !p.enter('{', level, "operations", "an array of objects with the fields op and args") {
		return false
	}
	p.ops = append(p.ops, Op{})
	op := &p.ops[len(p.ops)-1]
	seen, ok := p.fields(operationFields, func(i int) bool {
		if i == fieldOp {
			return p.opName(op)
		}
		return (op.Kind != 0 || p.findOpName(op, level)) && p.arguments(op, level+1)
	})
	if !ok {
		return false
	}
	if seen&(1<<fieldOp) == 0 {
		return p.invalid("op", "op is missing: it names the operation")
	}
	if seen&(1<<fieldArgs) == 0 && requiredArgs[op.Kind] != 0 {
		return p.invalid("args", "args is missing: %s needs %s", op.Kind, listArguments(op.Kind))
	}
	if op.Kind == MintInstance {
		p.mints++
	}
	return true
}

// opName reads the operation's name.
func (p *requestParser) opName(op *Op) bool {
	p.peek()
	if q := opNames[p.lastKind].quoted; q != "" && p.hasPrefix(q) {
		p.pos += len(q)
		op.Kind = p.lastKind
		return true
	}
	raw, escaped, ok := p.str()
	if !ok {
		return p.invalid("op", "op must be a string that names an operation")
	}
	if escaped {
		p.text = appendUnescaped(p.text[:0], raw)
		raw = p.text
	}
	for k := CreateContainer; k < NumOpKinds; k++ {
		if opNames[k].name == string(raw) {
			op.Kind, p.lastKind = k, k
			return true
		}
	}
	if p.err == nil {
		p.err = Errorf(UnknownOperation, "There is no operation named %q; the operations are %s.", clip(raw), listNames(opNames[CreateContainer:])).
			With(Text("op", clip(raw))).At(p.op)
	}
	return false
}

// findOpName is called at the arguments of an operation whose name has not been
// read yet. It looks for the name after them and comes back. If the name is
// missing or wrong, that fault is reported when the parser gets there, and op.Kind
// stays 0.
func (p *requestParser) findOpName(op *Op, level int) bool {
	pos, spaces := p.pos, p.spaces
	for found := false; !found; {
		if !p.skip(level + 1) {
			return false
		}
		if !p.more('}', false) {
			break
		}
		raw, escaped, ok := p.str()
		if !ok || !p.colon() {
			return p.unexpected("a field name in quotes")
		}
		if escaped {
			p.text = appendUnescaped(p.text[:0], raw)
			raw = p.text
		}
		if found = string(raw) == "op"; found && !p.opName(op) && p.err != nil && p.err.Code != MalformedJSON {
			p.err = nil
		}
	}
	if p.err != nil {
		return false
	}
	p.pos, p.spaces = pos, spaces
	return true
}

// arguments reads the args object, and for the two registrations the request
// object inside it. For an unknown operation it only checks that args is an object.
func (p *requestParser) arguments(op *Op, level int) bool {
	switch {
	case op.Kind == 0:
		if p.peek() != '{' {
			return p.invalid("args", "args must be a JSON object")
		}
		return p.skip(level)
	case !op.Kind.InRequest():
		return p.argumentObject(op, "args", level)
	}
	if !p.enter('{', level, "args", "a JSON object") {
		return false
	}
	seen, ok := p.fields(requestField, func(int) bool { return p.argumentObject(op, "request", level+1) })
	if ok && seen == 0 {
		return p.invalid("request", "request is missing: %s needs %s in it", op.Kind, listArguments(op.Kind))
	}
	return ok
}

// argumentObject reads the object that holds the arguments.
func (p *requestParser) argumentObject(op *Op, field string, level int) bool {
	if !p.enter('{', level, field, "a JSON object") {
		return false
	}
	p.texts = p.texts[:0]
	_, ok := p.fields(argumentsOf[op.Kind], func(i int) bool { return p.argument(op, i, level+1) })
	return ok && p.checkArguments(op)
}
