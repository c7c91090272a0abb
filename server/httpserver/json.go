package httpserver

import (
	"strconv"
	"strings"
)

// ElementStart returns the text that precedes element i of a list: the parameter first
// if i is 0, and the parameter later for all other elements.
func ElementStart(i int, first, later string) string {
	if i == 0 {
		return first
	}
	return later
}

// AppendInt appends name, which ends with a colon, and an integer.
func AppendInt(dst []byte, name string, v int64) []byte {
	return strconv.AppendInt(append(dst, name...), v, 10)
}

// AppendUint does the same as AppendInt for unsigned integers.
func AppendUint(dst []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(dst, name...), v, 10)
}

// Shorten shortens a client's text that is quoted in a response, so that it can't
// fill the response.
func Shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
