package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var testPlace = CheckpointPlace{LogID: [16]byte{1, 2, 3, 15: 16}, Chain: 0xdeadbeef, Time: 1_700_000_000_000_000_000}

func checkpointOf(t testing.TB, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteCheckpoint(&b, testPlace); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func loadCheckpoint(t testing.TB, b []byte, window int) *State {
	t.Helper()
	s, info, err := ReadCheckpoint(bytes.NewReader(b), Config{IdempotencyKeys: window})
	if err != nil {
		t.Fatal(err)
	}
	if info.CheckpointPlace != testPlace {
		t.Fatalf("the place is %+v, want %+v", info.CheckpointPlace, testPlace)
	}
	return s
}

// randomLog returns the records of n accepted transactions. The first has the
// operations of the constant field. The others are random, and some have idempotency
// keys.
func randomLog(t testing.TB, seed uint64, n int) []*Record {
	return randomLogOf(t, seed, n, randomStateOp)
}

func randomLogOf(t testing.TB, seed uint64, n int, randomOp func(*rand.Rand, int64) Op) []*Record {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	s := NewState(Config{})
	var log []*Record
	try := func(tx *Transaction) {
		rec := &Record{Tx: *tx}
		if s.Apply(&rec.Tx, 0, &rec.Out) != nil {
			return
		}
		if r.IntN(3) > 0 {
			rec.Tx.Key = fmt.Appendf(nil, "key-%d", len(log))
			rec.Tx.Hash = [16]byte{byte(len(log)), 7}
			if r.IntN(2) == 0 {
				rec.Tx.Metadata = fmt.Appendf(nil, `{"n":"%s"}`, strings.Repeat("x", r.IntN(300)))
			}
		}
		log = append(log, rec)
	}
	try(asTx(t, field))
	for len(log) < n {
		tx := &Transaction{}
		for range 1 + r.IntN(3) {
			tx.Ops = append(tx.Ops, randomOp(r, s.nextInstance))
		}
		try(tx)
	}
	return log
}

func replayAll(t testing.TB, s *State, log []*Record) {
	t.Helper()
	for _, rec := range log {
		if err := s.Replay(rec, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckpointsAreEqual compares states from a log, from a log with many
// undone transactions in between, and from checkpoints of different ages.
func TestCheckpointsAreEqual(t *testing.T) {
	t.Parallel()
	const window = 200
	for seed := uint64(1); seed <= 4; seed++ {
		log := randomLog(t, seed, 900)
		plain, undone, revived := NewState(Config{window}), NewState(Config{window}), NewState(Config{window})
		r := rand.New(rand.NewPCG(seed, 6))
		for i := range log {
			replayAll(t, plain, log[i:i+1])
			tx := &Transaction{Ops: []Op{randomStateOp(r, undone.nextInstance)}}
			if undone.Apply(tx, 0, &Outcome{}) == nil {
				undone.Undo()
			}
			replayAll(t, undone, log[i:i+1])
			replayAll(t, revived, log[i:i+1])
			if i%97 == 50 {
				revived = loadCheckpoint(t, checkpointOf(t, revived), window)
				check(t, revived)
				same(t, "from a checkpoint", dump(t, plain), dump(t, revived))
			}
		}
		want := checkpointOf(t, plain)
		for name, s := range map[string]*State{"undone": undone, "revived": revived, "loaded": loadCheckpoint(t, want, window)} {
			check(t, s)
			if !bytes.Equal(checkpointOf(t, s), want) {
				t.Errorf("seed %d: the %s state writes a different checkpoint", seed, name)
			}
			for _, rec := range log {
				a, ok1 := plain.Recall(rec.Tx.Key)
				b, ok2 := s.Recall(rec.Tx.Key)
				if ok1 != ok2 || a.Seq != b.Seq || a.Hash != b.Hash || !bytes.Equal(a.Metadata, b.Metadata) {
					t.Fatalf("%s: key %q is remembered as %v %+v, want %v %+v", name, rec.Tx.Key, ok2, b, ok1, a)
				}
			}
		}
	}
}

// TestCheckpointGoesOn loads a checkpoint made before each commit of a log, and replays
// the rest.
func TestCheckpointGoesOn(t *testing.T) {
	t.Parallel()
	log := randomLog(t, 11, 150)
	whole := NewState(Config{1000})
	replayAll(t, whole, log)
	want := checkpointOf(t, whole)
	for n := range log {
		s := NewState(Config{1000})
		replayAll(t, s, log[:n])
		s = loadCheckpoint(t, checkpointOf(t, s), 1000)
		replayAll(t, s, log[n:])
		if !bytes.Equal(checkpointOf(t, s), want) {
			t.Fatalf("after the checkpoint of commit %d was loaded, the rest of the log led to a different state", n)
		}
	}
}

func TestCheckpointGolden(t *testing.T) {
	s := NewState(Config{2})
	replayAll(t, s, randomLogOf(t, 21, 60, part1Op))
	got := checkpointOf(t, s)
	name := filepath.Join("testdata", "checkpoint_v1.golden")
	if *update {
		if err := os.WriteFile(name, []byte(hex.Dump(got)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "against "+name, string(want), hex.Dump(got))
}

func TestCheckpointGolden2(t *testing.T) {
	s := NewState(Config{2})
	replayAll(t, s, randomLog(t, 21, 60))
	golden(t, "checkpoint_v2.golden", hex.Dump(checkpointOf(t, s)))
}

func TestCheckpointManyBlocks(t *testing.T) {
	t.Parallel()
	s := stocked(t, 20, 20_000)
	s.memory.limit = 60_000
	for i := range 80_000 {
		s.Remember(keyed(fmt.Sprint("key", i), i%(2*MaxInlineMetadata)), &Outcome{}, uint64(i%int(s.seq))+1, 1)
	}
	// In a real ledger, the sequence numbers of the remembered keys increase.
	for n := s.memory.oldest; n != s.memory.newest; n++ {
		s.memory.entries.at(s.memory.ref(n)).seq = n - s.memory.oldest + 1
	}
	s.seq = 100_000
	b := checkpointOf(t, s)
	loaded := loadCheckpoint(t, b, 60_000)
	check(t, loaded)
	if !bytes.Equal(checkpointOf(t, loaded), b) {
		t.Error("the loaded state writes different bytes")
	}
	for off, blocks := checkpointHeader, 0; ; blocks++ {
		n := int(binary.LittleEndian.Uint32(b[off+4:]))
		if n == 0 {
			if blocks < 8 {
				t.Errorf("%d bytes in %d blocks, want at least 8", len(b), blocks)
			}
			break
		}
		if n > maxBlock {
			t.Fatalf("block %d has %d bytes, want at most %d", blocks, n, maxBlock)
		}
		off += checkpointBlock + n
	}
}

func TestCheckpointDamage(t *testing.T) {
	s := NewState(Config{5})
	replayAll(t, s, randomLog(t, 31, 40))
	b := checkpointOf(t, s)
	refused := func(what string, b []byte) {
		t.Helper()
		if s, _, err := ReadCheckpoint(bytes.NewReader(b), Config{5}); err == nil || s != nil {
			t.Fatalf("%s: error %v, state returned: %t; want an error and no state", what, err, s != nil)
		}
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1 << (i % 8)
		refused(fmt.Sprintf("bit %d of byte %d flipped", i%8, i), bad)
		refused(fmt.Sprintf("cut to %d bytes", i), b[:i])
	}
	refused("an extra byte", append(bytes.Clone(b), 0))
	refused("twice", append(bytes.Clone(b), b...))
}

// remade returns a checkpoint with a header that fn has changed. It corrects all
// CRCs.
func remade(t testing.TB, b []byte, fn func(head []byte)) []byte {
	t.Helper()
	le := binary.LittleEndian
	b = bytes.Clone(b)
	fn(b)
	le.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	salt, sums := le.Uint32(b[124:]), uint32(0)
	for off := checkpointHeader; ; {
		n := int(le.Uint32(b[off+4:]))
		if n == 0 {
			le.PutUint32(b[off+16:], sums)
			le.PutUint32(b[off:], blockSum(salt, b[off+4:off+checkpointTrailer]))
			return b
		}
		end := off + checkpointBlock + n
		le.PutUint32(b[off:], blockSum(salt, b[off+4:end]))
		sums = crc32.Update(sums, castagnoli, b[off:off+4])
		off = end
	}
}

func TestCheckpointHeaderLies(t *testing.T) {
	s := NewState(Config{50})
	replayAll(t, s, randomLog(t, 41, 40))
	b := checkpointOf(t, s)
	if _, _, err := ReadCheckpoint(bytes.NewReader(remade(t, b, func([]byte) {})), Config{50}); err != nil {
		t.Fatalf("an unchanged header: %v", err)
	}
	_, _, err := ReadCheckpoint(bytes.NewReader(remade(t, b, func(h []byte) { h[8] = 3 })), Config{50})
	if !errors.Is(err, ErrCheckpointVersion) {
		t.Errorf("version 3: %v, want ErrCheckpointVersion", err)
	}
	_, _, err = ReadCheckpoint(bytes.NewReader(remade(t, b, func(h []byte) { h[48] ^= 1 })), Config{50})
	if !errors.Is(err, errDigest) {
		t.Errorf("a wrong digest: %v, want errDigest", err)
	}
	for at := 32; at < 120; at += 8 {
		if at == 40 || at == 112 { // the caller's time, and the window, which may be larger than needed
			continue
		}
		for _, add := range []uint64{1, ^uint64(0), 1 << 40} {
			_, _, err := ReadCheckpoint(bytes.NewReader(remade(t, b, func(h []byte) {
				binary.LittleEndian.PutUint64(h[at:], binary.LittleEndian.Uint64(h[at:])+add)
			})), Config{50})
			if err == nil {
				t.Errorf("the header was accepted although the word at %d was changed by %d", at, int64(add))
			}
		}
	}
}

func TestCheckpointWindow(t *testing.T) {
	for _, tt := range []struct {
		held, keys, wanted int
		ok                 bool
	}{
		{10, 10, 10, true}, {10, 20, 10, true}, {10, 20, 5, true}, {10, 20, 0, true}, {10, 9, 10, true},
		{10, 9, 1000, true}, {10, 0, 1000, true}, {10, 10, 11, false}, {10, 20, 1000, false},
		{0, 0, 0, true}, {0, 20, 0, true}, {0, 0, 1, false},
	} {
		s := NewState(Config{tt.held})
		for i := range max(tt.keys, 1) {
			tx := asTx(t, fmt.Sprintf("CreateContainer container_id=%d kind=Standard", i+1))
			if i < tt.keys {
				tx.Key = fmt.Appendf(nil, "k%d", i)
			}
			replayAll(t, s, []*Record{{Tx: *tx}})
		}
		loaded, _, err := ReadCheckpoint(bytes.NewReader(checkpointOf(t, s)), Config{tt.wanted})
		if tt.ok != (err == nil) || !tt.ok && !errors.Is(err, ErrCheckpointWindow) {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		for i := range tt.keys {
			if !tt.ok {
				break
			}
			_, found := loaded.Recall(fmt.Appendf(nil, "k%d", i))
			if want := i >= tt.keys-min(tt.wanted, tt.held) || i >= tt.keys-tt.wanted && tt.keys < tt.held; found != want {
				t.Errorf("%+v: key %d is remembered: %t, want %t", tt, i, found, want)
			}
		}
	}
}

// FuzzReadCheckpoint puts fuzzed items into checkpoints with correct CRCs.
// Whatever they are, any state that results must satisfy the invariants.
func FuzzReadCheckpoint(f *testing.F) {
	for seed := uint64(1); seed < 4; seed++ {
		s := NewState(Config{5})
		replayAll(f, s, randomLog(f, seed, 40))
		b := checkpointOf(f, s)
		f.Add(b[checkpointHeader+checkpointBlock:len(b)-checkpointTrailer], b[:checkpointHeader])
	}
	f.Fuzz(func(t *testing.T, items, head []byte) {
		if len(items) == 0 || len(items) > maxBlock || len(head) != checkpointHeader {
			return
		}
		b := make([]byte, checkpointHeader+checkpointBlock, checkpointHeader+checkpointBlock+len(items)+checkpointTrailer)
		copy(b, head)
		copy(b, checkpointMagic)
		le := binary.LittleEndian
		le.PutUint16(b[8:], min(max(le.Uint16(head[8:]), checkpointVersion1), checkpointVersion2))
		le.PutUint16(b[10:], 0)
		le.PutUint32(b[120:], 0)
		le.PutUint32(b[checkpointHeader+4:], uint32(len(items)))
		b = append(b, items...)
		b = append(b, make([]byte, checkpointTrailer)...)
		b[len(b)-checkpointTrailer+8] = 1
		b = remade(t, b, func([]byte) {})
		s, info, err := ReadCheckpoint(bytes.NewReader(b), Config{5})
		if errors.Is(err, errDigest) { // correct the digest in the header
			d := checkpointReader{r: bytes.NewReader(b)}
			d.begin()
			l := newCheckpointLoader(&d, Config{5})
			for kind := d.next(); kind != 0; kind = d.next() {
				l.item(kind)
			}
			l.finish()
			digest := l.s.Digest()
			b = remade(t, b, func(h []byte) { le.PutUint64(h[48:], digest) })
			s, info, err = ReadCheckpoint(bytes.NewReader(b), Config{5})
		}
		if err != nil {
			return
		}
		if err := s.Invariants(); err != nil {
			t.Fatal(err)
		}
		if info.Window != 5 {
			return // the new state's window is different, and so are its bytes
		}
		if again := checkpointOf(t, s); !bytes.Equal(again[checkpointHeader+checkpointBlock:len(again)-checkpointTrailer], items) {
			t.Fatal("the state writes items that differ from those it was loaded from")
		}
	})
}
