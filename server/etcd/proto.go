package etcd

import (
	"encoding/binary"
	"errors"
)

// The part of the Protocol Buffers wire format that etcd's messages need: varints
// and length-delimited fields. A scalar field that is 0 or empty is omitted.

const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

type message []byte

func (m message) varint(field int, v uint64) message {
	if v == 0 {
		return m
	}
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|wireVarint), v)
}

func (m message) text(field int, s string) message {
	if s == "" {
		return m
	}
	return append(m.length(field, len(s)), s...)
}

func (m message) bytes(field int, b []byte) message {
	if len(b) == 0 {
		return m
	}
	return append(m.length(field, len(b)), b...)
}

// sub adds a message, even if it is empty.
func (m message) sub(field int, b message) message {
	return append(m.length(field, len(b)), b...)
}

func (m message) length(field, n int) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|wireBytes), uint64(n))
}

var errProto = errors.New("etcd: a response is not a Protocol Buffers message")

// each calls fn for every varint field with n, and for every length-delimited field
// with b, which aliases m. Other fields are skipped.
func (m message) each(fn func(field int, n uint64, b message)) error {
	for len(m) > 0 {
		tag, size := binary.Uvarint(m)
		if size <= 0 {
			return errProto
		}
		m = m[size:]
		field := int(tag >> 3)
		switch tag & 7 {
		case wireVarint:
			n, size := binary.Uvarint(m)
			if size <= 0 {
				return errProto
			}
			fn(field, n, nil)
			m = m[size:]
		case wireBytes:
			n, size := binary.Uvarint(m)
			if size <= 0 || n > uint64(len(m)-size) {
				return errProto
			}
			end := size + int(n)
			fn(field, 0, m[size:end:end])
			m = m[end:]
		case wire64, wire32:
			n := 8
			if tag&7 == wire32 {
				n = 4
			}
			if len(m) < n {
				return errProto
			}
			m = m[n:]
		default:
			return errProto
		}
	}
	return nil
}
