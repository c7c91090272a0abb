package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// A backup is a log directory. It has every header and frame of the original up to
// the durable end, zeroes after that, the checkpoints, and an END. A daemon can start
// on it as on the original.
//
// An unfinished backup never looks complete. Until everything else is durable, the
// END of a new copy contains a marker that every open rejects. A copy that is
// continued stays complete throughout, at its old end or a later one: its last segment
// is replaced by one with more frames, and the segments that it lacks are added in an
// order that never leaves a gap.

// BackupOptions are the options of one run; the zero value is valid.
type BackupOptions struct {
	FS FS // default is the operating system's
	// OnProgress is called from time to time with the number of bytes copied and
	// the total.
	OnProgress func(done, total int64)
	// Place returns the position of a checkpoint, whose content wal can't read. If it
	// is nil, checkpoints that the copy already has are not compared with the log.
	Place func(checkpoint io.Reader) (Place, error)
	// Check is called when the copy is complete. If it returns an error, the copy
	// is marked as unusable and Backup returns the error.
	Check func() error
}

// A BackupReport lists what was copied.
type BackupReport struct {
	ID          LogID
	End         uint64 // last commit in the copy
	Segments    int    // number of segments in the copy
	Copied      int    // number of segments copied by this run
	Checkpoints int    // number of checkpoints copied by this run
	Bytes       int64  // number of bytes copied by this run
	Continued   bool   // an earlier backup was continued
}

const (
	endTemp       = "END.tmp"
	unfinished    = "this backup is not finished: run it again\n" // the END of a new copy
	backupRetries = 3                                             // maximum attempts if files vanish because a checkpoint was made or segments were archived
)

// Backup copies the log of dir, which may be in use, to out. If out does not
// exist, Backup creates it. Otherwise out must be empty, or contain an earlier backup
// of the same log. Backup continues such a backup. A copy with commits that the log lacks
// is rejected, and nothing in it is changed.
func Backup(dir, out string, o BackupOptions) (BackupReport, error) {
	if o.FS == nil {
		o.FS = OS{}
	}
	out = filepath.Clean(out) // join also cleans paths: check the path that will be written
	err := apartFrom(o.FS, dir, out, logDirs(out)[1:]...)
	if err == nil {
		err = beside(o.FS, dir, out)
	}
	if err != nil {
		return BackupReport{}, err
	}
	for range backupRetries {
		b := backup{o: o, fs: o.FS, dir: dir, out: out}
		if err = b.run(); !errors.Is(err, ErrArchiving) && !errors.Is(err, fs.ErrNotExist) {
			return b.BackupReport, err
		}
	}
	return BackupReport{}, err
}

type backup struct {
	BackupReport
	o        BackupOptions
	fs       FS
	dir, out string
	end      endState // END of the original
	segments []segmentFile
	there    []segmentFile // segments of the copy before this run
	was      uint64        // end of the copy before this run
	total    int64
}

func (b *backup) run() error {
	if err := b.findEnd(); err != nil {
		return err
	}
	b.ID, b.End = b.end.ID, b.end.durable
	if err := b.noOthers(); err != nil {
		return err
	}
	if err := b.fs.Mkdir(b.out); err != nil {
		return fmt.Errorf("wal: create %s: %w", b.out, err)
	}
	lock, err := lockLog(b.fs, b.out)
	if err != nil {
		return fmt.Errorf("%s: %w", b.out, err)
	}
	defer lock.Close()
	if err := b.prepare(); err != nil {
		return err
	}
	if err := b.copySegments(); err != nil {
		return err
	}
	b.Segments = max(len(b.there), int(b.segments[len(b.segments)-1].head.Ordinal-b.firstOrdinal())+1)
	steps := []func() error{b.writeEnd, b.checkpoints}
	if !b.Continued { // a continued copy already has an END, and a checkpoint beyond it would invalidate the copy
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if b.o.Check != nil {
		if err := b.o.Check(); err != nil {
			return errors.Join(err, b.putEnd([]byte(unfinished)))
		}
	}
	return nil
}

// noOthers returns an error if the target is not a copy of a log, finished or not, and
// has files that no run of Backup or of a mirror leaves.
func (b *backup) noOthers() error {
	was, err := readEnd(b.fs, b.out)
	if err != nil || was.there || was.halfCopy {
		return err
	}
	if seqs, err := listSeqs(b.fs, segmentsPath(b.out), segmentExt); err != nil || len(seqs) > 0 {
		return err
	}
	if err := noOthers(b.fs, b.out, lockName, endTemp, copyName, segmentDir, ckptDir, readersDir, historyDir, beginName); err != nil {
		return err
	}
	return noOthers(b.fs, segmentsPath(b.out), spareName)
}

// copySegments copies the segments that the copy lacks, in an order that never
// leaves a gap: first those after the copy's first segment, oldest first, then
// those before it, newest first. A new copy begins with the newest segment. So if
// an archive run moves the oldest segments meanwhile, the copy merely lacks them.
func (b *backup) copySegments() error {
	last := len(b.segments) - 1
	from := last
	if len(b.there) > 0 {
		from = max(0, int(b.there[0].head.Ordinal)-int(b.segments[0].head.Ordinal))
	}
	for i := from; i <= last; i++ {
		if err := b.segment(&b.segments[i], i == last); err != nil {
			return err
		}
	}
	for i := from - 1; i >= 0; i-- {
		err := b.segment(&b.segments[i], false)
		if errors.Is(err, fs.ErrNotExist) {
			b.segments = b.segments[i+1:]
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *backup) firstOrdinal() uint32 {
	if len(b.there) > 0 {
		return min(b.there[0].head.Ordinal, b.segments[0].head.Ordinal)
	}
	return b.segments[0].head.Ordinal
}

// prepare reads both directories, rejects a copy that can't be continued, and
// marks a new copy as unfinished.
func (b *backup) prepare() error {
	if err := noShared(b.fs, segmentsPath(b.dir), segmentsPath(b.out), segmentExt); err != nil {
		return err
	}
	if err := noShared(b.fs, join(b.dir, ckptDir), join(b.out, ckptDir), ckptExt); err != nil {
		return err
	}
	was, err := readEnd(b.fs, b.out)
	if err != nil {
		return err
	}
	if b.there, err = readSegments(b.fs, b.out); err != nil {
		return fmt.Errorf("the earlier backup can't be continued; back up to a new directory: %w", err)
	}
	if b.segments, err = readSegments(b.fs, b.dir); err != nil {
		return err
	}
	originals := b.segments
	for len(b.segments) > 1 && b.segments[len(b.segments)-1].head.First > b.End {
		b.segments = b.segments[:len(b.segments)-1]
	}
	if len(b.segments) == 0 {
		return ErrNoLog
	}
	switch n := len(b.there); {
	case was.there && was.ID != b.ID || n > 0 && b.there[0].head.ID != b.ID:
		return fmt.Errorf("wal: %s is a backup of a log other than %s; give another directory", b.out, b.dir)
	case was.there && was.durable > b.End:
		return fmt.Errorf("wal: the backup in %s has commits up to %d, but the log ends at %d: they are no longer the same log; give another directory",
			b.out, was.durable, b.End)
	case n > 0 && b.segments[0].head.Ordinal > b.there[n-1].head.Ordinal+1:
		return b.beginsLater()
	}
	if err := b.continues(originals, &was); err != nil {
		return err
	}
	if err := makeDirs(b.fs, b.out); err != nil {
		return fmt.Errorf("wal: create %s: %w", b.out, err)
	}
	b.was = was.durable
	if b.Continued = was.there; !b.Continued {
		if err := b.putEnd([]byte(unfinished)); err != nil {
			return err
		}
	}
	for i := range b.segments {
		if !b.has(&b.segments[i]) {
			b.total += b.segments[i].head.Size
		}
	}
	return nil
}

// has reports whether the copy holds all of a segment: the copy has a later one, or
// the log has no commit that the copy lacks.
func (b *backup) has(s *segmentFile) bool {
	for i := range b.there {
		if b.there[i].head == s.head {
			return i < len(b.there)-1 || b.Continued && b.was == b.End
		}
	}
	return false
}

// segment copies one segment, or the part of the last one that END covers.
func (b *backup) segment(s *segmentFile, last bool) error {
	if b.has(s) {
		return nil
	}
	src, err := b.fs.Open(s.path, false)
	if err != nil {
		return err
	}
	defer src.Close()
	used := s.head.Size
	if last {
		if used, err = b.used(src, s); err != nil {
			return err
		}
	}
	d := segmentsPath(b.out)
	tmp := join(d, spareName)
	if err := b.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dst, err := b.fs.Create(tmp)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := b.fill(dst, src, used, s.head.Size); err != nil {
		return err
	}
	if err := checkCopy(dst, s, used, last); err != nil {
		return err
	}
	if err := b.fs.Rename(tmp, join(d, s.head.name())); err != nil {
		return err
	}
	b.Copied++
	return b.fs.SyncDir(d)
}

// fill copies the beginning of src, whose length is in the parameter used, and then
// writes zeroes up to size.
func (b *backup) fill(dst, src File, used, size int64) error {
	buf := make([]byte, min(copyBufSize, size))
	for off := int64(0); off < size; {
		p := buf[:min(int64(len(buf)), size-off)]
		if n := min(max(used-off, 0), int64(len(p))); n > 0 {
			if err := readFull(src, p[:n], off); err != nil {
				return err
			}
			clear(p[n:])
		} else {
			clear(p)
		}
		if _, err := dst.WriteAt(p, off); err != nil {
			return err
		}
		off += int64(len(p))
		b.Bytes += int64(len(p))
		if b.o.OnProgress != nil {
			b.o.OnProgress(b.Bytes, b.total)
		}
	}
	return dst.Sync()
}

// checkCopy verifies a copied segment.
func checkCopy(dst File, s *segmentFile, used int64, last bool) error {
	head, err := readSegmentHeader(dst)
	if err != nil {
		return err
	}
	if head != s.head {
		return fmt.Errorf("wal: the copy's header differs from that of %s", s.path)
	}
	w := newWalker(dst, head, nil)
	err = w.scan(true, nil)
	if last && err == errVoid && w.at.off == used {
		err = nil
	}
	return sealError(s, &w.at, err)
}

// checkpoints copies the checkpoints that END covers, and keeps the newest two.
func (b *backup) checkpoints() error {
	from, err := listSeqs(b.fs, join(b.dir, ckptDir), ckptExt)
	if err != nil {
		return err
	}
	have, err := listSeqs(b.fs, join(b.out, ckptDir), ckptExt)
	if err != nil {
		return err
	}
	for _, seq := range from {
		if seq > b.End || covered(have, seq, seq) {
			continue
		}
		if err := b.checkpoint(seq); err != nil {
			return err
		}
		have = append(have, seq)
		b.Checkpoints++
	}
	if b.firstOrdinal() > 0 && !covered(have, b.segments[0].head.First, b.End) {
		return ErrArchiving
	}
	return pruneCheckpoints(b.fs, b.out)
}

func (b *backup) checkpoint(seq uint64) error {
	src, err := b.fs.Open(CheckpointPath(b.dir, seq), false)
	if err != nil {
		return err
	}
	defer src.Close()
	return copyNamed(b.fs, src, join(b.out, ckptDir), seqName(seq, ckptExt))
}

func (b *backup) writeEnd() error {
	h := endHeader{ID: b.ID, Epoch: b.end.Epoch}
	return b.putEnd(h.Marshal(b.End))
}

// putEnd replaces the copy's END. No writer has that file mapped, because b holds the
// lock.
func (b *backup) putEnd(page []byte) error {
	if err := b.fs.Remove(join(b.out, endTemp)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := b.fs.Create(join(b.out, endTemp))
	if err != nil {
		return err
	}
	padded := make([]byte, pageSize)
	copy(padded, page)
	if err := errors.Join(writeFile(f, padded), f.Close()); err != nil {
		return err
	}
	if err := b.fs.Rename(join(b.out, endTemp), join(b.out, endName)); err != nil {
		return err
	}
	return b.fs.SyncDir(filepath.Clean(b.out))
}
