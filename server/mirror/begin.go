package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

// Begin prepares dir for a copy of the source's log. If dir already has a log, it
// returns a nil Origin. Otherwise it fetches the source's newest usable checkpoint and
// the segment that contains its commit, up to that commit. The log in dir must then be
// opened with the returned Origin. If that segment is the log's first, or if there is
// no usable checkpoint, the whole log is to be copied and Begin creates no log yet.
// After a crash, the next Begin clears what is left and starts again. The error is
// wal.ErrLocked if another process has locked the directory.
func (s *Source) Begin(ctx context.Context, dir string, o wal.Options) (*wal.Origin, error) {
	if has, err := wal.HasLog(dir, o); err != nil || has {
		return nil, err
	}
	lock, err := wal.LockCopy(dir, o)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	of, err := wal.CopyOf(dir, o)
	if err != nil {
		return nil, err
	}
	if of == "" { // otherwise dir holds what an interrupted attempt left
		if list, err := wal.ListCheckpoints(dir, o); err != nil || len(list) > 0 {
			return nil, cmp.Or(err, fmt.Errorf("%s has checkpoints but no log: move them away to begin a copy there", dir))
		}
		if err := wal.MarkCopy(dir, s.String(), o); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(wal.ClearBegin(dir, o), wal.DropCheckpoints(dir, o)); err != nil {
		return nil, err
	}
	p := pauses{}
	for {
		origin, err := s.beginFrom(ctx, dir, o)
		if err == nil || ctx.Err() != nil {
			return origin, errors.Join(err, ctx.Err())
		}
		if local, ok := errors.AsType[localError](err); ok && !errors.Is(err, wal.ErrNoSpace) {
			return nil, local.error
		}
		if err := errors.Join(wal.ClearBegin(dir, o), p.failed(ctx, s, err)); err != nil {
			return nil, err
		}
	}
}

// beginFrom begins with a checkpoint of the current daemon.
func (s *Source) beginFrom(ctx context.Context, dir string, o wal.Options) (*wal.Origin, error) {
	list, err := s.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		head, err := s.segmentOf(ctx, c.Seq)
		if err != nil {
			return nil, err
		}
		if head.Segment.Ordinal == 0 {
			break
		}
		if err = s.beginAt(ctx, dir, o, c, &head.Segment); err == nil {
			return &head.Segment, nil
		}
		if _, local := errors.AsType[localError](err); local || ctx.Err() != nil {
			return nil, err
		}
		s.log.Warn("a checkpoint can't be used to begin a copy; trying an older one", "source", s.URL(), "seq", c.Seq, "reason", err)
		if err := wal.ClearBegin(dir, o); err != nil {
			return nil, localError{err}
		}
	}
	head, err := s.segmentOf(ctx, 1)
	return &head.Segment, err
}

// segmentOf returns the header of a stream that begins with commit seq. It describes
// the segment that holds the commit.
func (s *Source) segmentOf(ctx context.Context, seq uint64) (wal.StreamHead, error) {
	st, err := s.open(ctx, seq)
	if err != nil {
		return wal.StreamHead{}, err
	}
	defer st.Close()
	return st.StreamHead, nil
}

// beginAt fetches checkpoint c and its segment up to c, checks that they match,
// and moves them to dir.
func (s *Source) beginAt(ctx context.Context, dir string, o wal.Options, c checkpoint, segment *wal.Origin) error {
	s.log.Info("beginning a copy of the log with a checkpoint", "source", s.URL(), "seq", c.Seq, "bytes", c.Bytes, "segment_from", segment.First)
	begin := wal.BeginPath(dir)
	if err := s.copySegment(ctx, begin, o, c.Seq, segment); err != nil {
		return err
	}
	var arriving error // of the download, which also writes to the disk
	err := wal.WriteCheckpoint(begin, c.Seq, o, func(w io.Writer) error {
		arriving = s.download(ctx, c, w)
		return arriving
	})
	if arriving != nil {
		return arriving
	}
	if err != nil {
		return localError{err}
	}
	if err := checkBegun(begin, o, c.Seq); err != nil {
		return err
	}
	if err := wal.Adopt(dir, o); err != nil {
		return localError{err}
	}
	return nil
}

// copySegment copies a segment from its first frame to the one that ends with seq.
func (s *Source) copySegment(ctx context.Context, begin string, o wal.Options, seq uint64, segment *wal.Origin) error {
	o.Origin, o.Manual, o.SegmentSize = segment, true, segment.SegmentSize
	w, err := wal.Open(begin, o)
	if err != nil {
		return localError{err}
	}
	defer w.Close()
	st, err := s.opened(ctx, segment.First, w)
	if err != nil {
		return err
	}
	defer st.Close()
	for w.LastSeq() < seq {
		f, err := st.Next()
		if err != nil {
			return fmt.Errorf("after commit %d: %w", w.LastSeq(), err)
		}
		if f != nil {
			if err := w.PutCopy(f); err != nil {
				return s.explain(st, err)
			}
		}
		s.news(st.url, st.Durable)
	}
	if err := w.Close(); err != nil {
		return localError{err}
	}
	return nil
}

// checkBegun loads the whole checkpoint and compares it with the frame that
// ends at its commit.
func checkBegun(begin string, o wal.Options, seq uint64) error {
	r, err := wal.OpenReader(begin, o)
	if err != nil {
		return localError{err}
	}
	defer r.Close()
	_, _, err = commitlog.Load(commitlog.File{Dir: begin, Opt: o}.Checkpoints(), seq, r, 0)
	return err
}
