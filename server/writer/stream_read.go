package writer

import (
	"bytes"
	"io"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

const (
	// manyBlank is the maximum total size, in bytes, of consecutive empty lines that
	// cause no pause. A client needs fewer bytes to keep a stream open.
	manyBlank = 4 << 10
	// breather is the pause before more is read from a stream that sends nothing
	// useful, so that the stream does not occupy a core.
	breather = time.Millisecond
)

// unanswered is the part of an error message about the lines that get no response.
const unanswered = "Lines without a response were not executed: send them in a new stream."

var tooSlow = ledger.Errorf(ledger.MalformedJSON, "A long line arrived too slowly while other requests waited for memory. %s", unanswered)

// receive reads the body and submits its lines, until the body or the stream ends.
// It returns the reason why the stream ends, if the client must know.
func (s *stream) receive() *ledger.Error {
	s.in = make([]byte, 0, blockBytes)
	for s.makeRoom() && s.allowRead() {
		n, err := s.x.R.Body.Read(s.in[len(s.in):cap(s.in)])
		s.in = s.in[:len(s.in)+n]
		if s.more.Held > 0 {
			s.more.Progress(n)
			s.more.Ready()
		}
		if fault := s.take(err == io.EOF); fault != nil {
			return fault
		}
		if err == io.EOF {
			s.bodyEnded(true)
			s.end(nil)
			return nil
		}
		if err != nil {
			return s.unread(err)
		}
	}
	if s.isOver() {
		return nil
	}
	return tooSlow
}

// allowRead sets the deadline by which the client must send more. It returns false
// if the stream is over.
func (s *stream) allowRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	until := time.Time{}
	if d := s.d.timeouts.Read; d > 0 {
		until = time.Now().Add(d)
	}
	s.control.SetReadDeadline(until)
	s.awaitLine()
	return true
}

// unread returns the error for a body whose rest can't be read.
func (s *stream) unread(err error) *ledger.Error {
	if s.more.WasEnded() {
		return tooSlow
	}
	if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
		return ledger.Errorf(ledger.MalformedJSON, "Nothing was received for %v; an empty line keeps a stream open. %s", s.d.timeouts.Read, unanswered)
	}
	return ledger.Errorf(ledger.MalformedJSON, "The body is incomplete: %s. %s", httpserver.WhyIncomplete(err), unanswered)
}

// discard reads and drops the rest of the body, until close stops it.
func (s *stream) discard() {
	if s.whole {
		return
	}
	buf := make([]byte, blockBytes)
	for {
		_, err := s.x.R.Body.Read(buf)
		if err != nil {
			s.bodyEnded(err == io.EOF)
			return
		}
		time.Sleep(breather)
	}
}

// bodyEnded records whether the body ended properly.
func (s *stream) bodyEnded(whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole = whole; whole {
		s.control.SetReadDeadline(time.Time{})
	}
}

func (s *stream) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// take submits the lines that have arrived, and keeps the rest.
func (s *stream) take(end bool) *ledger.Error {
	rest := skipBlank(s.in, end)
	if len(s.in)-len(rest) > manyBlank && len(rest) == 0 && !end {
		time.Sleep(breather)
	}
	if len(rest) < len(s.in) || end || len(rest) > 0 && rest[len(rest)-1] == '\n' {
		if err := s.d.api.Readmit(s.x, streamPattern); err != nil {
			return err
		}
	}
	for data := wholeLines(rest, end); len(data) > 0; data = wholeLines(rest, end) {
		used, long, ok := s.submit(data)
		if !ok {
			return nil
		}
		if long {
			return s.tooLong()
		}
		rest = skipBlank(rest[used:], end)
	}
	s.in = s.in[:copy(s.in, rest)]
	if int64(len(s.in)) > s.d.maxBody {
		return s.tooLong()
	}
	s.dropRoom()
	return nil
}

// skipBlank returns data without the empty lines at its beginning.
func skipBlank(data []byte, end bool) []byte {
	i := 0
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	if end && i == len(data) {
		return nil
	}
	return data[bytes.LastIndexByte(data[:i], '\n')+1:]
}

func (s *stream) tooLong() *ledger.Error {
	return ledger.Errorf(ledger.PayloadTooLarge, "A line is longer than %d bytes. It and later lines of this stream were not executed.", s.d.maxBody).
		With(ledger.Num("limit_bytes", s.d.maxBody))
}

// submit submits the first lines of data, which must be complete. It returns the
// number of bytes used, and whether a line that is too long follows. The result ok is
// false if the stream is over.
func (s *stream) submit(data []byte) (used int, long, ok bool) {
	size := int64(blockClaim)
	if len(data) > blockBytes {
		size += int64(len(data)) + ledger.ParsedSize(data)
	}
	b := s.block(size)
	if b == nil {
		return 0, false, false
	}
	s.d.streams.work(func() {
		used, long = b.fill(data, s.d.maxBody, s.d.parsing)
		for i := range b.Txs {
			s.x.Sign(&b.Txs[i])
		}
		b.judged()
	})
	b.StopOnError, b.lane, b.submitted = s.stopOnError, &s.lane, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(b.Txs) == 0 { // a line that is too long comes first, so the stream is about to end
		return used, long, !s.over
	}
	s.inFlight++
	b.group, b.refused = s.d.seq().intake.submit(&b.request)
	s.sent <- b
	return used, long, true
}
