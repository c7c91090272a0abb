//go:build (amd64 || arm64) && !purego

package ledger

import "unsafe"

// prefetchLines asks the processor to load the cache lines of the addresses. It
// does not wait for them.
//
//go:noescape
func prefetchLines(at []unsafe.Pointer)
