package ledger

import "strconv"

// AppendOperations appends the JSON array of operations as they were sent: the
// fields in the order of the interface's table, without absent arguments, and with
// null, {"minted":n} and names unchanged. Operations read from a record instead hold
// the integers that the names stood for, and the ids that the ledger assigned.
func AppendOperations(dst []byte, ops []Op) []byte {
	dst = append(dst, '[')
	for i := range ops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendOperation(dst, &ops[i])
	}
	return append(dst, ']')
}

func appendOperation(dst []byte, op *Op) []byte {
	dst = append(dst, `{"op":`...)
	dst = append(dst, opNames[op.Kind].quoted...)
	dst = append(dst, `,"args":`...)
	if op.Kind.InRequest() {
		dst = append(dst, `{"request":`...)
	}
	dst = append(dst, '{')
	comma := false
	for i, name := range argumentsOf[op.Kind] {
		if (op.Has|op.Ref)&(1<<i) == 0 {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = append(dst, name.quoted...)
		dst = append(dst, ':')
		dst = appendArgument(dst, op, i)
	}
	if op.Kind.InRequest() {
		dst = append(dst, '}')
	}
	return append(dst, `}}`...)
}

// appendArgument appends the value of argument i, which is present.
func appendArgument(dst []byte, op *Op, i int) []byte {
	if op.Null&(1<<i) != 0 {
		return append(dst, "null"...)
	}
	if op.texts()&(1<<i) != 0 {
		return AppendString(dst, op.Text(i))
	}
	v := op.Args[i]
	switch op.Kind.Args()[i].Type {
	case ArgKind:
		return AppendString(dst, ContainerKind(v).String())
	case ArgBool, ArgFlag:
		return strconv.AppendBool(dst, v != 0)
	case ArgInstance:
		if op.Ref&(1<<i) != 0 {
			return append(appendIntField(dst, `{"minted":`, v), '}')
		}
	}
	return strconv.AppendInt(dst, v, 10)
}
