package writer

import "assetledger/server/httpserver"

// A stream holds streamClaim bytes of the budget while it is open, blockClaim for
// each block of short lines, pieceClaim while it has results to send, and more while
// it reads or executes a long line. If there is no room for its lines, the stream
// reads nothing until there is:
//
//	long line: buffer (more) ─ grows ─┐
//	                                  ├─ no room: wait, or overdraw
//	block: lines, parsed form ────────┘
//
// Streams that each hold a part of a long line could wait for each other's memory
// forever. So one of them at a time may overdraw: it exceeds the budget for one
// line and its block. When these are released, the next stream may.

// makeRoom makes room in the buffer to read more of a long line. It returns false
// if the stream is over, or if the budget has ended it.
func (s *stream) makeRoom() bool {
	if len(s.in) < cap(s.in) {
		return true
	}
	size := min(2*cap(s.in), int(s.d.maxBody)+2)
	for !s.more.Grow(int64(size)) {
		if s.isOver() || s.more.WasEnded() {
			return false
		}
		if s.overdraw(&s.more, int64(size)) {
			s.owed++
			break
		}
	}
	was := s.more.Held - int64(size)
	s.in = append(make([]byte, 0, size), s.in...)
	s.more.Force(-was)
	return true
}

// dropRoom releases the room for a long line when the rest fits in a buffer of the
// usual size.
func (s *stream) dropRoom() {
	if cap(s.in) <= blockBytes || len(s.in) >= blockBytes {
		return
	}
	s.in = append(make([]byte, 0, blockBytes), s.in...)
	s.more.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repay(s.owed)
	s.owed, s.awaited = 0, false
}

// awaitLine lets the budget end the stream if a long line arrives too slowly. The
// rate is measured over the whole line, not over one read.
func (s *stream) awaitLine() {
	if s.more.Held == 0 {
		return
	}
	drop := func() { s.control.SetReadDeadline(httpserver.LongAgo) }
	if s.awaited {
		s.more.AwaitsAgain(drop)
		return
	}
	s.awaited = true
	s.more.Awaits(drop)
}

// block returns a block that claims size bytes of the budget, or nil if the stream
// is over. If all blocks are in flight, or there is no memory for one more, it
// waits until one of them is free. If none is in flight, it waits for other requests
// to release memory.
func (s *stream) block(size int64) *block {
	for {
		s.mu.Lock()
		none := s.inFlight == 0
		got := !s.over && s.inFlight < streamBlocks && s.x.Claim.GrowNow(size)
		s.mu.Unlock()
		overdrawn := false
		if !got && none { // only other requests can make room
			got, overdrawn = s.firstBlock(size)
		}
		switch {
		case got:
			b := blocks.Get().(*block)
			b.claim, b.overdrawn = size, overdrawn
			return b
		case s.isOver():
			return nil
		case !none:
			select {
			case <-s.freed:
			case <-s.ended:
			}
		}
	}
}

// firstBlock claims size bytes for a block, while none is in flight. It waits for a
// limited time.
func (s *stream) firstBlock(size int64) (got, overdrawn bool) {
	room := s.x.Claim.Another()
	defer room.Release()
	if !room.Grow(size) {
		got = s.overdraw(&s.x.Claim, size)
		return got, got
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false, false
	}
	s.x.Claim.Force(size) // in place of room
	return true, false
}

// overdraw adds size bytes to the claim although there is no room for them. It
// returns false if another stream is overdrawn at present, or if the stream is over.
func (s *stream) overdraw(c *httpserver.Claim, size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	if s.overdrawn == 0 {
		select {
		case s.d.streams.overdraft <- struct{}{}:
		default:
			return false
		}
	}
	s.overdrawn++
	c.Force(size)
	return true
}

// repay records the release of the bytes that n calls to overdraw added. The caller
// holds mu.
func (s *stream) repay(n int) {
	if n == 0 {
		return
	}
	if s.overdrawn -= n; s.overdrawn == 0 {
		<-s.d.streams.overdraft
	}
}

// repayAll does the same for all calls to overdraw, at the end of the stream.
func (s *stream) repayAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repay(s.overdrawn)
}
