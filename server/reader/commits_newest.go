package reader

import (
	"errors"

	"assetledger/wal"
)

// The log can only be read forward. So a page of the newest commits is read in
// pieces, the last one first, and each piece is turned round:
//
//	log   … [ piece 3 ][ piece 2 ][ piece 1 ]
//	page  1 turned, 2 turned, 3 turned …

const (
	firstPiece = 16      // commits
	pieceBytes = 1 << 20 // beyond which a piece gets no longer
)

// A piece is a run of commits, as text, one behind the other.
type piece struct {
	text []byte
	ends []int // where each commit ends in text
}

// appendNewest appends the commits of the page, newest first, and says before
// which one the next begins.
func (r *reading) appendNewest(dst []byte) ([]byte, cursor, error) {
	start, room := len(dst), true
	var p piece
	next := r.to // the commit that is due
	for n := uint64(firstPiece); next >= r.from && next > 0; {
		if len(dst)-start > maxPageBytes || !room {
			r.more = true
			break
		}
		low := max(r.from, next-min(n, next)+1)
		whole, err := r.readPiece(&p, low, next)
		if archived := (*wal.ArchivedError)(nil); errors.As(err, &archived) && archived.First <= next && low < archived.First {
			r.from, r.more = archived.First, true // the next page says that the others are archived
			continue
		}
		if err != nil {
			return dst, cursor{}, err
		}
		if !whole {
			n = (next - low + 1) / 2
			continue
		}
		for i := len(p.ends) - 1; i >= 0; i-- {
			if next < r.to || i < len(p.ends)-1 {
				dst = append(dst, ',')
			}
			begin := 0
			if i > 0 {
				begin = p.ends[i-1]
			}
			dst = append(dst, p.text[begin:p.ends[i]]...)
		}
		if next = low - 1; len(p.text) < pieceBytes/2 {
			n *= 2
		}
		room = r.holds(cap(dst) + cap(p.text))
	}
	return dst, cursor{A: int64(next + 1), B: newestFirst}, nil
}

// readPiece reads the commits low..high. It is false if they are too long for
// one piece; a single commit never is.
func (r *reading) readPiece(p *piece, low, high uint64) (whole bool, err error) {
	p.text, p.ends, whole = p.text[:0], p.ends[:0], true
	err = r.daemon.commits.each(r.R.Context(), low, high, &r.record, func(f *wal.Frame, seq uint64) bool {
		p.text = r.appendCommit(p.text, f, seq)
		p.ends = append(p.ends, len(p.text))
		whole = seq == high || len(p.text) < pieceBytes
		return whole
	})
	return whole, err
}
