package reader

import (
	"errors"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// The log can only be read forward. So a page of the newest commits is read in
// pieces, the last one first, and each piece is reversed:
//
//	log   … [ piece 3 ][ piece 2 ][ piece 1 ]
//	page  1 reversed, 2 reversed, 3 reversed …

const (
	firstPiece = 16      // number of commits in the first piece
	pieceBytes = 1 << 20 // size at which a piece gets no more commits
)

// A piece is a sequence of rendered commits, one after another.
type piece struct {
	text []byte
	ends []int // where each commit ends in text

	wanted int // bytes that the reading must claim to have room for one more commit
}

// appendNewest appends the commits of the page, newest first, and returns the
// cursor of the next page.
func (r *reading) appendNewest(dst []byte) ([]byte, cursor, error) {
	start := len(dst)
	var p piece
	next := r.to // next commit to append
	for n := uint64(firstPiece); next >= r.from && next > 0; {
		if len(dst)-start > maxPageBytes {
			r.more = true
			break
		}
		low := max(r.from, next-min(n, next)+1)
		whole, err := r.readPiece(&p, low, next, len(dst))
		if archived := (*wal.ArchivedError)(nil); errors.As(err, &archived) && archived.First <= next && low < archived.First {
			r.from, r.more = archived.First, true // the next page reports that the other commits are archived
			continue
		}
		if err != nil {
			return dst, cursor{}, err
		}
		if !whole && low < next {
			n = (next - low + 1) / 2
			continue
		}
		if !whole && len(dst) > start { // no room for even one more
			r.more = true
			break
		}
		if !whole {
			if refused := r.awaitRoom(p.wanted); refused != nil {
				return dst, cursor{}, refused
			}
			continue
		}
		dst, _ = r.roomFor(dst, len(p.text)+len(p.ends)+tailRoom, cap(p.text)) // readPiece has made sure that there is room
		dst = p.appendTurned(dst, next < r.to)
		if next = low - 1; len(p.text) < pieceBytes/2 {
			n *= 2
		}
	}
	return dst, cursor{A: int64(next + 1), B: newestFirst}, nil
}

// appendTurned appends the commits of a piece in reverse order, separated by
// commas.
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

// readPiece reads the commits low..high. It returns false if they are too long for
// one piece, or if the budget has no room for them besides a page of the given
// size. For a single commit it returns false only for lack of room, and then
// p.wanted is set.
func (r *reading) readPiece(p *piece, low, high uint64, page int) (whole bool, err error) {
	p.text, p.ends, whole = p.text[:0], p.ends[:0], true
	err = r.daemon.commits.each(r.R.Context(), low, high, func(log *commitlog.PlacedReader, f *wal.Frame, rec *ledger.Record, seq uint64) bool {
		log.Text = r.appendCommit(log.Text[:0], f, rec, seq)
		// Count the piece twice, since it is copied to the page.
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
