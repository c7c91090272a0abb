package httpserver

import (
	"sync"
	"sync/atomic"
)

// DefaultMaxStreams is the default maximum number of open streams of a read daemon.
const DefaultMaxStreams = 1024

// Streams bounds the number of open streams. A stream whose client never reads
// can't be distinguished from one that has nothing to send. So if the maximum is
// reached, a new stream replaces the oldest stream of the client that has the most.
// That client can open the stream again where it ended.
type Streams struct {
	Max   int
	Ended atomic.Uint64 // streams ended to make room

	mu    sync.Mutex
	count int
	open  map[string][]*Stream // by client, oldest first
}

// A Stream is an open stream.
type Stream struct {
	client string
	end    func() // ends the stream, without waiting
}

// Enter registers a stream of a client. end must end the stream, without waiting.
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

// Leave removes a stream.
func (s *Streams) Leave(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(t)
}

// remove removes a stream if it is still there. The caller holds mu.
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

// Opened returns the number of open streams.
func (s *Streams) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
