package wal

import (
	"bytes"
	"errors"
	"hash/crc32"
	"testing"
)

// FuzzScan reads a segment of arbitrary bytes after a valid header. The walker must
// never panic, use more memory than the size of the segment, or return an incomplete
// frame.
func FuzzScan(f *testing.F) {
	head := segmentHeader{ID: testID, Size: minSegment, First: 1}
	var frames []byte
	prev := uint32(0)
	for i := range uint64(3) {
		fr := testFrame(1+2*i, 2, 300)
		fr.Time = int64(i + 1)
		var h frameHeader
		frames, h = appendFrame(frames, fr, prev, head.salt())
		prev = h.CRC
	}
	f.Add(frames)
	seal, _ := appendSeal(bytes.Clone(frames), 7, prev, 9, 9, head.salt())
	f.Add(seal)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 1})
	f.Add(frames[:700])
	f.Fuzz(func(t *testing.T, tail []byte) {
		seg := make([]byte, minSegment)
		copy(seg, head.Marshal())
		copy(seg[segmentHeaderSize:], tail)
		src := bytes.NewReader(seg)
		h, err := readSegmentHeader(src)
		if err != nil {
			t.Fatal(err)
		}
		w := newWalker(src, h, nil)
		var again []byte
		err = w.scan(true, func() error {
			if w.h.Kind == kindSeal {
				again, _ = appendSeal(again, w.h.First, w.h.Prev, w.h.Time, w.h.Digest, w.salt)
				return nil
			}
			fr := w.frame()
			again, _ = appendFrame(again, &fr, w.h.Prev, w.salt)
			n := uint64(0)
			return fr.Each(func(seq uint64, _ []byte) error {
				if n++; seq != fr.First+n-1 {
					t.Errorf("record %d is number %d of a frame from %d", seq, n, fr.First)
				}
				return nil
			})
		})
		var why *flaw
		if err != nil && err != errVoid && !errors.As(err, &why) {
			t.Fatalf("unexpected kind of error: %v", err)
		}
		if int64(cap(w.buf)) > minSegment {
			t.Errorf("the walker uses %d bytes of memory, want at most %d", cap(w.buf), minSegment)
		}
		if !bytes.Equal(again, seg[segmentHeaderSize:w.at.off]) {
			t.Error("the frames that were accepted would be written differently")
		}
	})
}

// FuzzFrameHeader parses arbitrary fields with a valid CRC. Fields that are
// accepted must survive a round trip.
func FuzzFrameHeader(f *testing.F) {
	f.Add(make([]byte, frameHeaderSize), uint32(0))
	b := make([]byte, frameHeaderSize)
	(&frameHeader{Kind: kindData, First: 9, Count: 2, BodyLen: 20, Time: 5}).Marshal(b, 77)
	f.Add(b, uint32(77))
	f.Fuzz(func(t *testing.T, b []byte, salt uint32) {
		if len(b) < frameHeaderSize {
			return
		}
		b = b[:frameHeaderSize]
		var h, again frameHeader
		if !h.Unmarshal(b, salt) {
			le.PutUint32(b, crc32.Update(salt, castagnoli, b[4:]))
			if !h.Unmarshal(b, salt) {
				if b[4] != 0 {
					t.Fatal("a correct CRC does not match")
				}
				return
			}
		}
		if h.Validate(b) != nil {
			return
		}
		out := make([]byte, frameHeaderSize)
		again = h
		again.Marshal(out, salt)
		if !bytes.Equal(out, b) || again != h {
			t.Errorf("header %x became %x after a round trip", b, out)
		}
		if h.size() > frameSize(bodyCap) {
			t.Errorf("a frame of %d bytes is accepted, the maximum is %d", h.size(), frameSize(bodyCap))
		}
	})
}

// FuzzEnd reads an arbitrary page as END. A writer may be storing into it at
// the same time. Of the words that change, only the durable end is read, and
// one check word may be torn.
func FuzzEnd(f *testing.F) {
	h := endHeader{ID: testID, Epoch: 3}
	f.Add(h.Marshal(5))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h endHeader
		durable, err := h.Unmarshal(b)
		if err != nil {
			return
		}
		again := h.Marshal(durable)
		want := bytes.Clone(b[:pageSize])
		clear(want[endWakeAt : endWakeAt+4])
		for _, changes := range [][2]int{{endCRCAt, endCRCAt + 4}, {endMovedAt, endCheckAt + 16}} {
			copy(want[changes[0]:changes[1]], again[changes[0]:changes[1]])
		}
		if !bytes.Equal(again, want) || checkEndPage(again) != nil {
			t.Error("END does not survive a round trip")
		}
		if fits := le.Uint64(b[endCheckAt:]) == ^durable || le.Uint64(b[endCheckAt+8:]) == ^durable; checkEndPage(b) == nil && !fits {
			t.Errorf("an END is accepted whose end %d matches no check word", durable)
		}
	})
}
