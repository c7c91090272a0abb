package wal

import "fmt"

// A directory may be restored from an older backup under a reader. Mostly END
// tells: it goes back, or its name leads to another file. But a reader can have
// slept meanwhile, and found an END that a new writer has moved on past where
// it stood, in another history of the same log. So it also looks whether the
// frame that it gave last is still there.

// checkStill looks for another END under END's name, and for another frame in
// the place of the last. It is asked for when there was nothing new twice: a
// reader that waits comes here a few times a second.
func (r *Reader) checkStill() error {
	if !r.idle {
		return nil
	}
	var id LogID
	if !touch(func() { copy(id[:], r.end.Bytes()[16:32]) }) || id != r.id || r.end.Stale() {
		return fmt.Errorf("%w: END in %s is another file now", ErrReplaced, r.dir)
	}
	return r.checkLast()
}

// checkLast looks, past the map, whether the frame before the cursor stands
// where it was read. Its header CRC stands for all of the history up to it.
func (r *Reader) checkLast() error {
	if r.last == 0 {
		return nil
	}
	f, err := r.fs.Open(r.seg.path, false)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, frameHeaderSize)
	if err := readFull(f, b, r.last); err != nil {
		return &CorruptError{File: r.seg.path, Offset: r.last, Seq: r.at.next - 1, Rule: ruleUnreadable, Err: err}
	}
	var h frameHeader
	if !h.Unmarshal(b, r.w.salt) || h.CRC != r.at.prev {
		return fmt.Errorf("%w: commit %d stood in %s at offset %d, and no longer does", ErrReplaced, r.at.next-1, r.seg.path, r.last)
	}
	return nil
}
