package httpserver

import "os"

// Read reads from the client. The first Read after Unwatch returns nothing instead.
func (t *Tracked) Read(p []byte) (int, error) {
	if t.unwatched.Load() && t.unwatched.Swap(false) {
		return 0, nil
	}
	if !t.read.begin() {
		return 0, os.ErrDeadlineExceeded
	}
	defer t.read.end()
	n, err := t.writeCloser.Read(p)
	if t.idle.Load() != 0 && !t.countHeader(p[:n]) {
		return 0, errHeaders
	}
	return n, err
}

// Unwatch declares that the rest of the handler does not depend on whether the
// client is still connected. Call it when the body has been read.
//
// Once the body has been read, net/http reads from the connection in the background,
// to cancel the request's context when the client disconnects. That takes a system call
// and a goroutine that waits. After Unwatch, the next read before the response
// is sent returns nothing instead, which ends the background read. An io.Reader
// may return nothing at any time, so if the next read is another one, its caller
// only repeats it.
func (x *Exchange) Unwatch() {
	if t := ConnectionOf(x.R); t != nil {
		t.unwatched.Store(true)
	}
}

// watchAgain ends the effect of Unwatch. Without it, the next request on the
// connection would be unwatched if it had already arrived, because then nothing
// would be read before its own background read.
func (t *Tracked) watchAgain() {
	if t.unwatched.Load() {
		t.unwatched.Store(false)
	}
}
