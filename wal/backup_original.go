package wal

import (
	"errors"
	"fmt"
)

// These methods read the original of a backup, which must be intact up to its durable
// end.

// findEnd finds the durable end of the original, where the copy will end. If END is
// missing or garbled, and no writer uses the log, the frames decide, as they would at
// the next start. A durable end that a power cut has garbled could end the copy too
// early, and the copy would look complete.
func (b *backup) findEnd() error {
	live, err := logLocked(b.fs, b.dir) // before END is read, as in Verify
	if err != nil {
		return err
	}
	if b.end, err = readEnd(b.fs, b.dir); err != nil {
		return err
	}
	if live {
		if !b.end.there {
			return errors.Join(ErrNoLog, b.end.bad)
		}
		return nil
	}
	if b.end.settle(); b.end.there {
		return nil
	}
	if errors.Is(b.end.bad, ErrVersion) {
		return fmt.Errorf("%s: %w", join(b.dir, endName), b.end.bad)
	}
	report, err := Verify(b.dir, VerifyOptions{FS: b.fs})
	if err == nil && report.Live {
		err = ErrArchiving // a writer has started; as after an archive run, the caller must try again
	}
	b.end = endState{endHeader: endHeader{ID: report.ID}, durable: report.LastSeq, there: true}
	return err
}

// used returns the offset of the end of the last frame that END covers.
func (b *backup) used(src File, s *segmentFile) (int64, error) {
	w := newWalker(src, s.head, nil)
	for w.at.next <= b.End {
		err := w.peek()
		if err == nil {
			err = w.load()
		}
		if err != nil {
			return 0, b.damage(s, &w.at, err)
		}
		w.step()
	}
	return w.at.off, nil
}

// damage returns the error for a segment of the original in which a walk ended
// early, before the end that END shows.
func (b *backup) damage(s *segmentFile, at *cursor, err error) error {
	if err == errVoid {
		err = &flaw{rule: "acknowledged frames missing", err: fmt.Errorf("there is no frame here, but END says that the log has commits up to %d", b.End)}
	}
	return sealError(s, at, err)
}
