package httpserver

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
)

// Every request has an id, with which the caller's words and the daemon's log
// lines can be brought together: that of the header X-Request-Id if it is fit
// to be shown, or one made here. It is given back with the answer.

const (
	headerRequestID = "X-Request-Id"
	maxRequestID    = 128 // bytes
)

// requestIDs makes ids that differ between processes too: a random beginning,
// chosen at start, and a count.
var requestIDs = struct {
	start string
	count atomic.Uint64
}{start: randomHex(6)}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// requestID is the id of r. More than one, an empty or long one, and one that
// is not printable ASCII without spaces is not taken over: it is to stand in
// log lines and headers as it is.
func requestID(r *http.Request) string {
	if sent := r.Header[headerRequestID]; len(sent) == 1 && fitRequestID(sent[0]) {
		return sent[0]
	}
	return requestIDs.start + "-" + strconv.FormatUint(requestIDs.count.Add(1), 10)
}

func fitRequestID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}
