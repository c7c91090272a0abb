package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync/atomic"
)

// createLog creates the first segment. A crash before its name is durable leaves no
// log, and the next start calls createLog again. A crash after that leaves an empty
// log without END, which is recovered.
func (w *Writer) createLog() error {
	from := Origin{SegmentSize: w.o.SegmentSize}
	if w.o.Origin != nil {
		from = *w.o.Origin
	} else if _, err := readRandom(w.o, from.ID[:]); err != nil {
		return err
	}
	w.id = from.ID
	d := segmentsPath(w.dir)
	file, err := fillFile(w.fs, join(d, spareName), from.SegmentSize, w.fs.CopyOnWrite(d), nil)
	if err != nil {
		if isNoSpace(err) {
			err = fmt.Errorf("%w: %w", ErrNoSpace, err)
		}
		return err
	}
	if w.o.Origin == nil {
		from.Created = w.o.Now()
	}
	head := from.header()
	w.seg = activeSegment{file: file, head: head, salt: head.salt(), off: segmentHeaderSize, prev: head.Prev}
	w.begun = head.Ordinal > 0
	return nameSegment(w.fs, w.dir, file, &head)
}

// recoverLog prepares the log for appending at the end that was found.
func (w *Writer) recoverLog(t *tail, sameBoot bool) error {
	file, err := w.fs.Open(t.seg.path, true)
	if err != nil {
		return err
	}
	w.seg = activeSegment{file: file, head: t.seg.head, salt: t.seg.head.salt(), off: t.at.off, prev: t.at.prev, sealed: t.sealed}
	if t.rule.then == zeroTail {
		if err := w.zeroTail(t); err != nil {
			return err
		}
	}
	if sameBoot {
		if err := rewrite(file, t.doubt, t.at.off); err != nil {
			return err
		}
	}
	// After a reboot, the page cache was filled from the disk, so valid bytes are
	// durable. The sync is for names and sizes.
	if err := file.Sync(); err != nil {
		return err
	}
	return w.fs.SyncDir(segmentsPath(w.dir))
}

// rewrite writes the bytes of [from,to) again, in place. After a failed sync, pages
// that are not on disk count as clean, and another sync would do nothing. Writing
// makes them dirty. Frames begin at sector boundaries, so rewrite does not touch
// bytes that END covers. Nothing from an earlier boot is rewritten: a power
// failure may damage bytes that are being written, and bytes beyond an outdated END
// may have been acknowledged.
func rewrite(f File, from, to int64) error {
	buf := make([]byte, min(copyBufSize, max(0, to-from)))
	for from < to {
		b := buf[:min(int64(len(buf)), to-from)]
		if err := readFull(f, b, from); err != nil {
			return err
		}
		if _, err := f.WriteAt(b, from); err != nil {
			return err
		}
		from += int64(len(b))
	}
	return f.Sync()
}

// zeroTail keeps a copy of a torn frame and then zeroes the frame, so that no part of
// it can be mistaken for a later frame.
func (w *Writer) zeroTail(t *tail) error {
	name, err := saveBad(w.fs, w.dir, "torn", t, w.seg.file)
	if err != nil {
		return err
	}
	if err := zeroRange(w.seg.file, t.at.off, t.strayEnd); err != nil {
		return err
	}
	w.o.OnNotice(fmt.Sprintf("a frame after global_seq %d was torn by a crash, and had not been acknowledged: "+
		"its %d bytes are kept in %s", t.last(), t.strayEnd-t.at.off, name))
	return nil
}

// zeroRange overwrites [from,to) with zeroes and syncs.
func zeroRange(f File, from, to int64) error {
	for from < to {
		n := min(to-from, int64(len(zeroes)))
		if _, err := f.WriteAt(zeroes[:n], from); err != nil {
			return err
		}
		from += n
	}
	return f.Sync()
}

// maxBadCopies is the maximum number of copies that are kept for the same place.
const maxBadCopies = 1000

// saveBad durably copies the stray bytes of t to a new file <kind>-<seq>-<n>.bad.
func saveBad(fsys FS, dir, kind string, t *tail, from File) (string, error) {
	d := segmentsPath(dir)
	for n := range maxBadCopies {
		name := join(d, fmt.Sprintf("%s-%0*d-%d.bad", kind, seqDigits, t.last(), n))
		f, err := fsys.Create(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		err = copyRange(f, from, t.at.off, t.strayEnd)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("keep a copy of damaged bytes: %w", err)
		}
		return name, fsys.SyncDir(d)
	}
	return "", fmt.Errorf("%s holds %d copies of damaged bytes after global_seq %d; move them away", d, maxBadCopies, t.last())
}

// copyRange copies [from,to) of src to the start of dst, and syncs dst.
func copyRange(dst, src File, from, to int64) error {
	buf := make([]byte, copyBufSize)
	for at := from; at < to; {
		b := buf[:min(int64(len(buf)), to-at)]
		if err := readFull(src, b, at); err != nil {
			return err
		}
		if _, err := dst.WriteAt(b, at-from); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return dst.Sync()
}

// takeEnd creates END if necessary, locks and maps it, and publishes the durable end,
// the boot and the next epoch.
func (w *Writer) takeEnd(was *endState, boot BootID) (err error) {
	name := w.path(endName)
	if !was.there {
		if err := makeEnd(w.fs, w.dir, &endHeader{ID: w.id, Boot: boot}, w.LastSeq()); err != nil {
			return err
		}
	}
	if err := w.lock.lockEnd(w.fs, w.dir); err != nil {
		return err
	}
	if w.end, err = w.fs.Share(name, true); err != nil {
		return err
	}
	b := w.end.Bytes()
	epoch, there := load(b, endEpochAt)
	if !there {
		return w.endGone()
	}
	w.epoch = epoch
	w.durable, w.moved, w.wakes = word64(b, endDurableAt), word64(b, endMovedAt), word32(b, endWakeAt)
	w.checks = [2]*atomic.Uint64{word64(b, endCheckAt), word64(b, endCheckAt+8)}
	w.room = w.seg.free()
	// The boot is stored after the durable end. A process that finds the current
	// boot may rewrite bytes beyond the end, and these must not be bytes that an
	// earlier boot acknowledged.
	if err := w.storeEnd(w.LastSeq()); err != nil {
		return err
	}
	if !touch(func() {
		word64(b, 32).Store(le.Uint64(boot[:8]))
		word64(b, 40).Store(le.Uint64(boot[8:]))
		w.epoch = word64(b, endEpochAt).Add(1)
		word32(b, endCRCAt).Store(crc32.Checksum(b[:endCRCAt], castagnoli))
	}) {
		return w.endGone()
	}
	if err := w.end.Sync(); err != nil {
		return err
	}
	w.synced.Store(w.LastSeq())
	return nil
}

// makeEnd writes a complete END, in place if the file exists. It is called after the
// segments are in order: when a log is created, when one whose END is missing or
// damaged is recovered, and at the end of a repair.
func makeEnd(fsys FS, dir string, h *endHeader, durable uint64) error {
	name := join(dir, endName)
	f, err := fsys.Create(name)
	if errors.Is(err, fs.ErrExist) {
		f, err = fsys.Open(name, true)
	}
	if err != nil {
		return err
	}
	err = writeFile(f, h.Marshal(durable))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}
