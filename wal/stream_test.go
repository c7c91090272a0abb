package wal_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"assetledger/wal"
	"assetledger/wal/memfs"
)

// streamed returns the stream of a log's frames, with a heartbeat after every second
// frame. The parameter from is the commit with which the stream begins. streamed also
// returns the places where frames and heartbeats begin, and the number of frames.
func streamed(t testing.TB, from uint64) (b []byte, edges []int, frames int) {
	d := memfs.New(1)
	var r run
	if err := r.work(d.Process(), 1, 9); err != nil {
		t.Fatal(err)
	}
	l, err := wal.OpenReader(crashDir, options(d.Process(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Seek(from); err != nil {
		t.Fatal(err)
	}
	head, err := l.Head()
	if err != nil {
		t.Fatal(err)
	}
	b = head.Append(nil)
	for {
		f, err := l.Next()
		if errors.Is(err, wal.ErrEnd) {
			return b, edges, frames
		}
		if err != nil {
			t.Fatal(err)
		}
		edges = append(edges, len(b))
		b = f.AppendWire(b)
		if frames++; frames%2 == 0 {
			edges = append(edges, len(b))
			b = wal.AppendBeat(b, l.LogID(), l.Durable(), 7)
		}
	}
}

// readStream reads a stream to its end, and returns how much of it was valid.
func readStream(src []byte) (frames, beats int, durable uint64, err error) {
	s, err := wal.NewStreamReader(bytes.NewReader(src))
	if err != nil {
		return 0, 0, 0, err
	}
	for {
		f, err := s.Next()
		switch {
		case err != nil:
			return frames, beats, s.Durable, err
		case f != nil:
			frames++
		default:
			beats++
		}
	}
}

// TestStream checks that a stream delivers its frames, and that a broken frame
// is never accepted.
func TestStream(t *testing.T) {
	b, edges, want := streamed(t, 1)
	frames, beats, durable, err := readStream(b)
	if err != io.EOF || frames != want || beats != want/2 || durable == 0 {
		t.Fatalf("read %d frames, want %d; %d heartbeats, durable end %d, %v, want EOF", frames, want, beats, durable, err)
	}
	whole := map[int]bool{wal.StreamHeaderSize: true, len(b): true}
	for _, at := range edges {
		whole[at] = true
	}
	at, next := 0, 0 // start of the frame or heartbeat that is cut or changed, and index of the next edge
	for n := range b {
		if next < len(edges) && n == edges[next] {
			at, next = n, next+1
		}
		if n >= at+100 && n%997 != 0 && !(next < len(edges) && n >= edges[next]-10) { // one CRC covers the whole of a long body
			continue
		}
		if _, _, _, err := readStream(b[:n]); (err == io.EOF) != whole[n] {
			t.Fatalf("cut after %d bytes: got %v; want EOF only between frames or heartbeats", n, err)
		}
		bad := bytes.Clone(b)
		bad[n] ^= 1 << (n % 8)
		good, _, _, _ := readStream(b[:at])
		if frames, _, _, err := readStream(bad); err == io.EOF || frames != good {
			t.Fatalf("byte %d changed: read %d frames, want the %d before it; %v", n, frames, good, err)
		}
	}
}

// TestStreamHead checks that a stream that begins in a later segment has that
// segment's complete header.
func TestStreamHead(t *testing.T) {
	_, from := original(t)
	r, err := wal.OpenReader(crashDir, options(from, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	segments, _, err := wal.Stat(crashDir, from)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range segments {
		if err := r.Seek(s.First); err != nil {
			t.Fatal(err)
		}
		head, err := r.Head()
		if err != nil {
			t.Fatal(err)
		}
		var back wal.StreamHead
		if err := back.Parse(head.Append(nil)); err != nil || back != head {
			t.Fatalf("the stream header %+v became %+v after a round trip: %v", head, back, err)
		}
		o := head.Segment
		if o.ID != s.ID || o.First != s.First || o.Ordinal != uint32(i) || o.Prev != s.Prev || o.SegmentSize != s.Size || o.Created != s.Created || head.Epoch != 4 {
			t.Errorf("the stream header for segment %+v is %+v, want the same fields and epoch 4", s, head)
		}
	}
	b := (&wal.StreamHead{Segment: wal.Origin{SegmentSize: 64 << 10}}).Append(nil)
	b[4] = 2
	if err := new(wal.StreamHead).Parse(b); err == nil {
		t.Error("a stream header whose CRC does not match was accepted")
	}
}

// TestCopyBeginsLate fills a copy that begins with a later segment of the original. The
// segments of the copy have the same bytes as those of the original. Without a
// checkpoint the copy is rejected, as an archived log is.
func TestCopyBeginsLate(t *testing.T) {
	d, from := original(t)
	segments, _, err := wal.Stat(crashDir, from)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments[1:] {
		to := memfs.New(3)
		p := to.Process()
		r, err := wal.OpenReader(crashDir, options(from, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Seek(s.First); err != nil {
			t.Fatal(err)
		}
		head, err := r.Head()
		if err != nil {
			t.Fatal(err)
		}
		o := options(p, nil)
		o.Origin = &head.Segment
		w, err := wal.Open(copyDir, o)
		if err != nil {
			t.Fatal(err)
		}
		if w.LastSeq() != s.First-1 {
			t.Fatalf("the copy that begins with commit %d begins after commit %d, want %d", s.First, w.LastSeq(), s.First-1)
		}
		for {
			f, err := r.Next()
			if errors.Is(err, wal.ErrEnd) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.AppendCopy(f); err != nil {
				t.Fatalf("from %d, commit %d: %v", s.First, f.First, err)
			}
		}
		r.Close()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		want, _ := filesOf(d, crashDir+"/wal", ".seg")
		got, _ := filesOf(to, copyDir+"/wal", ".seg")
		if len(got) == 0 || len(got) != len(segments)-int(s.Ordinal) {
			t.Fatalf("the copy that begins with segment %d has %d segments, want %d", s.Ordinal, len(got), len(segments)-int(s.Ordinal))
		}
		for name, b := range got {
			if !bytes.Equal(b, want[name]) {
				t.Errorf("from %d: segment %s differs", s.First, name)
			}
		}
		if _, err := wal.Open(copyDir, options(p, nil)); err == nil {
			t.Error("a log that lacks its first segments and has no checkpoint was opened")
		}
	}
}

// TestMarkedCopy checks that a directory marked as a copy can only be opened
// with Options.Copy.
func TestMarkedCopy(t *testing.T) {
	d := memfs.New(1)
	p := d.Process()
	o := options(p, nil)
	w, err := wal.Open(copyDir, o)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := wal.MarkCopy(copyDir, "http://a:1", o); err != nil {
		t.Fatal(err)
	}
	if of, err := wal.CopyOf(copyDir, o); of != "http://a:1" || err != nil {
		t.Fatalf("CopyOf: got %q, %v; want \"http://a:1\"", of, err)
	}
	if _, err := wal.Open(copyDir, o); !errors.Is(err, wal.ErrCopy) {
		t.Errorf("opened without Options.Copy: got %v, want ErrCopy", err)
	}
	o.Copy = true
	if w, err = wal.Open(copyDir, o); err != nil {
		t.Fatal(err)
	}
	w.Close()
	o.Copy = false
	for range 2 {
		if err := wal.UnmarkCopy(copyDir, o); err != nil {
			t.Fatal(err)
		}
	}
	if w, err = wal.Open(copyDir, o); err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// FuzzStream reads arbitrary bytes as a stream. An accepted frame has the wire
// form that was read.
func FuzzStream(f *testing.F) {
	b, edges, _ := streamed(f, 1)
	for _, at := range edges {
		if at < 4000 {
			f.Add(b[:at])
			f.Add(b[:at+40])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := wal.NewStreamReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		again := s.StreamHead.Append(nil)
		if !bytes.Equal(again[8:60], b[8:60]) {
			t.Fatal("the parsed stream header differs from the bytes that were read")
		}
		for at := wal.StreamHeaderSize; ; {
			frame, err := s.Next()
			if err != nil {
				return
			}
			wire := b[at : at+wal.StreamHeaderSize]
			if frame != nil {
				wire = frame.Wire()
			}
			if !bytes.HasPrefix(b[at:], wire) || len(wire) < wal.StreamHeaderSize {
				t.Fatal("the wire form of an accepted frame differs from the bytes that were read")
			}
			at += len(wire)
		}
	})
}
