package wal

import "fmt"

// A directory may be restored from an older backup while a reader follows it.
// Usually END shows that: it decreases, or its name refers to another file. But the
// reader may have slept meanwhile. It may then find an END that a new writer has
// advanced past the reader's position, in another history of the same log. So the
// reader also checks that the last frame it returned is still there.

// checkStill checks that END's name still refers to the same file, with the same log
// id, and that the last frame is still in its place. It does so only if Next has found
// nothing new twice in a row, such as when Wait has timed out in between.
func (r *Reader) checkStill() error {
	if !r.idle {
		return nil
	}
	var id LogID
	if !touch(func() { copy(id[:], r.end.Bytes()[16:32]) }) || id != r.id || r.end.Stale() {
		return fmt.Errorf("%w: END in %s is now a different file", ErrReplaced, r.dir)
	}
	return r.checkLast()
}

// checkLast reads the file, bypassing the map, and checks that the previous frame
// is still there. Its header CRC covers the whole history up to it.
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
		return fmt.Errorf("%w: commit %d was in %s at offset %d, but no longer is", ErrReplaced, r.at.next-1, r.seg.path, r.last)
	}
	return nil
}
