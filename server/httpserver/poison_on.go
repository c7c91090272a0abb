//go:build poison

package httpserver

// Poison overwrites a buffer that is returned to a pool, so that code that still
// refers to it reads garbage and fails. `make poison` runs the tests with it.
func Poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xdb
	}
}
