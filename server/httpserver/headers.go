package httpserver

import (
	"bytes"
	"errors"
	"net"
)

const (
	// freeBytes is the part of each connection's header, in bytes, that does not
	// count toward maxHeaders. Ordinary headers are smaller.
	freeBytes = 4 << 10
	// maxHeaders is the maximum size of the headers of all connections together, in
	// bytes, without freeBytes of each.
	maxHeaders = 16 << 20
	// lineBytes is the memory that net/http's map takes for one line of a header.
	lineBytes = 128
)

// A headerSize is the size of a part of a header.
type headerSize struct{ bytes, lines int }

// sizeOf returns the size of the part of a header in p: up to its blank line, because
// what follows is the body.
func sizeOf(p []byte) (s headerSize) {
	for {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			s.bytes += len(p)
			return s
		}
		s.bytes += i
		s.lines++
		if p = p[i:]; bytes.HasPrefix(p, newline) || bytes.HasPrefix(p, crlf) {
			return s
		}
	}
}

var newline, crlf = []byte("\n"), []byte("\r\n")

func (s headerSize) plus(p headerSize) headerSize {
	return headerSize{s.bytes + p.bytes, s.lines + p.lines}
}

func (s headerSize) minus(p headerSize) headerSize {
	return headerSize{s.bytes - p.bytes, s.lines - p.lines}
}

// counted returns the bytes that a header of this size takes beyond freeBytes.
// net/http copies each line. It also collects a line that exceeds its buffer of
// 4 KiB, which takes as much again.
func (s headerSize) counted() int64 {
	return int64(max(s.bytes+max(s.bytes-4<<10, 0)+lineBytes*s.lines-freeBytes, 0))
}

// errHeaders is the error of reads from a connection whose header has no room.
// net/http then closes the connection without a response.
var errHeaders = &net.OpError{Op: "read", Err: errors.New("request headers take too much memory")}

// countHeader counts bytes of a header that is being read. They count until the
// request ends, because net/http keeps the header until then. Under TLS, the bytes are
// encrypted, so countHeader can't recognize lines, and it counts the handshake too.
//
// If the headers of all connections take too much memory, countHeader closes
// connections of the client whose headers take the most, beginning with the header that
// has counted longest. The state of the connection doesn't matter: its header may be
// unfinished, or its request may be in progress, or already rejected while the
// connection lingers.
// So a client whose headers take little is always served. countHeader returns false if
// it has closed this connection.
//
// It does not count bytes of a pipelined header that are read while the previous
// request is in progress. These are at most net/http's buffer of 4 KiB.
func (t *Tracked) countHeader(p []byte) bool {
	t.last = sizeOf(p)
	t.header = t.header.plus(t.last)
	counted := t.header.counted()
	if counted == 0 {
		return true
	}
	s := t.home
	held := t.held.Load()
	if held == 0 {
		t.since.Store(s.deadlines.now())
	}
	t.held.Add(counted - held)
	if s.headers.Add(counted-held) <= maxHeaders {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.headers.Load() > maxHeaders && s.closeLongest(maxHeaders/8, func(t *Tracked, _ int64) (weight, since int64) {
		return t.held.Load(), t.since.Load()
	}) {
	}
	return t.idle.Load() != 0
}

// headerRead removes the last read from the count. It is called under TLS when the
// header is complete, because most of that read may belong to the body.
func (t *Tracked) headerRead() {
	if held := t.held.Load(); held != 0 {
		less := min(held, t.header.counted()-t.header.minus(t.last).counted())
		t.held.Add(-less)
		t.home.headers.Add(-less)
	}
}

// freeHeader ends the counting of the header.
func (t *Tracked) freeHeader() {
	if t.held.Load() != 0 {
		t.home.headers.Add(-t.held.Swap(0))
	}
}
