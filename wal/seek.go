package wal

import (
	"errors"
	"fmt"
	"slices"
)

// Seek positions the reader so that Next returns the frame that contains seq or, if
// seq is Durable()+1, the next frame to come. It returns ErrBeyond for a later seq.
// It lists the segments if necessary, and walks over frame headers from the nearest
// remembered place.
func (r *Reader) Seek(seq uint64) error {
	durable, err := r.checkEnd()
	if err != nil {
		return err
	}
	seq = max(seq, 1)
	if seq-1 > durable {
		return fmt.Errorf("%w: global_seq %d, but the log ends at %d", ErrBeyond, seq, durable)
	}
	r.idle = false
	if durable == 0 {
		return nil // an empty log has only one position
	}
	if err := r.seekSegment(seq, durable); err != nil {
		return err
	}
	if c, ok := r.index.find(r.seg.head.First, seq); ok && c.next > r.at.next {
		r.w.at, r.at, r.last = c, c, 0
	}
	return r.walkTo(seq, durable)
}

// seekSegment enters the segment that contains seq, at its start, unless the reader
// is already in it, at or before seq.
func (r *Reader) seekSegment(seq, durable uint64) error {
	if r.src != nil {
		// A segment that has been moved to an archive stays readable here, but is
		// no longer part of the log.
		switch there, err := r.fs.Same(r.seg.path, r.seg.path); {
		case err != nil:
			return err
		case !there:
			r.listed = 0
		case r.at.next == seq:
			return nil
		}
	}
	if seq > r.listed {
		firsts, err := listSeqs(r.fs, segmentsPath(r.dir), segmentExt)
		if err != nil {
			return err
		}
		r.firsts, r.listed = firsts, durable
	}
	i, found := slices.BinarySearch(r.firsts, seq)
	if !found {
		i--
	}
	if i < 0 {
		return r.missing(join(segmentsPath(r.dir), segmentName(seq)), seq)
	}
	if r.src == nil || r.seg.head.First != r.firsts[i] {
		return r.enter(r.firsts[i], nil)
	}
	if err := r.archived(); err != nil {
		return err
	}
	if r.at.next > seq {
		r.w.at = segmentStart(&r.seg.head)
		r.at, r.last = r.w.at, 0
	}
	return nil
}

// archived returns an *ArchivedError if the reader's segment was moved to an
// archive. The reader can still read it, but another reader would not find it.
func (r *Reader) archived() error {
	there, err := r.fs.Same(r.seg.path, r.seg.path)
	if err != nil || there {
		return nil
	}
	var archived *ArchivedError
	if errors.As(r.missing(r.seg.path, r.seg.head.First), &archived) {
		return archived
	}
	return nil
}

// walkTo steps over frames that end before seq.
func (r *Reader) walkTo(seq, durable uint64) error {
	for r.at.next <= durable {
		if err := r.readAt(false); err != nil {
			return err
		}
		if r.w.h.Kind == kindData && r.w.h.last() >= seq {
			return nil
		}
		r.index.note(r.seg.head.First, r.at)
		if r.w.h.Kind != kindSeal {
			r.step()
			continue
		}
		if err := r.enterNext(); err != nil {
			return err
		}
	}
	return nil
}

// A Place is the position of a state in a log: after the frame whose last record is
// Seq.
type Place struct {
	Seq    uint64
	Chain  uint32 // the frame's header CRC
	Time   int64  // commit time of the frame, in Unix nanoseconds
	Digest uint64 // state digest after the frame
}

// Place returns the position of a state that has applied the frame. The frame must
// have been read, parsed, encoded or appended.
func (f *Frame) Place() Place {
	return Place{Seq: f.Last(), Chain: f.Chain, Time: f.Time, Digest: f.Digest}
}

// SeekAfter positions the reader so that Next returns the frame after p. It reads
// and checks the frame at p. It returns a *MismatchError if that is not the frame of
// p, ErrBeyond if the log does not reach p, and an *ArchivedError if the log begins
// later.
func (r *Reader) SeekAfter(p Place) error {
	if p.Seq == 0 {
		return r.Seek(1)
	}
	if durable, err := r.checkEnd(); err != nil {
		return err
	} else if p.Seq > durable {
		return fmt.Errorf("%w: global_seq %d, but the log ends at %d", ErrBeyond, p.Seq, durable)
	}
	if err := r.Seek(p.Seq); err != nil {
		return err
	}
	if err := r.readAt(true); err != nil {
		return err
	}
	f := r.w.frame()
	if err := Mismatch(f.Place(), p); err != nil {
		return err
	}
	r.index.note(r.seg.head.First, r.at)
	r.step()
	return nil
}

const (
	indexStride = 64 << 10 // distance in bytes of log between two remembered places
	indexMax    = 1 << 16  // maximum number of places: about 3 MiB of memory, for 4 GiB of log
)

// A sparseIndex remembers places in segments that the reader has walked over. When
// it is full, it drops the least recently used segment.
type sparseIndex struct {
	places map[uint64][]cursor // by first global_seq of the segment, ascending within it
	recent []uint64            // segments, the most recently used last
	total  int
}

// note remembers a place, unless the index has one nearby.
func (x *sparseIndex) note(segment uint64, c cursor) {
	if n := len(x.recent); n == 0 || x.recent[n-1] != segment {
		x.use(segment)
	}
	list := x.places[segment]
	if n := len(list); n > 0 && c.off < list[n-1].off+indexStride {
		return
	}
	if x.total == indexMax {
		x.forget()
	}
	x.places[segment] = append(list, c)
	x.total++
}

// find returns the last remembered place at or before seq.
func (x *sparseIndex) find(segment, seq uint64) (cursor, bool) {
	list, ok := x.places[segment]
	if !ok {
		return cursor{}, false
	}
	x.use(segment)
	i, found := slices.BinarySearchFunc(list, seq, func(c cursor, seq uint64) int {
		switch {
		case c.next < seq:
			return -1
		case c.next > seq:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 {
		return cursor{}, false
	}
	return list[i], true
}

func (x *sparseIndex) use(segment uint64) {
	if x.places == nil {
		x.places = make(map[uint64][]cursor)
	}
	if i := slices.Index(x.recent, segment); i >= 0 {
		x.recent = slices.Delete(x.recent, i, i+1)
	}
	x.recent = append(x.recent, segment)
}

// forget drops the least recently used segment. The current segment is dropped
// last.
func (x *sparseIndex) forget() {
	old := x.recent[0]
	x.recent = slices.Delete(x.recent, 0, 1)
	x.total -= len(x.places[old])
	delete(x.places, old)
}
