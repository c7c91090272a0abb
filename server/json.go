package server

import (
	"strconv"
	"strings"
)

// elementStart is first for the first element of a list and later for others.
func elementStart(i int, first, later string) string {
	if i == 0 {
		return first
	}
	return later
}

// appendInt appends name, which ends with a colon, and an integer.
func appendInt(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(dst, name...), v, 10)
}

// appendUint is appendInt for what is never negative.
func appendUint(dst []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(dst, name...), v, 10)
}

// shorten keeps what a client sent from filling its own answer.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
