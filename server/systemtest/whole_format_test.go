package systemtest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"assetledger/ledger"
)

// A layout is a table in docs/format.md: the place and size of each field.
type layout map[string]struct{ at, size int }

// layoutOf parses the table below a heading.
func layoutOf(t *testing.T, doc, heading string) layout {
	t.Helper()
	_, section, ok := strings.Cut(doc, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/format.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	l := layout{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \| *(\d*) *\| ([a-z ]+) \|`).FindAllStringSubmatch(section, -1) {
		f := l[row[3]]
		f.at, _ = strconv.Atoi(row[1])
		f.size, _ = strconv.Atoi(row[2])
		l[row[3]] = f
	}
	return l
}

// bytes returns the bytes of a field.
func (l layout) bytes(t *testing.T, b []byte, field string) []byte {
	t.Helper()
	f, ok := l[field]
	if !ok {
		t.Fatalf("docs/format.md has no field %q", field)
	}
	return b[f.at : f.at+f.size]
}

// num returns a field as a number.
func (l layout) num(t *testing.T, b []byte, field string) uint64 {
	t.Helper()
	var wide [8]byte
	copy(wide[:], l.bytes(t, b, field))
	return binary.LittleEndian.Uint64(wide[:])
}

// TestFormatDocument reads the log of a write daemon with only the tables of
// docs/format.md.
func TestFormatDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	dir := t.TempDir()
	w := startWriter(t, dir)
	const commits = 20
	for i := range commits {
		mustCommit(t, w.url, fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}],"idempotency_key":"k%d"}`, i+1, i))
	}
	w.stop()
	segment, err := os.ReadFile(filepath.Join(dir, "wal", "00000000000000000001.seg"))
	if err != nil {
		t.Fatal(err)
	}
	head := layoutOf(t, doc, "Segment header")
	id, salt := checkSegmentHeader(t, head, segment)
	next := checkFrames(t, layoutOf(t, doc, "Frame"), segment, head.num(t, segment, "first"), uint32(head.num(t, segment, "prev")), salt)
	if next != commits+1 {
		t.Errorf("according to docs/format.md, the log ends before commit %d, but there are %d commits", next, commits)
	}
	end, err := os.ReadFile(filepath.Join(dir, "END"))
	if err != nil {
		t.Fatal(err)
	}
	e := layoutOf(t, doc, "END")
	if len(end) != 4096 || string(e.bytes(t, end, "magic")) != "ASTLEND\n" || e.num(t, end, "version") != 1 || !bytes.Equal(e.bytes(t, end, "log id"), id) {
		t.Errorf("the header of END does not match docs/format.md: %x", end[:136])
	}
	if e.num(t, end, "durable") != commits || e.num(t, end, "epoch") != 1 || e.num(t, end, "moved") == 0 || e.num(t, end, "wake") == 0 {
		t.Errorf("the content of END does not match docs/format.md: %x", end[:136])
	}
}

func checkSegmentHeader(t *testing.T, l layout, b []byte) (id []byte, salt uint32) {
	t.Helper()
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	crcAt := l["crc"].at
	switch {
	case string(l.bytes(t, b, "magic")) != "ASTLSEG\n":
		t.Errorf("the magic of the segment header is %q, want ASTLSEG", l.bytes(t, b, "magic"))
	case l.num(t, b, "version") != 1 || l.num(t, b, "alignment") != 512 || l.num(t, b, "size") != uint64(len(b)) || l.num(t, b, "ordinal") != 0:
		t.Errorf("the segment header does not match docs/format.md: %x", b[:64])
	case uint64(crc32.Checksum(b[:crcAt], castagnoli)) != l.num(t, b, "crc"):
		t.Error("the CRC of the segment header does not match")
	}
	id = l.bytes(t, b, "log id")
	return id, crc32.Checksum(append(bytes.Clone(id), l.bytes(t, b, "first")...), castagnoli)
}

// checkFrames walks over the frames, and returns the global_seq after the last
// one.
func checkFrames(t *testing.T, l layout, segment []byte, next uint64, prev, salt uint32) uint64 {
	t.Helper()
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	var before uint64
	for at := 4096; segment[at+l["kind"].at] != 0; {
		b := segment[at:]
		size := l.num(t, b, "header")
		body := b[l["body"].at:][:l.num(t, b, "body length")]
		switch {
		case size != 64 || l.num(t, b, "kind") != 1 || l.num(t, b, "flags") != 0:
			t.Fatalf("the frame at %d does not match docs/format.md: %x", at, b[:64])
		case uint64(crc32.Update(salt, castagnoli, b[4:size])) != l.num(t, b, "crc"):
			t.Fatalf("the CRC of the frame at %d does not match", at)
		case uint64(crc32.Update(salt, castagnoli, body)) != l.num(t, b, "body crc"):
			t.Fatalf("the CRC of the body at %d does not match", at)
		case l.num(t, b, "first") != next || l.num(t, b, "prev") != uint64(prev) || l.num(t, b, "time") < before:
			t.Fatalf("the frame at %d does not follow the previous one", at)
		}
		for range l.num(t, b, "count") {
			n := binary.LittleEndian.Uint32(body)
			checkFirstRecord(t, body[4:4+n], next)
			body = body[4+n:]
			next++
		}
		if len(body) != 0 {
			t.Fatalf("%d bytes are left of the body at %d", len(body), at)
		}
		prev, before = uint32(l.num(t, b, "crc")), l.num(t, b, "time")
		at += (int(size) + int(l.num(t, b, "body length")) + 511) / 512 * 512
	}
	return next
}

// checkFirstRecord decodes a record of the test by hand: version, endpoint,
// idempotency key, and one CreateContainer with two arguments.
func checkFirstRecord(t *testing.T, r []byte, seq uint64) {
	t.Helper()
	key := fmt.Sprintf("k%d", seq-1)
	want := append([]byte{1, 0, 1, byte(len(key))}, key...)
	if !bytes.HasPrefix(r, want) || !bytes.Equal(r[len(want)+16:], []byte{1, 1, 3, byte(seq), 1}) {
		t.Errorf("the record of commit %d does not match docs/format.md: %x", seq, r)
	}
}

// TestFormatDocumentRecord checks the example of the document, and the numbers
// of the operations.
func TestFormatDocumentRecord(t *testing.T) {
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	example := codeBlocks("json").FindStringSubmatch(doc)
	if example == nil {
		t.Fatal("docs/format.md has no example")
	}
	var tx ledger.Transaction
	if refusal := ledger.ParseTransaction([]byte(example[1]), &tx, ledger.ParseLimits{Nesting: ledger.DefaultNesting}); refusal != nil {
		t.Fatal(refusal)
	}
	_, after, _ := strings.Cut(doc, example[0])
	dump, _, _ := strings.Cut(after, "\n## ")
	var want []byte
	for _, line := range regexp.MustCompile(`(?m)^    ((?:[0-9a-f]{2} +)+)`).FindAllStringSubmatch(dump, -1) {
		b, err := hex.DecodeString(strings.ReplaceAll(line[1], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, b...)
	}
	if got := ledger.AppendRecord(nil, &tx, &ledger.Outcome{}); !bytes.Equal(got, want) {
		t.Errorf("the record of the example is\n% x\nbut docs/format.md says\n% x", got, want)
	}
	for _, kind := range ledger.OpKinds() {
		if !strings.Contains(doc, fmt.Sprintf("\n| %d | %s |\n", kind, kind)) {
			t.Errorf("docs/format.md does not give %s the number %d", kind, kind)
		}
	}
}
