package ledger

import (
	"bytes"
	"unsafe"
)

// shortestOperation is the least that an operation takes in a body, in bytes.
const shortestOperation = len(`{"op":"Detach","args":{"instance_id":1}}`)

// ParsedSize returns the bytes that parsing the body takes at most, beside the
// body itself: operations and field names, and copies of metadata, names and keys.
func ParsedSize(body []byte) int64 {
	names := int64(bytes.Count(body, []byte(":")))
	return int64(mostOperations(body))*int64(unsafe.Sizeof(Op{})) + names*int64(unsafe.Sizeof(nameSpan{})) + int64(len(body))
}

// mostOperations returns an upper bound of the operations in a body.
func mostOperations(body []byte) int {
	return min(bytes.Count(body, []byte("{"))/2, len(body)/shortestOperation)
}

// makeRoom allocates the operations of a large batch at once. Growing step by
// step would leave several times as much to the collector.
func (p *requestParser) makeRoom(body []byte) {
	if len(body) < 1<<20 {
		return
	}
	if most := mostOperations(body); most > cap(p.ops) {
		p.ops = make([]Op, 0, most)
	}
}
