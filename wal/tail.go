package wal

import (
	"errors"
	"fmt"
)

// A tail is the end of a log as it was found: X, the first place in the last
// segment that has no valid next frame, and the rule that holds there.
type tail struct {
	seg      segmentFile
	at       cursor // X
	group    group
	doubt    int64  // start of the frames that may not be synced; X if there are none
	sealed   bool   // the last segment has its seal, and X is after it
	traced   uint64 // highest global_seq in a valid frame header at or after X; 0 if there is none
	strayEnd int64  // end of the last byte that is not zero; X if there is none
	facts    facts
	rule     *rule
	why      error // what is wrong at X; nil if nothing was written there
}

// A group describes which frames a crash can have interrupted.
type group struct {
	any   bool // several frames, since the log is a copy
	known bool // until the machine is restarted, END shows which frames these are: those that it does not cover
}

// group returns which frames of the directory a crash can have interrupted.
func (d *dirState) group() group { return group{any: d.copy, known: d.copy && d.end.there} }

// last returns the last valid global_seq.
func (t *tail) last() uint64 { return t.at.next - 1 }

func (t *tail) corrupt() error {
	if errors.Is(t.why, ErrVersion) {
		return fmt.Errorf("%s at offset %d: %w", t.seg.path, t.at.off, t.why)
	}
	return &CorruptError{File: t.seg.path, Offset: t.at.off, Seq: t.last(), Rule: t.rule.name, Err: refusal(t.rule, t.why)}
}

// readTail finds the end of the log. It changes nothing. It also walks the segment
// before the last one, because the last one must link to its seal. Readers check
// the earlier segments when they read them.
func readTail(fsys FS, d *dirState) (*tail, error) {
	n := len(d.segments)
	var before cursor // cursor after the seal of the segment before the last
	if n > 1 {
		var err error
		if before, err = walkSealed(fsys, &d.segments[n-2], &d.segments[n-1]); err != nil {
			return nil, err
		}
	}
	t := &tail{seg: d.segments[n-1], group: d.group()}
	return t, t.read(fsys, before, d.end.durable, d.acked())
}

// read fills t for its segment. The parameter before is the cursor after the seal of
// the previous segment.
func (t *tail) read(fsys FS, before cursor, durable, acknowledged uint64) error {
	src, err := openView(fsys, t.seg.path, t.seg.head.Size)
	if err != nil {
		return err
	}
	defer src.Close()
	w := newWalker(src, t.seg.head, nil)
	w.at.time, w.at.digest = before.time, before.digest
	if err := t.walk(w, durable); err != nil {
		return err
	}
	return t.judge(w, acknowledged)
}

// judge collects the facts at X and finds the rule that holds.
func (t *tail) judge(w *walker, acknowledged uint64) error {
	if err := t.survey(w, acknowledged); err != nil {
		return fmt.Errorf("%s: %w", t.seg.path, err)
	}
	t.rule = decide(tailRules, t.facts)
	return nil
}

// walkSealed walks over the frame headers of a segment that is not the last,
// and checks that the next one continues it. Readers check the bodies.
func walkSealed(fsys FS, s, next *segmentFile) (cursor, error) {
	src, err := openView(fsys, s.path, s.head.Size)
	if err != nil {
		return cursor{}, err
	}
	defer src.Close()
	w := newWalker(src, s.head, nil)
	if err := w.scan(false, nil); err != nil {
		return w.at, sealError(s, &w.at, err)
	}
	if err := checkLink(next.path, &next.head, s.head.ID, s.head.Ordinal, &w.at); err != nil {
		return w.at, err
	}
	return w.at, nil
}

// sealError returns the error for a segment that must be sealed and in which a walk
// ended early.
func sealError(s *segmentFile, at *cursor, err error) error {
	f, flawed := errors.AsType[*flaw](err)
	switch {
	case err == errVoid:
		err = &CorruptError{File: s.path, Offset: at.off, Seq: at.next - 1, Rule: ruleUnsealed,
			Err: errors.New("there is no frame here, but there is a later segment")}
	case errors.Is(err, ErrVersion):
		err = fmt.Errorf("%s at offset %d: %w", s.path, at.off, err)
	case flawed:
		err = &CorruptError{File: s.path, Offset: at.off, Seq: at.next - 1, Rule: f.rule, Err: f.err}
	}
	return err
}

// checkLink checks that a segment continues the previous one. The parameter at is the
// cursor after the seal of the previous one.
func checkLink(path string, h *segmentHeader, id LogID, ordinal uint32, at *cursor) error {
	bad := func(rule, format string, args ...any) error {
		return &CorruptError{File: path, Seq: at.next - 1, Rule: rule, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case h.ID != id:
		return bad(ruleForeign, "log id %s, but the previous segment has %s", h.ID, id)
	case h.Ordinal != ordinal+1:
		return bad(ruleGap, "this is segment number %d, need %d", h.Ordinal, ordinal+1)
	case h.First != at.next:
		return bad(ruleLink, "it begins at global_seq %d, need %d", h.First, at.next)
	case h.Prev != at.prev:
		return bad(ruleLink, "it follows a seal with header CRC %08x, but the previous one has %08x", h.Prev, at.prev)
	}
	return nil
}

// walk moves the cursor to X.
func (t *tail) walk(w *walker, durable uint64) error {
	covered := true
	err := w.scan(true, func() error {
		// Each frame proves that the earlier ones are durable, except in a group. A
		// seal ends at the same global_seq as the previous frame, so END does not
		// show whether the seal was synced.
		if covered || !t.group.known {
			t.doubt, covered = w.at.off, w.h.Kind != kindSeal && w.h.last() <= durable
		}
		return nil
	})
	t.at = w.at
	if covered {
		t.doubt = t.at.off
	}
	f, flawed := errors.AsType[*flaw](err)
	switch {
	case err == nil:
		t.sealed = true
	case err == errVoid:
	case flawed:
		t.why = f
		if f.misfit {
			t.facts |= misfit
		}
	default:
		return fmt.Errorf("%s: %w", t.seg.path, err)
	}
	return nil
}

// survey collects the facts about the bytes from X to the end of the segment.
func (t *tail) survey(w *walker, acknowledged uint64) error {
	if acknowledged > t.last() {
		t.facts |= acked
	}
	t.strayEnd = t.at.off
	buf := make([]byte, max(0, min(copyBufSize, t.seg.head.Size-t.at.off)))
	for off := t.at.off; off < t.seg.head.Size; {
		b := buf[:min(int64(len(buf)), t.seg.head.Size-off)]
		if err := readFull(w.src, b, off); err != nil {
			return err
		}
		for len(b) > 0 {
			if !allZero(b[:frameAlign]) {
				t.facts |= stray
				t.strayEnd = off + frameAlign
				t.trace(b, off, w.salt)
			}
			b, off = b[frameAlign:], off+frameAlign
		}
	}
	// The rest of a torn frame can also follow a seal that was written in its place,
	// if the sync of the zeroes failed.
	if t.strayEnd > t.at.off+maxFrame(t.seg.head.Size) {
		t.facts |= farStray
	}
	return nil
}

// trace looks for a frame header at the start of b.
func (t *tail) trace(b []byte, off int64, salt uint32) {
	var h frameHeader
	if !h.Unmarshal(b, salt) {
		return
	}
	t.traced = max(t.traced, h.last())
	if off > t.at.off && h.last() > t.last() && !t.group.any {
		t.facts |= laterSeq
	}
}
