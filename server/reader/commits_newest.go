package reader

import (
	"errors"

	"assetledger/ledger"
	"assetledger/server/commitlog"
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

	wanted int // bytes that the reading must hold for one more commit
}

// appendNewest appends the commits of the page, newest first, and says before
// which one the next begins.
func (r *reading) appendNewest(dst []byte) ([]byte, cursor, error) {
	start := len(dst)
	var p piece
	next := r.to // the commit that is due
	for n := uint64(firstPiece); next >= r.from && next > 0; {
		if len(dst)-start > maxPageBytes {
			r.more = true
			break
		}
		low := max(r.from, next-min(n, next)+1)
		whole, err := r.readPiece(&p, low, next, len(dst))
		if archived := (*wal.ArchivedError)(nil); errors.As(err, &archived) && archived.First <= next && low < archived.First {
			r.from, r.more = archived.First, true // the next page says that the others are archived
			continue
		}
		if err != nil {
			return dst, cursor{}, err
		}
		if !whole && low < next {
			n = (next - low + 1) / 2
			continue
		}
		if !whole && len(dst) > start { // no room even for one more
			r.more = true
			break
		}
		if !whole {
			if refused := r.awaitRoom(p.wanted); refused != nil {
				return dst, cursor{}, refused
			}
			continue
		}
		dst, _ = r.roomFor(dst, len(p.text)+len(p.ends)+tailRoom, cap(p.text)) // which readPiece has made sure of
		dst = p.appendTurned(dst, next < r.to)
		if next = low - 1; len(p.text) < pieceBytes/2 {
			n *= 2
		}
	}
	return dst, cursor{A: int64(next + 1), B: newestFirst}, nil
}

// appendTurned appends the commits of a piece, the last one first, each but the
// first of the page after a comma.
func (p *piece) appendTurned(dst []byte, comma bool) []byte {
	for i := len(p.ends) - 1; i >= 0; i-- {
		if comma || i < len(p.ends)-1 {
			dst = append(dst, ',')
		}
		begin := 0
		if i > 0 {
			begin = p.ends[i-1]
		}
		dst = append(dst, p.text[begin:p.ends[i]]...)
	}
	return dst
}

// readPiece reads the commits low..high. It is false if they are too long for
// one piece, or for what the budget has room for beside a page of so many bytes;
// a single commit is false only for want of room: p.wanted.
func (r *reading) readPiece(p *piece, low, high uint64, page int) (whole bool, err error) {
	p.text, p.ends, whole = p.text[:0], p.ends[:0], true
	err = r.daemon.commits.each(r.R.Context(), low, high, func(log *commitlog.PlacedReader, f *wal.Frame, rec *ledger.Record, seq uint64) bool {
		log.Text = r.appendCommit(log.Text[:0], f, rec, seq)
		// The piece is there twice when the page has it too.
		again := page + len(p.text) + len(log.Text) + len(p.ends) + 1 + tailRoom
		grown, ok := r.roomFor(p.text, len(log.Text), again)
		if p.wanted = 0; !ok {
			p.wanted, whole = len(p.text)+len(log.Text)+again, false
			return false
		}
		p.text = append(grown, log.Text...)
		p.ends = append(p.ends, len(p.text))
		whole = seq == high || len(p.text) < pieceBytes
		return whole
	})
	return whole, err
}
