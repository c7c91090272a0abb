package httpserver

import (
	"errors"
	"sync"
	"sync/atomic"
)

// gatherBytes is the maximum number of bytes that Together gathers. That is enough for
// the results of one block of a stream if they are short.
const gatherBytes = 96 << 10

// gathered holds bytes written to a connection until Together ends.
type gathered struct {
	on    atomic.Bool
	mu    sync.Mutex
	bytes *[]byte // from gatherBuffers; nil if there are none
}

var gatherBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, gatherBytes)) }}

// Together calls write, which writes to the response and flushes it. Together sends the
// written bytes in one system call if they are at most 96 KiB. net/http alone uses up to
// three calls for a chunk of a response, and the first one wakes the client, which
// then finds only part of the chunk.
func (x *Exchange) Together(write func() error) error {
	c := ConnectionOf(x.R)
	if c == nil {
		return write()
	}
	c.gathered.on.Store(true)
	return errors.Join(write(), c.sendGathered())
}

// sendGathered sends the gathered bytes, and ends gathering.
func (t *Tracked) sendGathered() error {
	g := &t.gathered
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on.Store(false)
	return g.send(t.writeCloser)
}

// Write writes p to the client, or gathers it.
func (t *Tracked) Write(p []byte) (int, error) {
	g := &t.gathered
	if !g.on.Load() {
		return t.writeCloser.Write(p)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on.Load() && g.add(p) {
		return len(p), nil
	}
	if err := g.send(t.writeCloser); err != nil {
		return 0, err
	}
	return t.writeCloser.Write(p)
}

// add gathers p. It returns false if that would be too much. The caller holds mu.
func (g *gathered) add(p []byte) bool {
	if g.bytes == nil {
		g.bytes = gatherBuffers.Get().(*[]byte)
	}
	if len(*g.bytes)+len(p) > gatherBytes {
		return false
	}
	*g.bytes = append(*g.bytes, p...)
	return true
}

// send sends the gathered bytes. The caller holds mu.
func (g *gathered) send(to writeCloser) error {
	if g.bytes == nil {
		return nil
	}
	var err error
	if len(*g.bytes) > 0 {
		_, err = to.Write(*g.bytes)
	}
	*g.bytes = (*g.bytes)[:0]
	gatherBuffers.Put(g.bytes)
	g.bytes = nil
	return err
}
