package etcdlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// A site is a host's part of the log: its copy, which only this daemon writes.
type site struct {
	*Driver
	local *wal.Writer
	read  head // the newest head that was read
}

// open opens this host's copy, and creates the log if there is none.
func (d *Driver) open(ctx context.Context) (*site, error) {
	s := &site{Driver: d}
	h, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	if h == nil {
		if h, err = s.begin(ctx); err != nil {
			return nil, err
		}
	}
	s.read = *h
	opt, origin := d.Opt, h.origin()
	opt.Origin, opt.Copy = &origin, true
	if s.local, err = wal.Open(d.Dir, opt); err != nil {
		if errors.Is(err, wal.ErrForeign) {
			err = fmt.Errorf("%w: give this daemon a directory of its own for the log in %s", err, d.Where)
		}
		return nil, err
	}
	if err := wal.MarkCopy(d.Dir, d.Where, opt); err != nil {
		return nil, errors.Join(fmt.Errorf("marking %s as a copy: %w", d.Dir, err), s.close())
	}
	if last := s.local.LastSeq(); last > h.Seq {
		err := fmt.Errorf("%s has the log up to commit %d, but etcd only up to %d: etcd has lost a part of the log, or was restored from an old copy; "+
			"before anything is written, see \"Losing etcd for good\" in docs/ops.md", d.Dir, last, h.Seq)
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *site) close() error { return s.local.Close() }

// readHead reads the head. It returns nil if there is none.
func (s *site) readHead(ctx context.Context) (*head, error) {
	var r *etcd.RangeResult
	if err := s.insist(ctx, func() (err error) {
		r, err = s.API.Range(ctx, s.headKey(), "", 0)
		return err
	}); err != nil || len(r.KVs) == 0 {
		return nil, err
	}
	h, err := decodeHead(r.KVs[0].Value)
	return &h, err
}

// begin creates a log, unless another daemon does so first.
func (s *site) begin(ctx context.Context) (*head, error) {
	if r, err := wal.OpenReader(s.Dir, s.Opt); err == nil {
		defer r.Close()
		return nil, fmt.Errorf("%s has a log up to commit %d, but there is none in %s: `ledgerctl log push` creates it from the directory", s.Dir, r.Durable(), s.Where)
	} else if !errors.Is(err, wal.ErrNoLog) {
		return nil, err
	}
	size := s.Opt.SegmentSize
	if size == 0 {
		size = wal.DefaultSegmentSize
	}
	var id wal.LogID
	b, err := hex.DecodeString(s.nonce() + s.nonce())
	copy(id[:], b)
	if err != nil {
		return nil, err
	}
	h := head{Writer: s.Name, Nonce: s.nonce(), Log: id.String(), SegmentSize: size, Created: s.now().UnixNano(), First: 1}
	return s.create(ctx, h)
}

// create stores the first head of a log, unless there is a head. It returns the
// stored head.
func (d *Driver) create(ctx context.Context, h head) (*head, error) {
	r, err := d.txn(ctx, &etcd.Txn{
		If:   []etcd.Cond{{Key: d.headKey()}},
		Then: []etcd.Op{{Put: d.headKey(), Value: h.encode()}},
		Else: []etcd.Op{{Get: d.headKey()}},
	})
	if err != nil {
		return nil, fmt.Errorf("creating a log in %s: %w", d.Where, err)
	}
	if !r.Succeeded {
		if len(r.KVs) == 0 {
			return nil, fmt.Errorf("creating a log in %s: the head appeared and disappeared", d.Where)
		}
		if h, err = decodeHead(r.KVs[0].Value); err != nil {
			return nil, err
		}
	}
	return &h, nil
}

// fetchAtOnce is the maximum number of frames read by one call. Each is smaller
// than 1 MiB.
const fetchAtOnce = 16

// advance brings this host's copy up to a head. If apply is not nil, it is called
// with each new frame.
func (s *site) advance(ctx context.Context, to *head, apply func(*wal.Frame) error) error {
	s.read = *to
	for s.local.LastSeq() < to.Seq {
		next := s.local.LastSeq() + 1
		if next < to.First {
			if err := s.fill(ctx, to.First-1, apply); err != nil {
				return err
			}
			continue
		}
		var r *etcd.RangeResult
		if err := s.insist(ctx, func() (err error) {
			r, err = s.API.Range(ctx, s.frameKey(next), s.framesEnd(), fetchAtOnce)
			return err
		}); err != nil {
			return err
		}
		if len(r.KVs) == 0 || r.KVs[0].Key != s.frameKey(next) {
			return s.gone(ctx, to, next)
		}
		for _, kv := range r.KVs {
			if err := s.take(kv.Value, apply); err != nil {
				return err
			}
		}
	}
	return s.compare(to)
}

// errMoved means that a frame was trimmed after the head was read. The caller must read
// the head again.
var errMoved = unreachable(errors.New("the log in etcd was trimmed in the meantime"))

// gone returns the error for a frame that the head includes but that is missing:
// errMoved if it was trimmed since the head was read, and otherwise a
// *wal.CorruptError.
func (s *site) gone(ctx context.Context, to *head, seq uint64) error {
	h, err := s.readHead(ctx)
	if err != nil {
		return err
	}
	if h != nil && h.First > seq {
		return errMoved
	}
	return &wal.CorruptError{File: s.frameKey(seq), Seq: seq - 1, Rule: "frame missing in etcd",
		Err: fmt.Errorf("the head says that etcd has commits %d to %d", to.First, to.Seq)}
}

// take appends one frame from etcd to this host's copy.
func (s *site) take(image []byte, apply func(*wal.Frame) error) error {
	f, rest, err := wal.ParseFrame(image, s.local.LogID(), s.local.Segment())
	if err == nil && len(rest) > 0 {
		err = errors.New("bytes follow the frame")
	}
	if err != nil {
		return &wal.CorruptError{File: s.frameKey(s.local.LastSeq() + 1), Seq: s.local.LastSeq(), Rule: "frame in etcd", Err: err}
	}
	if f.Last() <= s.local.LastSeq() {
		return nil
	}
	if err := s.local.PutCopy(&f); err != nil {
		return fmt.Errorf("copying commit %d from etcd: %w", f.First, err)
	}
	if apply == nil {
		return nil
	}
	return apply(&f)
}

// fill brings the copy up to commit upTo with frames from other hosts, because etcd no
// longer has those frames.
func (s *site) fill(ctx context.Context, upTo uint64, apply func(*wal.Frame) error) error {
	urls, err := s.others(ctx)
	if err != nil {
		return err
	}
	if s.Fill == nil || len(urls) == 0 {
		return fmt.Errorf("%s ends at commit %d, but etcd has the log only after commit %d: copy the directory of another host with `ledgerctl backup`, and start again",
			s.Dir, s.local.LastSeq(), upTo)
	}
	from := s.local.LastSeq()
	filled := s.Fill(ctx, s.local, urls, upTo)
	if apply == nil {
		return filled
	}
	return errors.Join(s.applyFrom(from+1, apply), filled) // also apply what was copied before an error
}

// applyFrom calls apply with the frames of this host's copy, beginning with the frame
// that holds commit seq.
func (s *site) applyFrom(seq uint64, apply func(*wal.Frame) error) error {
	if err := s.local.SyncCopy(); err != nil {
		return err
	}
	r, err := s.local.OpenReader()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Seek(seq); err != nil {
		return err
	}
	for {
		f, err := r.Next()
		if errors.Is(err, wal.ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := apply(f); err != nil {
			return err
		}
	}
}

// compare checks that the copy and the head have the same last frame, if both end
// at the same commit. It returns wal.ErrForeign if they differ.
func (s *site) compare(h *head) error {
	if s.local.LastSeq() != h.Seq || h.Seq == 0 {
		return nil // the log has grown since the head was read, or is empty
	}
	if s.local.LastDigest() == h.Digest && s.local.LastTime() == h.Time {
		return nil
	}
	return fmt.Errorf("%w: %s and etcd differ at commit %d", wal.ErrForeign, s.Dir, h.Seq)
}

// Push creates the log in etcd from the log in a directory, which becomes the first
// copy. There must be no log below the prefix, and no other process may be writing to
// the directory. Push returns the last commit.
func (d *Driver) Push(ctx context.Context) (last uint64, err error) {
	if err := d.probe(ctx); err != nil {
		return 0, err
	}
	opt := d.Opt
	opt.Copy = true
	if there, err := wal.HasLog(d.Dir, opt); err != nil || !there {
		return 0, cmp.Or(err, fmt.Errorf("there is no log in %s", d.Dir))
	}
	w, err := wal.Prepare(d.Dir, opt) // to lock the directory
	if err != nil {
		return 0, err
	}
	defer w.Close()
	r, err := w.OpenReader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	origin, err := r.Origin()
	if err != nil {
		return 0, err
	}
	place, err := lastPlace(r)
	if err != nil {
		return 0, err
	}
	h := head{Writer: d.Name, Nonce: d.nonce(), Log: origin.ID.String(), SegmentSize: origin.SegmentSize, Created: origin.Created,
		Seq: place.Seq, Chain: place.Chain, Time: place.Time, Digest: place.Digest, First: place.Seq + 1}
	there, err := d.create(ctx, h)
	if err != nil {
		return 0, err
	}
	if !bytes.Equal(there.encode(), h.encode()) {
		return 0, fmt.Errorf("%s already has a log, up to commit %d: choose another prefix", d.Where, there.Seq)
	}
	return place.Seq, wal.MarkCopy(d.Dir, d.Where, opt)
}

// lastPlace returns the place of the last durable frame.
func lastPlace(r *wal.Reader) (p wal.Place, err error) {
	end := r.Durable()
	if end == 0 {
		return p, nil
	}
	if err := r.Seek(end); err != nil {
		return p, err
	}
	f, err := r.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	return f.Place(), nil
}

var _ commitlog.Reader = (*wal.Reader)(nil)
