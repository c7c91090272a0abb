package wal

import (
	"errors"
	"fmt"
	"io/fs"
)

// Verification walks a log from its first byte to its end and recomputes every CRC
// and link. It changes nothing. It works on a stopped log, on one without END, and
// on one with a running writer, where it walks up to END as it was at the start.

// A FrameInfo is a frame's header and place.
type FrameInfo struct {
	File    string // path of the segment
	Offset  int64  // bytes from the start of the file
	Size    int64  // bytes, including header and padding
	Seal    bool   // the frame is a seal; Frame.First is then the next global_seq, and Count is 0
	CRC     uint32 // header CRC; the next frame's Prev equals it
	Prev    uint32
	BodyCRC uint32
	Frame   Frame // valid until the callback returns
}

// A SegmentInfo is a segment's header and file.
type SegmentInfo struct {
	File    string
	ID      LogID
	Ordinal uint32
	Size    int64 // size of the file in bytes
	First   uint64
	Prev    uint32
	Created int64 // Unix nanoseconds
}

func (s *segmentFile) info() SegmentInfo {
	h := &s.head
	return SegmentInfo{File: s.path, ID: h.ID, Ordinal: h.Ordinal, Size: h.Size, First: h.First, Prev: h.Prev, Created: h.Created}
}

// VerifyOptions are the options of one walk; the zero value is valid.
type VerifyOptions struct {
	FS FS // default is the operating system's
	// HeadersOnly skips bodies. The frames that OnFrame gets then have none.
	HeadersOnly bool
	// OnSegment is called before the frames of each segment. An error ends the
	// walk.
	OnSegment func(*SegmentInfo) error
	// OnFrame is called for each valid frame, including seals. An error ends the
	// walk.
	OnFrame func(*FrameInfo) error
	// OnProgress is called after each segment that was walked to its end, with the
	// number of bytes walked and the total.
	OnProgress func(done, total int64)
}

// A VerifyReport is the result of a walk.
type VerifyReport struct {
	ID       LogID
	Segments int
	Frames   uint64 // number of data frames
	Commits  uint64
	Bytes    int64  // bytes of headers and frames
	LastSeq  uint64 // last global_seq of the last valid frame
	Digest   uint64 // state digest after that frame
	Chain    uint32 // header CRC of that frame
	HasEnd   bool
	End      uint64 // durable end, if HasEnd
	Live     bool   // a writer has the lock, so the walk ended at END; or one took the lock during the walk, so the end of the log was not judged
	Torn     int64  // size in bytes of a torn tail, which the next Open copies and zeroes
}

// Verify walks the log of DIR. It returns ErrNoLog if there is none, and
// ErrArchiving if segments were moved away during the walk. For damage it returns a
// *CorruptError, with the report up to there.
func Verify(dir string, o VerifyOptions) (VerifyReport, error) {
	v := verifier{o: o, fs: Options{FS: o.FS}.withDefaults().FS, dir: dir}
	err := v.run()
	return v.report, err
}

type verifier struct {
	o      VerifyOptions
	fs     FS
	dir    string
	report VerifyReport
	buf    []byte // passed from walker to walker
}

// errAtEnd ends a walk of a log with a live writer.
var errAtEnd = errors.New("wal: at the durable end")

func (v *verifier) run() error {
	// The lock is checked before END is read. A writer that starts in between only
	// appends to the log.
	live, err := logLocked(v.fs, v.dir)
	if err != nil {
		return err
	}
	d, err := readDir(v.fs, v.dir)
	if err != nil {
		return err
	}
	if !live {
		d.end.settle()
	}
	r := &v.report
	r.Live, r.HasEnd, r.End = live && d.end.there, d.end.there, d.end.durable
	switch rule := decide(dirRules, d.facts()); rule.then {
	case create:
		return ErrNoLog
	case refuse:
		return &CorruptError{File: join(v.dir, endName), Seq: d.end.durable, Rule: rule.name, Err: refusal(rule, d.end.bad)}
	}
	r.ID = d.segments[0].head.ID
	var total, done int64
	for i := range d.segments {
		total += d.segments[i].head.Size
	}
	var at cursor
	for i := range d.segments {
		s := &d.segments[i]
		if i > 0 {
			if err := checkLink(s.path, &s.head, r.ID, s.head.Ordinal-1, &at); err != nil {
				return err
			}
		}
		if at, err = v.segment(&d, i, at); err != nil {
			if err == errAtEnd {
				return nil
			}
			return err
		}
		r.Bytes += at.off
		if done += s.head.Size; v.o.OnProgress != nil {
			v.o.OnProgress(done, total)
		}
	}
	return nil
}

// segment walks one segment. The parameter before is the cursor after the seal of the
// previous segment.
func (v *verifier) segment(d *dirState, i int, before cursor) (cursor, error) {
	s, last := &d.segments[i], i == len(d.segments)-1
	src, err := openView(v.fs, s.path, s.head.Size)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrArchiving, err)
	}
	if err != nil {
		return before, err
	}
	defer src.Close()
	v.report.Segments++
	if v.o.OnSegment != nil {
		info := s.info()
		if err := v.o.OnSegment(&info); err != nil {
			return before, err
		}
	}
	w := newWalker(src, s.head, v.buf)
	w.at.time, w.at.digest = before.time, before.digest
	defer func() { v.buf = w.buf }()
	if v.report.Live && w.at.next > v.report.End {
		return w.at, errAtEnd
	}
	var stop error // error of a callback, or errAtEnd
	err = w.scan(!v.o.HeadersOnly, func() error {
		stop = v.frame(s, w)
		return stop
	})
	_, flawed := errors.AsType[*flaw](err)
	switch {
	case stop != nil:
		if stop == errAtEnd {
			v.report.Bytes += w.at.off + w.h.size()
		}
		return w.at, stop
	case err != nil && err != errVoid && !flawed: // an I/O error
		return w.at, &CorruptError{File: s.path, Offset: w.at.off, Seq: w.at.next - 1, Rule: ruleUnreadable, Err: err}
	case !last:
		if err != nil {
			err = sealError(s, &w.at, err)
		}
		return w.at, err
	}
	return w.at, v.tail(d, s, w, err == nil)
}

// frame counts the frame at the walker's cursor and calls OnFrame.
func (v *verifier) frame(s *segmentFile, w *walker) error {
	h, r := &w.h, &v.report
	if h.Kind == kindData {
		r.Frames++
		r.Commits += uint64(h.Count)
	}
	r.LastSeq, r.Digest, r.Chain = h.last(), h.Digest, h.CRC
	if v.o.OnFrame != nil {
		info := FrameInfo{
			File: s.path, Offset: w.at.off, Size: h.size(), Seal: h.Kind == kindSeal,
			CRC: h.CRC, Prev: h.Prev, BodyCRC: h.BodyCRC,
			Frame: Frame{First: h.First, Count: h.Count, Time: h.Time, Digest: h.Digest},
		}
		if !v.o.HeadersOnly {
			info.Frame.Body = w.body()
		}
		if err := v.o.OnFrame(&info); err != nil {
			return err
		}
	}
	if r.Live && h.Kind == kindData && h.last() >= r.End {
		return errAtEnd
	}
	return nil
}

// tail evaluates the end of the log in the same way as Open. It continues from the
// walker's place, so it costs little.
func (v *verifier) tail(d *dirState, s *segmentFile, w *walker, sealed bool) error {
	if live, err := logLocked(v.fs, v.dir); err == nil && live {
		v.report.Live = true // a writer has started meanwhile, so a frame may be half written
		return nil
	}
	t := &tail{seg: *s, group: d.group(), at: w.at, sealed: sealed}
	if !sealed {
		if err := t.walk(w, d.end.durable); err != nil {
			return err
		}
	}
	if err := t.judge(w, d.acked()); err != nil {
		return err
	}
	switch t.rule.then {
	case refuse:
		return t.corrupt()
	case zeroTail:
		v.report.Torn = t.strayEnd - t.at.off
	}
	return nil
}
