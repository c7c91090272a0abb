package wal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden compares b with the file testdata/NAME.hex, a hex dump without trailing
// zeroes.
func golden(t *testing.T, name string, b []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".hex")
	used := min(len(b), (len(bytes.TrimRight(b, "\x00"))+15)&^15)
	got := hex.Dump(b[:used])
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s: the bytes on disk changed; got\n%swant\n%s", name, got, want)
	}
}

var testID = LogID([]byte("0123456789abcdef"))

func TestGoldenBytes(t *testing.T) {
	seg := segmentHeader{ID: testID, Size: 64 << 20, First: 1001, Prev: 0xdeadbeef, Ordinal: 3, Created: 1700000000000000000}
	golden(t, "segment_header", seg.Marshal())

	f := testFrame(1001, 3, 5)
	f.Time = 1700000001000000000
	frame, _ := appendFrame(nil, f, 0xdeadbeef, seg.salt())
	golden(t, "frame", frame)

	f.begins = seg.Size
	begins, _ := appendFrame(nil, f, 0xdeadbeef, seg.salt())
	golden(t, "frame_begins", begins)

	seal, _ := appendSeal(nil, 1004, 0xcafef00d, f.Time, f.Digest, seg.salt())
	golden(t, "seal", seal)

	end := endHeader{ID: testID, Boot: BootID([]byte("fedcba9876543210")), Epoch: 7}
	golden(t, "end", end.Marshal(1003))
}

// TestGoldenLog pins a whole log of two segments, by the CRC of each segment.
func TestGoldenLog(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 20, 2000)
	w.Close()
	var text strings.Builder
	for i := range 2 {
		b, err := os.ReadFile(segPath(t, dir, i))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %d bytes, CRC %08x\n", filepath.Base(segPath(t, dir, i)), len(b), crc32.ChecksumIEEE(b))
	}
	golden(t, "log", []byte(text.String()))
}

func TestSegmentHeaderRoundTrip(t *testing.T) {
	want := segmentHeader{ID: testID, Size: 1 << 20, First: 77, Prev: 5, Ordinal: 2, Created: 9}
	var got segmentHeader
	if err := got.Unmarshal(want.Marshal()); err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	for off := 0; off < segmentHeaderSize; off++ {
		b := want.Marshal()
		b[off] ^= 1
		if got.Unmarshal(b) == nil {
			t.Fatalf("a flipped bit in byte %d is not detected", off)
		}
	}
	if got.Unmarshal(want.Marshal()[:100]) == nil {
		t.Error("a short header is accepted")
	}
}

// reseal corrects the CRC of a changed segment header.
func reseal(b []byte) []byte {
	le.PutUint32(b[segmentHeaderSize-4:], crc32.Checksum(b[:segmentHeaderSize-4], castagnoli))
	return b
}

func TestSegmentHeaderFields(t *testing.T) {
	good := segmentHeader{ID: testID, Size: 1 << 20, First: 77, Prev: 5, Ordinal: 2}
	cases := []struct {
		name    string
		change  func(b []byte)
		version bool
	}{
		{"newer version", func(b []byte) { b[8] = 2 }, true},
		{"reserved", func(b []byte) { b[10] = 1 }, false},
		{"alignment", func(b []byte) { b[13] = 1 }, false},
		{"far reserved", func(b []byte) { b[4000] = 1 }, false},
		{"odd size", func(b []byte) { b[32] = 1 }, false},
		{"small size", func(b []byte) { le.PutUint64(b[32:], 4096) }, false},
		{"first 0", func(b []byte) { le.PutUint64(b[40:], 0) }, false},
		{"first segment late", func(b []byte) { le.PutUint32(b[52:], 0) }, false},
		{"later segment at 1", func(b []byte) { le.PutUint64(b[40:], 1) }, false},
	}
	for _, c := range cases {
		b := good.Marshal()
		c.change(b)
		var h segmentHeader
		err := h.Unmarshal(reseal(b))
		if err == nil || errors.Is(err, ErrVersion) != c.version {
			t.Errorf("%s: got %v, want an error (ErrVersion: %v)", c.name, err, c.version)
		}
	}
}

func TestFrameHeaderFields(t *testing.T) {
	salt := segmentSalt(testID, 1)
	good := frameHeader{Kind: kindData, First: 9, Count: 2, BodyLen: 20, Time: 5}
	cases := []struct {
		name    string
		change  func(b []byte)
		version bool
	}{
		{"unknown kind", func(b []byte) { b[4] = 3 }, true},
		{"unknown flag", func(b []byte) { b[5] = 0x80 }, true},
		{"header length", func(b []byte) { b[6] = 65 }, false},
		{"no records", func(b []byte) { le.PutUint32(b[16:], 0) }, false},
		{"more records than bytes", func(b []byte) { le.PutUint32(b[16:], 6) }, false},
		{"body too long", func(b []byte) { le.PutUint32(b[20:], bodyCap+1) }, false},
		{"reserved", func(b []byte) { b[63] = 1 }, false},
		{"first 0", func(b []byte) { le.PutUint64(b[8:], 0) }, false},
		{"overflow", func(b []byte) { le.PutUint64(b[8:], 1<<64-1) }, false},
		{"seal with records", func(b []byte) { b[4] = kindSeal }, false},
		{"size without its flag", func(b []byte) { le.PutUint64(b[48:], minSegment) }, false},
		{"flag without a size", func(b []byte) { b[5] = flagBegins }, false},
		{"flag with a second unknown one", func(b []byte) { b[5] = 3; le.PutUint64(b[48:], minSegment) }, true},
		{"begins an odd size", func(b []byte) { b[5] = flagBegins; le.PutUint64(b[48:], minSegment+1) }, false},
		{"begins, and more", func(b []byte) { b[5] = flagBegins; le.PutUint64(b[48:], minSegment); b[56] = 1 }, false},
		{"seal that begins", func(b []byte) {
			copy(b[4:], []byte{kindSeal, flagBegins})
			le.PutUint64(b[16:], 0)
			le.PutUint64(b[48:], minSegment)
		}, false},
	}
	for _, c := range cases {
		b := make([]byte, frameHeaderSize)
		good.Marshal(b, salt)
		c.change(b)
		le.PutUint32(b, crc32.Update(salt, castagnoli, b[4:]))
		var h frameHeader
		if !h.Unmarshal(b, salt) {
			t.Fatalf("%s: the CRC does not match", c.name)
		}
		if err := h.Validate(b); err == nil || errors.Is(err, ErrVersion) != c.version {
			t.Errorf("%s: got %v, want an error (ErrVersion: %v)", c.name, err, c.version)
		}
		if h.Unmarshal(b, salt+1) {
			t.Errorf("%s: the CRC matches with another salt", c.name)
		}
	}
}

// TestBeginsOutOfPlace checks frames that begin a segment. Such a frame must be
// at the start of a segment other than the first, and that segment must have the size
// that the frame states.
func TestBeginsOutOfPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		head segmentHeader
		size int64 // segment size that the frame states
		at   int64
		ok   bool
	}{
		{"in its place", segmentHeader{ID: testID, Size: minSegment, First: 9, Ordinal: 2}, minSegment, segmentHeaderSize, true},
		{"another size", segmentHeader{ID: testID, Size: minSegment, First: 9, Ordinal: 2}, 2 * minSegment, segmentHeaderSize, false},
		{"after the start", segmentHeader{ID: testID, Size: minSegment, First: 9, Ordinal: 2}, minSegment, segmentHeaderSize + frameAlign, false},
		{"in the first segment", segmentHeader{ID: testID, Size: minSegment, First: 1}, minSegment, segmentHeaderSize, false},
	} {
		b := append(c.head.Marshal(), make([]byte, minSegment-segmentHeaderSize)...)
		f := testFrame(c.head.First, 1, 5)
		f.begins = c.size
		frame, _ := appendFrame(nil, f, 0, c.head.salt())
		copy(b[c.at:], frame)
		w := newWalker(bytes.NewReader(b), c.head, nil)
		w.at.off = c.at
		err := w.peek()
		var why *flaw
		if c.ok && err != nil || !c.ok && (!errors.As(err, &why) || !why.misfit) {
			t.Errorf("%s: got %v, want success: %v", c.name, err, c.ok)
		}
	}
}

func TestEachRecord(t *testing.T) {
	f := Frame{First: 5, Count: 3}
	for _, s := range []string{"a", "", "ccc"} {
		f.Body = AppendRecord(f.Body, []byte(s))
	}
	var got []string
	err := f.Each(func(seq uint64, rec []byte) error {
		if seq != 5+uint64(len(got)) {
			t.Errorf("got seq %d, want %d", seq, 5+uint64(len(got)))
		}
		got = append(got, string(rec))
		return nil
	})
	if err != nil || strings.Join(got, ",") != "a,,ccc" || f.Last() != 7 {
		t.Fatalf("got %q, %v, last %d; want a, an empty record, ccc, last 7", got, err, f.Last())
	}
	nothing := func(uint64, []byte) error { return nil }
	for n := range f.Body { // every truncation
		if (&Frame{First: 5, Count: 3, Body: f.Body[:n]}).Each(nothing) == nil {
			t.Errorf("a body of %d bytes, cut short, is accepted", n)
		}
	}
	if (&Frame{First: 5, Count: 2, Body: f.Body}).Each(nothing) == nil {
		t.Error("an extra record is accepted")
	}
}

func TestMaxBody(t *testing.T) {
	for _, c := range []struct {
		size int64
		want int
	}{{64 << 10, 30144}, {64 << 20, 16 << 20}, {1 << 20, 521664}} {
		if got := maxBody(c.size); got != c.want {
			t.Errorf("maxBody(%d) = %d, want %d", c.size, got, c.want)
		}
		if room := c.size - segmentHeaderSize - sealSize; 2*maxFrame(c.size) > room {
			t.Errorf("a segment of %d bytes does not hold two of the largest frames", c.size)
		}
	}
	for _, bad := range []int64{1, 4096, 65537, 64<<10 + 512, maxSegment + 4096} {
		if _, err := Open(t.TempDir(), Options{SegmentSize: bad}); err == nil {
			t.Errorf("segment size %d is accepted", bad)
		}
	}
}

func TestEndRoundTrip(t *testing.T) {
	want := endHeader{ID: testID, Boot: BootID{1}, Epoch: 9}
	var got endHeader
	if d, err := got.Unmarshal(want.Marshal(12)); err != nil || d != 12 || got != want {
		t.Fatalf("got %+v, durable end %d, %v; want %+v and 12", got, d, err, want)
	}
	for name, change := range map[string]func([]byte){
		"magic": func(b []byte) { b[0]++ }, "reserved": func(b []byte) { b[12]++ },
		"after epoch": func(b []byte) { b[60]++ }, "line": func(b []byte) { b[100]++ }, "far": func(b []byte) { b[4095]++ },
	} {
		b := want.Marshal(12)
		change(b)
		if _, err := got.Unmarshal(b); err == nil || errors.Is(err, errEndAbsent) {
			t.Errorf("%s: got %v, want an error other than errEndAbsent", name, err)
		}
	}
	b := want.Marshal(12)
	b[8] = 2
	if _, err := got.Unmarshal(b); !errors.Is(err, ErrVersion) {
		t.Errorf("newer version: got %v, want ErrVersion", err)
	}
	for _, n := range []int{0, 100, 4096} {
		if _, err := got.Unmarshal(make([]byte, n)); !errors.Is(err, errEndAbsent) {
			t.Errorf("%d zeroes: got %v, want errEndAbsent", n, err)
		}
	}
}
