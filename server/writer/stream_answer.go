package writer

import (
	"slices"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

const (
	// streamPiece is the number of bytes of results that a stream gathers before it
	// writes them. The last result may exceed it. All results of a block fit if they
	// are short.
	streamPiece = 80 << 10
	// keptPiece is the maximum size of a buffer for results that is reused.
	keptPiece = 96 << 10
	// pieceClaim is the number of bytes that a stream claims from the budget while it
	// has results to send, for these and for the buffer in which Exchange.Together
	// gathers them.
	pieceClaim = 192 << 10
)

// pieces are buffers for results. A stream has one only while it has results to send.
var pieces = sync.Pool{New: func() any { return new(make([]byte, 0, keptPiece)) }}

// takePiece gives the stream a buffer for results.
func (s *stream) takePiece() {
	if s.piece != nil {
		return
	}
	s.piece = pieces.Get().(*[]byte)
	s.out = *s.piece
	s.mu.Lock()
	defer s.mu.Unlock()
	s.x.Claim.Force(pieceClaim)
}

// dropPiece gives up the buffer after its results were sent.
func (s *stream) dropPiece() {
	if s.piece == nil {
		return
	}
	if httpserver.Poison(s.out[:cap(s.out)]); cap(s.out) <= keptPiece {
		*s.piece = s.out[:0]
		pieces.Put(s.piece)
	}
	s.out, s.piece = nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.x.Claim.Force(-pieceClaim)
}

// answer writes the results of the blocks in the order in which they were
// submitted, until the stream is over and all are written.
func (s *stream) answer() {
	for {
		select {
		case b := <-s.sent:
			s.answerBlock(b)
			continue
		default:
		}
		s.flush()
		select {
		case b := <-s.sent:
			s.answerBlock(b)
		case <-s.ended:
			for len(s.sent) > 0 { // no more blocks come
				s.answerBlock(<-s.sent)
			}
			s.answerLast()
			return
		}
	}
}

// answerBlock writes the results of a block when they may be sent. Before it waits
// for them, it flushes the results of earlier blocks.
func (s *stream) answerBlock(b *block) {
	why := b.refused
	if b.group != nil {
		select {
		case <-b.group.done:
		default:
			s.flush()
			<-b.group.done
		}
		why = b.group.err
	}
	b.took = time.Since(b.submitted)
	s.takePiece()
	failed := why != nil
	for i := 0; i < len(b.verdicts); {
		if why == nil {
			s.d.readBack(&b.request, i, &httpserver.Claim{}) // one at a time, so nothing is charged
		}
		s.d.streams.work(func() {
			for first := i; i < len(b.verdicts) && len(s.out) < streamPiece; i++ {
				v := &b.verdicts[i]
				if v.long && i > first {
					break
				}
				if why != nil {
					s.d.meters.rejected(why.Code)
					v.err = why
				}
				failed = failed || v.err != nil
				s.out = append(appendVerdict(s.out, v, &b.Txs[i]), '\n')
			}
		})
		if len(s.out) >= streamPiece {
			s.write()
		}
	}
	if why == nil {
		s.d.count(&b.request)
	}
	s.answered += int64(len(b.verdicts))
	s.mu.Lock()
	s.giveBack(b)
	s.mu.Unlock()
	switch {
	case failed && s.stopOnError:
		s.end(nil)
	case why != nil && s.d.seq().intake.refusing() != nil:
		s.end(s.d.seq().intake.refusing())
	}
}

// giveBack frees a block. The caller holds mu.
func (s *stream) giveBack(b *block) {
	s.inFlight--
	s.x.Claim.Force(-b.claim)
	if b.overdrawn {
		s.repay(1)
	}
	b.release(s.d.budget.Crowded())
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// answerLast writes the last line of the response, if the stream ends for a
// reason that the client must know. If a line of the request was too long, the last
// line of the response is its result. Otherwise the last line of the response belongs
// to no line of the request. To show that, it contains the number of answered lines.
func (s *stream) answerLast() {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != nil {
		s.d.meters.rejected(last.Code)
		if own := *last; own.Code != ledger.PayloadTooLarge {
			own.Details = append(slices.Clone(own.Details), ledger.Num("lines_answered", s.answered))
			last = &own
		}
		s.takePiece()
		s.out = append(last.AppendJSON(s.out), '\n')
	}
	s.flush()
}

// allowWrite sets the deadline by which the client must read the next write.
func (s *stream) allowWrite() {
	until := time.Time{}
	if d := s.d.timeouts.Write; d > 0 {
		until = time.Now().Add(d)
	}
	s.control.SetWriteDeadline(until)
}

// write writes s.out.
func (s *stream) write() { s.deliver(false) }

// flush writes s.out and sends all results to the client without delay.
func (s *stream) flush() { s.deliver(true) }

func (s *stream) deliver(flush bool) {
	n := len(s.out)
	s.mu.Lock()
	broken := s.broken
	if !broken {
		s.allowWrite()
	}
	s.mu.Unlock()
	if !broken {
		s.x.Claim.Awaits(func() { s.control.SetWriteDeadline(httpserver.LongAgo) })
		err := s.x.Together(func() error {
			_, err := s.x.W.Write(s.out)
			if err == nil && flush {
				err = s.control.Flush()
			}
			return err
		})
		s.x.Claim.Progress(n)
		s.x.Claim.Ready()
		if err != nil {
			s.cut()
		}
	}
	if s.out = s.out[:0]; flush {
		s.dropPiece()
	}
}
