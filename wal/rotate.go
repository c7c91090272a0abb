package wal

import "fmt"

// cut seals the segment and puts the spare in its place:
//
//	1  seal frame into the old segment, sync
//	2  header into the spare, sync
//	3  rename next.tmp to its name, sync the directory
//	4  sync END
//
// A crash after 1 leaves a sealed last segment, and the next cut begins with 2. A crash
// after the rename leaves either that state or an empty last segment, depending on
// whether the rename was durable. The spare exists before the seal is written, so a
// full disk is noticed before anything is changed.
//
// The frames before a cut determine everything that it writes, except the size of
// the new segment, which its first frame announces. So a copy of the log that is
// made from its frames has the same bytes.
func (w *Writer) cut(size int64) error {
	w.resizeSpare(size)
	if err := w.awaitSpare(); err != nil {
		return err
	}
	if !w.seg.sealed {
		prev := w.encodeSeal()
		if err := w.writeBuf(); err != nil {
			return w.fail(err)
		}
		if err := w.sync(); err != nil {
			return w.fail(err)
		}
		w.seg.prev, w.seg.sealed = prev, true
	}
	old := w.seg.file
	if err := w.enterSpare(); err != nil {
		if w.named != nil && FilesShort(err) {
			return fmt.Errorf("%w: %w", ErrNoSpace, err)
		}
		return w.fail(err)
	}
	if err := old.Close(); err != nil {
		return w.fail(err)
	}
	return w.SyncEnd()
}

// encodeSeal encodes the segment's seal into w.buf, and returns its header CRC.
func (w *Writer) encodeSeal() uint32 {
	last := w.lastFrame()
	var h frameHeader
	w.buf, h = appendSeal(w.buf[:0], last.Last()+1, w.seg.prev, last.Time, last.Digest, w.seg.salt)
	return h.CRC
}

// announced returns the size of the segment if the next frame begins it and must
// announce it, and otherwise 0. A header written by an older version has a creation
// time of its own and is not announced.
func (w *Writer) announced() int64 {
	if h := &w.seg.head; w.seg.off == segmentHeaderSize && h.Ordinal > 0 && h.Created == w.LastTime() {
		return h.Size
	}
	return 0
}

// enterSpare gives the spare its header and its name, and makes it the current
// segment. If it fails because there is no file descriptor to sync the directory,
// it can be called again.
func (w *Writer) enterSpare() error {
	file := w.sp.file // the spare is ready, and stays so until it is taken here
	if w.named == nil {
		head := &segmentHeader{
			ID: w.id, Size: w.sp.size, First: w.LastSeq() + 1,
			Prev: w.seg.prev, Ordinal: w.seg.head.Ordinal + 1, Created: w.LastTime(),
		}
		if err := renameSegment(w.fs, w.dir, file, head); err != nil {
			return err
		}
		w.named = head
	}
	if err := w.fs.SyncDir(segmentsPath(w.dir)); err != nil {
		return err
	}
	head := *w.named
	w.named = nil
	w.seg = activeSegment{file: file, head: head, salt: head.salt(), off: segmentHeaderSize, prev: head.Prev}
	w.mu.Lock()
	w.sp.file = nil
	w.room = w.seg.free()
	w.mu.Unlock()
	w.wantSpare()
	return nil
}

// nameSegment calls renameSegment, and makes the name durable.
func nameSegment(fs FS, dir string, file File, head *segmentHeader) error {
	if err := renameSegment(fs, dir, file, head); err != nil {
		return err
	}
	return fs.SyncDir(segmentsPath(dir))
}

// renameSegment writes and syncs the header of next.tmp, and then gives the file
// its name.
func renameSegment(fs FS, dir string, file File, head *segmentHeader) error {
	if err := head.Validate(); err != nil {
		return fmt.Errorf("new segment: %w", err)
	}
	if err := writeFile(file, head.Marshal()); err != nil {
		return err
	}
	d := segmentsPath(dir)
	return fs.Rename(join(d, spareName), join(d, head.name()))
}
