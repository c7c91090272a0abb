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

// A ForeignError says that a source has another log, or another history of the
// log, than the directory: nothing of it may be copied there.
type ForeignError struct {
	URL string
	Err error
}

// Error says what differs, and what to do.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the log of %s is not the one in this directory: %v; was one of them restored from an older backup? "+
		"Restore the source from this directory, or stop this daemon, move the directory away, and start again", e.URL, e.Err)
}

// Unwrap is what differs.
func (e *ForeignError) Unwrap() error { return e.Err }

// errBehind is given for a source that has less of the same log.
var errBehind = errors.New("it has less of the log than this directory")

// Between tries of all sources.
const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second
)

// localError is one of the directory, not of a source.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// Fill copies frames to w, which writes the log in dir, from one source after
// the other, until w.LastSeq() is upTo or more; 0: until ctx is done. It returns
// ctx's error, or one of the writer, which is final. What a source sends is
// stored only if it is the next frame of this very log.
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

// pauses are the pauses between tries, and what was told of the failures.
type pauses struct {
	pause time.Duration
	told  string
}

func (p *pauses) reset() { *p = pauses{told: p.told} }

// failed tells of a failure, once as long as it stays the same, and goes on to
// the next source; after the last one it waits.
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

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// fillOnce copies from the daemon in use until it fails, or upTo is reached.
func (s *Source) fillOnce(ctx context.Context, dir string, o wal.Options, w *wal.Writer, upTo uint64) error {
	st, err := s.agree(ctx, dir, o, w)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := s.mark(dir, o); err != nil {
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
			if err := w.AppendCopy(f); err != nil {
				return s.explain(st, err)
			}
		}
		s.news(st.url, st.Durable)
	}
	return nil
}

// mark marks a directory that was filled in another way as a copy, once it is
// known that it is one.
func (s *Source) mark(dir string, o wal.Options) error {
	if !s.marks {
		return nil
	}
	if of, err := wal.CopyOf(dir, o); err != nil || of != "" {
		return err
	}
	return wal.MarkCopy(dir, s.String(), o)
}

// explain says whose fault an error of AppendCopy is.
func (s *Source) explain(st *stream, err error) error {
	switch {
	case errors.Is(err, wal.ErrUnannounced):
		return &ForeignError{st.url, fmt.Errorf("%w: begin with a backup that has it", err)}
	case errors.Is(err, wal.ErrForeign):
		return &ForeignError{st.url, err}
	}
	return localError{err}
}

// agree opens the log of the daemon in use where the directory's ends. Its
// frame there must be the last one of the directory.
func (s *Source) agree(ctx context.Context, dir string, o wal.Options, w *wal.Writer) (*stream, error) {
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
		if st, err = s.opened(ctx, last+1, w); err == nil { // its log may begin just there
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
			return nil, &ForeignError{st.url, fmt.Errorf("commit %d is another one there than here", last)}
		case st.Durable < last:
			st.Close()
			return nil, s.behind(ctx, dir, o, w, st.Durable)
		}
	}
}

// opened is open, for a log that must have the id of w's.
func (s *Source) opened(ctx context.Context, from uint64, w *wal.Writer) (*stream, error) {
	st, err := s.open(ctx, from)
	if err == nil && st.Segment.ID != w.LogID() {
		st.Close()
		return nil, &ForeignError{st.url, fmt.Errorf("its log id is %s, and here it is %s", st.Segment.ID, w.LogID())}
	}
	return st, err
}

// behind is why a source can't be copied from that ends before the directory:
// it may be late, or have another history.
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
			return &ForeignError{st.url, fmt.Errorf("it ends at commit %d, this directory at %d, and commit %d is another one there than here", end, w.LastSeq(), end)}
		}
		return late
	}
}

// placeAt is the place of the frame that holds a commit of the directory.
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
