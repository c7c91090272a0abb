package httpserver

import (
	"slices"
	"sync"
)

const (
	leastSpare = 32 << 10 // the minimum size of a spare body, in bytes
	keepBody   = 4 << 20  // the maximum
	// mostSpare is the maximum size of all spare bodies, in bytes. No claim covers
	// them.
	mostSpare = 8 << 20
)

// spareBodies are buffers of large bodies that no request uses, the oldest first.
// Without them, every large body would become garbage. If the heap is large,
// collections are rare, so each body would take memory that is in no cache, and that
// the kernel has to provide and clear.
var spareBodies struct {
	mu   sync.Mutex
	size int // of all, in bytes
	list [][]byte
}

// takeBody returns an empty buffer with a capacity of at least size bytes, and less
// than twice that.
func takeBody(size int64) []byte {
	if size < leastSpare || size > keepBody {
		return make([]byte, 0, size)
	}
	s := &spareBodies
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range slices.Backward(s.list) {
		if n := int64(cap(b)); n >= size && n < 2*size {
			s.list = slices.Delete(s.list, i, i+1)
			s.size -= cap(b)
			return b[:0]
		}
	}
	return make([]byte, 0, size)
}

// spareBody makes a buffer available to takeBody, unless the buffer is too small or too
// large. Nothing may still refer to the buffer. If necessary, the oldest spare buffers
// are dropped to make room for it.
func spareBody(b []byte) {
	Poison(b)
	if cap(b) < leastSpare || cap(b) > keepBody {
		return
	}
	s := &spareBodies
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, b)
	s.size += cap(b)
	for s.size > mostSpare {
		s.size -= cap(s.list[0])
		s.list = slices.Delete(s.list, 0, 1)
	}
}
