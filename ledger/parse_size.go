package ledger

import (
	"bytes"
	"unsafe"
)

// shortestOperation is the size of the shortest operation in a body, in bytes.
const shortestOperation = len(`{"op":"Detach","args":{"instance_id":1}}`)

// ParsedSize returns the maximum number of bytes that parsing the body allocates:
// operations and field names, and copies of metadata, names and keys.
func ParsedSize(body []byte) int64 {
	names := int64(bytes.Count(body, []byte(":")))
	return int64(mostOperations(body))*int64(unsafe.Sizeof(Op{})) + names*int64(unsafe.Sizeof(nameSpan{})) + int64(len(body))
}

// mostOperations returns an upper bound on the number of operations in a body.
func mostOperations(body []byte) int {
	return min(bytes.Count(body, []byte("{"))/2, len(body)/shortestOperation)
}

// makeRoom allocates the operations of a batch at once. Growing in steps would
// take several times as much memory, because earlier transactions keep the arrays
// that their operations are in.
func (p *requestParser) makeRoom(body []byte) {
	if len(body) < 2<<10 {
		return
	}
	if most := mostOperations(body); most > cap(p.ops) {
		p.ops = make([]Op, 0, most)
	}
}
