package reader

import (
	"sync"
	"sync/atomic"
)

// DefaultMaxStreams is how many streams of commits are open at a time, unless a
// flag says otherwise.
const DefaultMaxStreams = 1024

// streams bounds the streams of commits that are open. A stream whose client
// never reads looks like one that has nothing to send, so it can't be told from
// others. When all places are taken, a new stream takes that of the oldest one of
// the client that has the most. The client that loses a stream can open it
// again where it ended, by Last-Event-ID.
type streams struct {
	max   int
	ended atomic.Uint64 // to make room

	mu    sync.Mutex
	count int
	open  map[string][]*stream // by client, oldest first
}

// A stream is one stream that is open.
type stream struct {
	client string
	end    func() // ends it, without waiting
}

// enter opens a stream of a client.
func (s *streams) enter(client string, end func()) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= s.max {
		most := client
		for c, list := range s.open {
			if len(list) > len(s.open[most]) {
				most = c
			}
		}
		oldest := s.open[most][0]
		s.remove(oldest)
		s.ended.Add(1)
		oldest.end()
	}
	t := &stream{client, end}
	if s.open == nil {
		s.open = map[string][]*stream{}
	}
	s.open[client] = append(s.open[client], t)
	s.count++
	return t
}

// leave closes a stream.
func (s *streams) leave(t *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(t)
}

// remove takes a stream out if it is there. Call with mu.
func (s *streams) remove(t *stream) {
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

// opened returns how many streams are open.
func (s *streams) opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
