package history

import "sync"

// A store keeps the blocks of written generations for reuse by the next ones, while
// the tailer catches up. Without it, blocks would fill the heap faster than the
// garbage collector runs.
type store struct {
	mu     sync.Mutex
	blocks []*block
	closed bool
}

const (
	// leastRoom is the number of changes for which a generation's first block has room.
	// Each further block has twice the room of the previous one, up to blockRoom. A
	// reused block has room for at least blockRoom changes.
	leastRoom = 256
	// storedBlocks is the maximum number of blocks that a store keeps: 128 MiB in all.
	storedBlocks = 512
)

// take returns an empty block, which becomes block n of a generation.
func (s *store) take(n int) *block {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := new(block)
	if last := len(s.blocks) - 1; last >= 0 {
		b.Changes, s.blocks = s.blocks[last].Changes, s.blocks[:last]
		b.Reset()
	} else {
		b.Grow(min(leastRoom<<min(n, 16), blockRoom))
	}
	return b
}

// give puts blocks that nobody reads any longer back into the store.
func (s *store) give(blocks []*block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range blocks {
		if room := b.Room(); room >= blockRoom && room < 2*blockRoom && len(s.blocks) < storedBlocks && !s.closed {
			s.blocks = append(s.blocks, b)
		}
	}
}

// close drops the blocks of the store, which keeps none from then on.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks, s.closed = nil, true
}
