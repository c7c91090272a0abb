package wal

import (
	"errors"
	"fmt"
	"io/fs"
)

// A copy on which a daemon was started may have commits that the original lacks.
// The log id and the length do not show that. So before Backup writes anything, it
// checks that the last frame of the copy, or the seal after it, is at the same place
// in the original, or that the original's first segment follows that seal. The header
// CRC of that frame or seal covers the whole history up to it.

// continues returns an error unless the original contains everything in the copy. The
// parameter originals has all segments of the original, including one without commits.
// The parameter end is the copy's END.
func (b *backup) continues(originals []segmentFile, end *endState) error {
	var t tail
	last := uint64(0)
	if n := len(b.there); n > 0 {
		t.seg = b.there[n-1]
		if err := t.read(b.fs, cursor{}, end.durable, 0); err != nil {
			return fmt.Errorf("the earlier backup can't be continued; back up into another directory: %w", err)
		}
		after, same, err := b.shared(originals, &t)
		if err != nil {
			return err
		}
		if !same {
			return b.own(after)
		}
		last = t.last()
	}
	if end.there && end.durable > last {
		return fmt.Errorf("wal: the backup in %s has commits up to %d, but its END says %d: it is damaged; back up into another directory",
			b.out, last, end.durable)
	}
	if t.facts&stray != 0 {
		return fmt.Errorf("wal: %s has bytes at offset %d, after global_seq %d, that are not a whole batch: "+
			"a daemon on this copy was interrupted while it wrote them, or the disk has corrupted them; back up into another directory", t.seg.path, t.at.off, last)
	}
	return b.ownCheckpoints(last)
}

func (b *backup) own(after uint64) error {
	return fmt.Errorf("wal: %s has commits of its own after global_seq %d: it is a ledger of its own, and no longer the same log as %s; "+
		"back up into another directory", b.out, after, b.dir)
}

// shared returns the last commit that both logs have. The result same is true if the
// original has everything up to t, the end of the copy's last whole batch.
func (b *backup) shared(originals []segmentFile, t *tail) (last uint64, same bool, err error) {
	first, newest := &originals[0].head, len(b.there)-1
	for i := newest; i >= 0 && b.there[i].head.Ordinal >= first.Ordinal; i-- {
		at := int(b.there[i].head.Ordinal - first.Ordinal)
		if at >= len(originals) || originals[at].head != b.there[i].head {
			continue
		}
		both, err := b.walkBoth(&originals[at], &b.there[i])
		return both.next - 1, i == newest && both.off >= t.at.off, err
	}
	if first.Ordinal <= t.seg.head.Ordinal {
		return b.there[0].head.First - 1, false, nil
	}
	// The original has archived all segments of the copy.
	if !t.sealed || first.First != t.at.next || first.Prev != t.at.prev {
		return 0, false, b.beginsLater()
	}
	return t.last(), true, nil
}

// walkBoth walks over the frames that the beginnings of two segments have in common.
func (b *backup) walkBoth(original, there *segmentFile) (cursor, error) {
	var w [2]*walker
	for i, s := range []*segmentFile{original, there} {
		src, err := openView(b.fs, s.path, s.head.Size)
		if err != nil {
			return cursor{}, err
		}
		defer src.Close()
		w[i] = newWalker(src, s.head, nil)
	}
	for {
		for i, w := range w {
			if err := w.peek(); err != nil {
				_, flawed := errors.AsType[*flaw](err)
				switch {
				case !flawed && err != errVoid:
				case i == 0 && w.at.next <= b.End:
					err = b.damage(original, &w.at, err)
				default:
					err = nil
				}
				return w.at, err
			}
		}
		h := &w[0].h
		if *h != w[1].h || h.Kind == kindData && h.last() > b.End {
			return w[0].at, nil
		}
		w[0].step()
		w[1].step()
		if h.Kind == kindSeal {
			return w[0].at, nil
		}
	}
}

func (b *backup) beginsLater() error {
	return fmt.Errorf("wal: the log in %s begins after the backup in %s ends, because segments were archived; give another directory", b.dir, b.out)
}

// ownCheckpoints returns an error if the copy has a checkpoint beyond its last commit,
// which is the parameter last, or one of a state that the original never had.
func (b *backup) ownCheckpoints(last uint64) error {
	seqs, err := listSeqs(b.fs, join(b.out, ckptDir), ckptExt)
	if err != nil || len(seqs) == 0 {
		return err
	}
	if seqs[len(seqs)-1] > last {
		return b.own(last)
	}
	if b.o.Place == nil {
		return nil
	}
	o := Options{FS: b.fs}
	r, err := OpenReader(b.dir, o)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, seq := range seqs {
		if err := b.ownCheckpoint(r, seq, o); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (b *backup) ownCheckpoint(r *Reader, seq uint64, o Options) error {
	f, err := OpenCheckpoint(b.out, seq, o)
	if err != nil {
		return err
	}
	defer f.Close()
	place, err := b.o.Place(f)
	if err == nil && place.Seq != seq {
		err = fmt.Errorf("%s holds the state after commit %d", seqName(seq, ckptExt), place.Seq)
	}
	if err == nil {
		err = r.SeekAfter(place)
	}
	var archived *ArchivedError
	if err == nil || errors.As(err, &archived) {
		return nil
	}
	return fmt.Errorf("wal: %s has a checkpoint of its own, after global_seq %d, or a damaged one: it is no longer the same log as %s; "+
		"back up into another directory: %w", b.out, seq, b.dir, err)
}
