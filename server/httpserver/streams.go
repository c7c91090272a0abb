package httpserver

import (
	"sync"
	"sync/atomic"
)

// DefaultMaxStreams is how many streams of a read daemon are open at a time,
// unless a flag says otherwise.
const DefaultMaxStreams = 1024

// Streams bounds the streams that are open. A stream whose client
// never reads looks like one that has nothing to send, so it can't be told from
// others. When all places are taken, a new stream takes that of the oldest one of
// the client that has the most. The client that loses a stream can open it
// again where it ended.
type Streams struct {
	Max   int
	Ended atomic.Uint64 // to make room

	mu    sync.Mutex
	count int
	open  map[string][]*Stream // by client, oldest first
}

// A Stream is one that is open.
type Stream struct {
	client string
	end    func() // ends it, without waiting
}

// Enter opens a stream of a client. end ends it, without waiting.
func (s *Streams) Enter(client string, end func()) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= s.Max {
		most := client
		for c, list := range s.open {
			if len(list) > len(s.open[most]) {
				most = c
			}
		}
		oldest := s.open[most][0]
		s.remove(oldest)
		s.Ended.Add(1)
		oldest.end()
	}
	t := &Stream{client, end}
	if s.open == nil {
		s.open = map[string][]*Stream{}
	}
	s.open[client] = append(s.open[client], t)
	s.count++
	return t
}

// Leave closes a stream.
func (s *Streams) Leave(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(t)
}

// remove takes a stream out if it is there. Call with mu.
func (s *Streams) remove(t *Stream) {
	list := s.open[t.client]
	for i := range list {
		if list[i] != t {
			continue
		}
		s.count--
		if len(list) == 1 {
			delete(s.open, t.client)
		} else {
			s.open[t.client] = append(list[:i:i], list[i+1:]...)
		}
		return
	}
}

// Opened returns how many streams are open.
func (s *Streams) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
