package writer

import (
	"bytes"
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

const (
	// blockBytes is the maximum size of a block, in bytes, unless one line is
	// longer.
	blockBytes = 128 << 10
	// blockLines is the maximum number of lines in a block. It bounds the memory of
	// their parsed form, and of their rejections.
	blockLines = 1024
	// blockClaim is the number of bytes that a block claims from the budget, for
	// its lines, their parsed form, and their verdicts.
	blockClaim = 1 << 20
)

// A block is a sequence of lines of a stream that the sequencer receives as one
// request. Blocks are pooled. The reading side of the stream owns a block until it
// is submitted, and the answering side after that.
type block struct {
	request
	lines     []byte
	claim     int64         // bytes claimed from the budget
	overdrawn bool          // there was no room for the claim
	group     *group        // nil if the block was rejected
	refused   *ledger.Error // error if the block was rejected as a whole
	submitted time.Time
}

var blocks = sync.Pool{New: func() any { return &block{request: request{bulk: true}, lines: make([]byte, 0, blockBytes)} }}

// fill parses the first lines of data, at most blockLines, and skips blank ones. It
// returns the number of bytes used. It stops before a line of more than limit
// bytes, and then long is true.
func (b *block) fill(data []byte, limit int64, lim ledger.ParseLimits) (used int, long bool) {
	b.Reset()
	b.lines = append(b.lines[:0], data...)
	for used < len(b.lines) && len(b.Txs) < blockLines {
		line, _, _ := bytes.Cut(b.lines[used:], newline)
		switch {
		case int64(len(line)) > limit:
			return used, true
		case !isBlank(line):
			b.ParseLine(line, lim)
		}
		used = min(used+len(line)+1, len(b.lines))
	}
	return used, false
}

// release returns the block to the pool, unless its buffer is large or the daemon is
// crowded, which means that its memory is scarce.
func (b *block) release(crowded bool) {
	b.clear()
	b.group, b.refused, b.claim, b.overdrawn = nil, nil, 0, false
	httpserver.Poison(b.lines)
	if !crowded && cap(b.lines) <= blockBytes {
		blocks.Put(b)
	}
}

var newline = []byte{'\n'}

// isBlank reports whether a line is only whitespace.
func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// wholeLines returns the part of data that may become the next block: complete
// lines, as many as fit in a block, or one longer line. If end is true, data is the
// end of the body, and its last line needs no newline.
func wholeLines(data []byte, end bool) []byte {
	switch {
	case end && len(data) <= blockBytes:
		return data
	case len(data) > blockBytes:
		if i := bytes.LastIndexByte(data[:blockBytes], '\n'); i >= 0 {
			return data[:i+1]
		}
		if i := bytes.IndexByte(data[blockBytes:], '\n'); i >= 0 {
			return data[:blockBytes+i+1]
		}
		if end {
			return data
		}
		return nil
	}
	return data[:bytes.LastIndexByte(data, '\n')+1]
}
