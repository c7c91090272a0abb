package httpserver

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
)

// Every request has an id, which connects the client's records with the daemon's
// log lines. It is the value of the header X-Request-Id if that is valid, and
// otherwise generated here. The response repeats it.

const (
	headerRequestID = "X-Request-Id"
	maxRequestID    = 128 // bytes
)

// requestIDs generates ids that also differ between processes: a random prefix,
// chosen at start, and a counter.
var requestIDs = struct {
	start string
	count atomic.Uint64
}{start: randomHex(6)}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// requestID returns the id of r. It ignores the header if there are several, or if
// it is empty, too long, or anything but printable ASCII without spaces, because
// the id goes into log lines and headers unchanged.
func requestID(r *http.Request) string {
	if sent := r.Header[headerRequestID]; len(sent) == 1 && fitRequestID(sent[0]) {
		return sent[0]
	}
	var id [32]byte
	return string(strconv.AppendUint(append(append(id[:0], requestIDs.start...), '-'), requestIDs.count.Add(1), 10))
}

func fitRequestID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
