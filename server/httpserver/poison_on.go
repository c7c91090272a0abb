//go:build poison

package httpserver

// Poison overwrites a buffer that is released to a pool, so that any code that
// still refers to it shows nonsense. make poison runs tests like that.
func Poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xdb
	}
}
