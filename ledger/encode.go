package ledger

import "strconv"

// Responses are built by appending, so building one allocates nothing when dst
// has room. All JSON here is compact.

// AppendJSON appends {"error":{…}}, the body of an error response.
func (e *Error) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"error":`...)
	dst = AppendError(dst, e)
	return append(dst, '}')
}

// AppendError appends the inner object, {"code","message","details"} and, if one
// operation is at fault, "operation_index".
func AppendError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = AppendString(dst, string(e.Code))
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	dst = append(dst, `,"details":{`...)
	for i, d := range e.Details {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, d.Name)
		dst = append(dst, ':')
		if d.IsStr {
			dst = AppendString(dst, d.Str)
		} else {
			dst = strconv.AppendInt(dst, d.Int, 10)
		}
	}
	dst = append(dst, '}')
	if e.OpIndex != NoOperation {
		dst = appendIntField(dst, `,"operation_index":`, int64(e.OpIndex))
	}
	return append(dst, '}')
}

// appendIntField appends a number after name, which includes the punctuation.
func appendIntField(dst []byte, name string, v int64) []byte {
	dst = append(dst, name...)
	return strconv.AppendInt(dst, v, 10)
}

func appendUintField(dst []byte, name string, v uint64) []byte {
	dst = append(dst, name...)
	return strconv.AppendUint(dst, v, 10)
}

// AppendMetadata appends the metadata object of a result: md (a compact JSON
// object, or empty) with idempotency_key as its last field if there is a key.
func AppendMetadata(dst, md, key []byte) []byte {
	if len(md) == 0 {
		md = []byte("{}")
	}
	if len(key) == 0 {
		return append(dst, md...)
	}
	dst = append(dst, md[:len(md)-1]...)
	if len(md) > len("{}") {
		dst = append(dst, ',')
	}
	dst = append(dst, `"idempotency_key":`...)
	dst = appendQuoted(dst, key)
	return append(dst, '}')
}

// AppendResult appends the result of a commit, {"global_seq","batch_seq",
// "minted_instances","metadata"}. Results of registrations end with "class" or
// "shape", the object as registered. For a registration answered from the idempotency
// memory, firstMinted gives the id of the class if the request lacks it.
func AppendResult(dst []byte, tx *Transaction, seq uint64, batchSeq uint32, firstMinted int64, minted int) []byte {
	dst = appendUintField(dst, `{"global_seq":`, seq)
	dst = appendUintField(dst, `,"batch_seq":`, uint64(batchSeq))
	dst = append(dst, `,"minted_instances":`...)
	dst = AppendMinted(dst, firstMinted, minted)
	dst = append(dst, `,"metadata":`...)
	dst = AppendMetadata(dst, tx.Metadata, tx.Key)
	switch tx.Endpoint {
	case EndpointRegisterClass:
		op := &tx.Ops[0]
		dst = append(dst, `,"class":`...)
		dst = AppendClass(dst, ClassInfo{ID: registeredID(op, firstMinted), Code: op.Text(ClassCode), Name: op.Text(ClassName),
			Fungible: op.Get(ClassFungible, 1) == 1, Decimals: int(op.Get(ClassDecimals, 0))})
	case EndpointRegisterShape:
		op := &tx.Ops[0]
		dst = appendIntField(dst, `,"shape":{"class_id":`, registeredID(op, firstMinted))
		dst = append(dst, ',')
		dst = appendShapeFields(dst, ShapeInfo{!op.Given(ShapeKey), op.Args[ShapeKey], int(op.Args[ShapeWidth]), int(op.Args[ShapeHeight])})
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// registeredID returns the class id of a registration. A retry that is answered from
// the idempotency memory may lack it, and gets the remembered one.
func registeredID(op *Op, remembered int64) int64 {
	if id := op.Args[0]; id != 0 {
		return id
	}
	return remembered
}

// AppendMinted appends a JSON array of count consecutive instance ids, from first on.
func AppendMinted(dst []byte, first int64, count int) []byte {
	dst = append(dst, '[')
	for i := range int64(count) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, first+i, 10)
	}
	return append(dst, ']')
}

// AppendClass appends a class, {"class_id","name","fungible","decimals"}, with
// "code" after class_id if there is one.
func AppendClass(dst []byte, c ClassInfo) []byte {
	return append(appendClassFields(dst, c), '}')
}

// AppendClassInfo appends a class as reads show it: like AppendClass, with
// "registered_seq".
func AppendClassInfo(dst []byte, c ClassInfo) []byte {
	dst = appendClassFields(dst, c)
	dst = appendUintField(dst, `,"registered_seq":`, c.RegisteredSeq)
	return append(dst, '}')
}

func appendClassFields(dst []byte, c ClassInfo) []byte {
	dst = appendIntField(dst, `{"class_id":`, c.ID)
	if c.Code != "" {
		dst = AppendString(append(dst, `,"code":`...), c.Code)
	}
	dst = append(dst, `,"name":`...)
	dst = AppendString(dst, c.Name)
	dst = append(dst, `,"fungible":`...)
	dst = strconv.AppendBool(dst, c.Fungible)
	return appendIntField(dst, `,"decimals":`, int64(c.Decimals))
}

// AppendShape appends a shape as reads show it, {"key","width","height"}. The
// key is null for the shape of all keys without one of their own.
func AppendShape(dst []byte, s ShapeInfo) []byte {
	return append(appendShapeFields(append(dst, '{'), s), '}')
}

func appendShapeFields(dst []byte, s ShapeInfo) []byte {
	if s.AnyKey {
		dst = append(dst, `"key":null`...)
	} else {
		dst = appendIntField(dst, `"key":`, s.Key)
	}
	dst = appendIntField(dst, `,"width":`, int64(s.Width))
	return appendIntField(dst, `,"height":`, int64(s.Height))
}
