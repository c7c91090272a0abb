package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"assetledger/wal"
)

// A ForeignError reports that a source's log is not the directory's, or has a
// different history. Nothing may be copied from it.
type ForeignError struct {
	URL string
	Err error
}

// Error returns what differs and what to do.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the log of %s is not the one in this directory: %v; was one of them restored from an older backup? "+
		"Restore the source from this directory, or stop this daemon, move the directory away, and start again", e.URL, e.Err)
}

// Unwrap returns what differs.
func (e *ForeignError) Unwrap() error { return e.Err }

// errBehind is the error for a source whose log is shorter, with the same
// history.
var errBehind = errors.New("its log ends before this directory's")

// Pauses between rounds over all sources.
const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second
)

// A localError is an error of the directory, not of a source.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// Fill copies frames to w, which writes the log in dir, until w.LastSeq() is at
// least upTo. With upTo 0 it copies until ctx is done. When a source fails, or
// the disk is full, Fill tries again with the next source. It stores a frame only
// if that frame is the next one of the same log. It returns ctx's error if ctx is done.
// Any other error concerns the directory, and is final.
func (s *Source) Fill(ctx context.Context, dir string, o wal.Options, w *wal.Writer, upTo uint64) error {
	p := pauses{}
	for upTo == 0 || w.LastSeq() < upTo {
		before := w.LastSeq()
		err := s.fillOnce(ctx, dir, o, w, upTo)
		if local, ok := errors.AsType[localError](err); ok {
			if !errors.Is(err, wal.ErrNoSpace) {
				return local.error
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		if w.LastSeq() > before {
			p.reset()
		}
		if err := p.failed(ctx, s, err); err != nil {
			return err
		}
	}
	return nil
}

// pauses holds the last pause between rounds, and the last failure that was logged.
type pauses struct {
	pause time.Duration
	told  string
}

func (p *pauses) reset() { *p = pauses{told: p.told} }

// failed logs a failure, unless it is the same as the last one, and moves on to
// the next source. After the last source it waits.
func (p *pauses) failed(ctx context.Context, s *Source, err error) error {
	if text := err.Error(); text != p.told {
		p.told = text
		if _, foreign := errors.AsType[*ForeignError](err); foreign {
			s.log.Error("nothing is copied from this source", "source", s.URL(), "error", err)
		} else {
			s.log.Warn("the log can't be copied now; trying again", "source", s.URL(), "error", err)
		}
	}
	round := s.turn()
	if s.failing(err, round); !round {
		return ctx.Err()
	}
	p.pause = min(max(2*p.pause, shortestPause), longestPause)
	return s.pause(ctx, p.pause/2+rand.N(p.pause))
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// fillOnce copies from the current daemon until it fails or upTo is reached.
func (s *Source) fillOnce(ctx context.Context, dir string, o wal.Options, w *wal.Writer, upTo uint64) error {
	st, err := s.agree(ctx, dir, o, w)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := s.mark(dir, o, w, st.Epoch); err != nil {
		return localError{err}
	}
	s.news(st.url, st.Durable)
	s.log.Info("copying the log", "source", st.url, "after", w.LastSeq())
	for upTo == 0 || w.LastSeq() < upTo {
		f, err := st.Next()
		if err == io.EOF && ctx.Err() == nil {
			return fmt.Errorf("%s ended the stream", st.url)
		}
		if err != nil {
			return fmt.Errorf("after commit %d: %w", w.LastSeq(), err)
		}
		if f != nil {
			err = w.PutCopy(f)
		} else {
			err = w.Err()
		}
		if err != nil {
			return s.explain(st, err)
		}
		s.news(st.url, st.Durable)
	}
	return nil
}

// ErrItself is the error for a source that reads the very directory that is to be
// filled.
var ErrItself = errors.New("the daemon of -from reads -dir itself: a copy needs a directory of its own")

// errAlike means that another try is needed: the source's log has been opened for
// writing as often as the directory's, so it may be the directory itself.
var errAlike = errors.New("its log may be this very directory: checking again")

// alikeLimit is how many times in a row a source must look like the directory to be
// rejected. Each try opens the directory for writing once more, which increments the
// epoch of the log there, but not that of a log in another directory.
const alikeLimit = 3

// mark marks the directory as a copy, if it was filled in another way and has
// no mark. It does so only once it is certain that the source does not read
// this very directory. epoch is the epoch of the source's log.
func (s *Source) mark(dir string, o wal.Options, w *wal.Writer, epoch uint64) error {
	if !s.marks {
		return nil
	}
	if of, err := wal.CopyOf(dir, o); err != nil || of != "" {
		return err
	}
	if epoch != w.Epoch() {
		s.alike = 0
		return wal.MarkCopy(dir, s.String(), o)
	}
	if s.alike++; s.alike < alikeLimit {
		return errAlike
	}
	return ErrItself
}

// explain turns an error of PutCopy into a ForeignError or a localError.
func (s *Source) explain(st *stream, err error) error {
	switch {
	case errors.Is(err, wal.ErrUnannounced):
		return &ForeignError{st.url, fmt.Errorf("%w: start from a backup that includes it", err)}
	case errors.Is(err, wal.ErrForeign):
		return &ForeignError{st.url, err}
	}
	return localError{err}
}

// agree opens the log of the current daemon at the directory's last commit, or at the
// first commit if the directory's log is empty. The frame there must be the same as the
// last one of the directory. If the daemon's log begins right after that frame, there is
// nothing to compare.
func (s *Source) agree(ctx context.Context, dir string, o wal.Options, w *wal.Writer) (*stream, error) {
	if err := w.SyncCopy(); err != nil { // what follows reads the directory
		return nil, localError{err}
	}
	last := w.LastSeq()
	if last == 0 {
		return s.opened(ctx, 1, w)
	}
	mine, err := placeAt(dir, o, last)
	if err != nil {
		return nil, localError{err}
	}
	st, err := s.opened(ctx, last, w)
	if isRefusal(err, http.StatusGone) {
		if st, err = s.opened(ctx, last+1, w); err == nil { // its log may begin exactly there
			return st, nil
		}
	}
	if behind, ok := errors.AsType[*refusal](err); ok && behind.status == http.StatusTooEarly {
		return nil, s.behind(ctx, dir, o, w, behind.end)
	}
	if err != nil {
		return nil, err
	}
	for {
		f, err := st.Next()
		switch {
		case err != nil:
			st.Close()
			return nil, fmt.Errorf("at commit %d: %w", last, err)
		case f != nil && f.Place() == mine:
			return st, nil
		case f != nil:
			st.Close()
			return nil, &ForeignError{st.url, fmt.Errorf("commit %d there differs from the one here", last)}
		case st.Durable < last:
			st.Close()
			return nil, s.behind(ctx, dir, o, w, st.Durable)
		}
	}
}

// opened calls open and checks that the source's log has the same id as w's log.
func (s *Source) opened(ctx context.Context, from uint64, w *wal.Writer) (*stream, error) {
	st, err := s.open(ctx, from)
	if err == nil && st.Segment.ID != w.LogID() {
		st.Close()
		return nil, &ForeignError{st.url, fmt.Errorf("its log id is %s, but this directory's is %s", st.Segment.ID, w.LogID())}
	}
	return st, err
}

// behind returns why nothing can be copied from a source whose log ends before the
// directory's. Either the source lags, or it has a different history.
func (s *Source) behind(ctx context.Context, dir string, o wal.Options, w *wal.Writer, end uint64) error {
	late := fmt.Errorf("%s ends at commit %d, and this directory at %d: %w", s.URL(), end, w.LastSeq(), errBehind)
	if end == 0 {
		return late
	}
	mine, err := placeAt(dir, o, end)
	if _, archived := errors.AsType[*wal.ArchivedError](err); archived {
		return late
	}
	if err != nil {
		return localError{err}
	}
	st, err := s.opened(ctx, end, w)
	if err != nil {
		return err
	}
	defer st.Close()
	for {
		f, err := st.Next()
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if f.Place() != mine {
			return &ForeignError{st.url, fmt.Errorf("it ends at commit %d, this directory at %d, and commit %d there differs from the one here", end, w.LastSeq(), end)}
		}
		return late
	}
}

// placeAt returns the place of the directory's frame that holds commit seq.
func placeAt(dir string, o wal.Options, seq uint64) (wal.Place, error) {
	r, err := wal.OpenReader(dir, o)
	if err != nil {
		return wal.Place{}, err
	}
	defer r.Close()
	if err := r.Seek(seq); err != nil {
		return wal.Place{}, err
	}
	f, err := r.Next()
	if err != nil {
		return wal.Place{}, err
	}
	return f.Place(), nil
}
