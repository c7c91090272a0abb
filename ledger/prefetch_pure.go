//go:build (!amd64 && !arm64) || purego

package ledger

import (
	"sync/atomic"
	"unsafe"
)

// prefetched keeps the compiler from removing the loads as useless.
var prefetched atomic.Uint64

// prefetchLines loads the cache lines of the addresses, in parallel as far as
// the processor looks ahead.
func prefetchLines(at []unsafe.Pointer) {
	var sum uint64
	for _, p := range at {
		sum += uint64(*(*byte)(p))
	}
	prefetched.Store(sum)
}
