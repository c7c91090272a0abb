package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

func keyed(key string, metadata int) *Transaction {
	return &Transaction{Key: []byte(key), Metadata: bytes.Repeat([]byte{'m'}, metadata), Hash: [16]byte{byte(len(key))}, Endpoint: EndpointRegisterShape}
}

func TestRemembersTheNewestKeys(t *testing.T) {
	const limit = 100
	s := NewState(Config{IdempotencyKeys: limit})
	name := func(i int) string { return fmt.Sprintf("key-%d%s", i, strings.Repeat("x", i%200)) }
	for i := range 1000 {
		s.Remember(keyed(name(i), i%MaxMetadata*17%MaxMetadata), &Outcome{FirstMinted: int64(i), Minted: i % 3}, uint64(i+1), uint32(i))
		if i%37 != 0 {
			continue
		}
		for j := range i + 10 {
			got, ok := s.Recall([]byte(name(j)))
			if ok != (j <= i && j > i-limit) {
				t.Fatalf("after %d: key %d is remembered: %t, want %t", i, j, ok, !ok)
			}
			tx := keyed(name(j), j%MaxMetadata*17%MaxMetadata)
			want := Remembered{Endpoint: EndpointRegisterShape, Hash: tx.Hash, Seq: uint64(j + 1), BatchSeq: uint32(j),
				FirstMinted: int64(j), Minted: j % 3, Metadata: tx.Metadata}
			if len(tx.Metadata) > MaxInlineMetadata {
				want.Metadata, want.Long, want.Spelling = nil, true, SpellingOf(tx.Metadata)
			}
			if ok && !reflect.DeepEqual(want, got) {
				t.Fatalf("after %d: key %d is remembered as commit %d with %d bytes, want %d with %d",
					i, j, got.Seq, len(got.Metadata), want.Seq, len(want.Metadata))
			}
		}
	}
	if n := len(s.memory.chunks); n > 2 {
		t.Errorf("%d MiB for 100 keys of at most 500 bytes, want at most 2", n)
	}
	if n := s.memory.entries.live(); n != limit {
		t.Errorf("%d entries, want %d", n, limit)
	}
	if n := s.memory.index.len(); n != limit {
		t.Errorf("%d keys in the index, want %d", n, limit)
	}
}

// TestMemoryOfKeysIsBounded checks the formula of docs/ops.md: 84 bytes for
// each idempotency key, the key itself, and its metadata if that has at most 256 bytes,
// otherwise 16 bytes.
func TestMemoryOfKeysIsBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short: it measures memory")
	}
	const n = 30_000
	for _, c := range []struct{ metadata, kept int }{{0, 0}, {256, 256}, {257, 16}, {MaxMetadata, 16}} {
		s := NewState(Config{IdempotencyKeys: n})
		for i := range n + n/3 {
			tx := keyed(fmt.Sprintf("%-36d", i), 0)
			tx.Metadata = bytes.Repeat([]byte{'m'}, c.metadata)
			if i%1000 != 0 && c.metadata > 1000 { // hashing 16 KiB is slow
				tx.Metadata = tx.Metadata[:1000]
			}
			s.Remember(tx, &Outcome{}, uint64(i+1), 1)
		}
		m := &s.memory
		bytes := len(m.chunks)*streamChunk + int(m.entries.next)*int(unsafe.Sizeof(keyEntry{}))
		for i := range m.index.shards {
			bytes += 8 * len(m.index.shards[i].slots)
		}
		if most := n*(84+36+c.kept) + 2*streamChunk; bytes > most {
			t.Errorf("%d bytes of metadata: %d bytes for %d keys, want at most %d", c.metadata, bytes, n, most)
		}
		if long := c.metadata > MaxInlineMetadata; (m.long == n) != long || (m.long == 0) == long {
			t.Errorf("%d bytes of metadata: %d of %d are long, want all: %t", c.metadata, m.long, n, long)
		}
	}
}

// TestLongMetadataFromAnOldCheckpoint loads idempotency keys as version 1 stores them.
func TestLongMetadataFromAnOldCheckpoint(t *testing.T) {
	s := NewState(Config{IdempotencyKeys: 9})
	for i, n := range []int{10, 256, 257, MaxMetadata} {
		tx := asTx(t, fmt.Sprintf("CreateContainer container_id=%d kind=Standard", i+1))
		tx.Key, tx.Metadata = fmt.Appendf(nil, "k%d", i), bytes.Repeat([]byte{'m'}, n)
		replayAll(t, s, []*Record{{Tx: *tx}})
	}
	want := checkpointOf(t, s)
	var old bytes.Buffer
	s.memory = keyMemory{limit: 9}
	info := s.checkpointInfo(testPlace)
	info.Keys = 4
	e := checkpointEncoder{s: s, w: &old, buf: make([]byte, checkpointBlock, checkpointBlock+maxBlock)}
	head := info.marshal()
	e.salt = binary.LittleEndian.Uint32(head[checkpointHeader-4:])
	old.Write(head)
	e.classes()
	e.containers()
	for i, n := range []int{10, 256, 257, MaxMetadata} {
		e.item(itemKey)
		e.numbers(uint64(i+1), 1, 0)
		e.buf = append(e.buf, make([]byte, 16)...)
		e.numbers(0, 0)
		e.text(fmt.Appendf(nil, "k%d", i))
		e.text(bytes.Repeat([]byte{'m'}, n))
	}
	e.flush()
	e.trailer()
	if old.Bytes()[8] != checkpointVersion1 || want[8] != checkpointVersion2 {
		t.Fatalf("the checkpoints have versions %d and %d, want 1 and 2", old.Bytes()[8], want[8])
	}
	if !bytes.Equal(checkpointOf(t, loadCheckpoint(t, old.Bytes(), 9)), want) {
		t.Error("a state from an old checkpoint does not write the same checkpoint as one from the log")
	}
	if got := checkpointOf(t, loadCheckpoint(t, want, 2)); got[8] != checkpointVersion2 {
		t.Errorf("a checkpoint of two keys with long metadata has version %d, want 2", got[8])
	}
}

func TestRememberedTwice(t *testing.T) {
	s := NewState(Config{IdempotencyKeys: 3})
	for seq, key := range []string{"a", "b", "a", "c"} { // the first a is forgotten when the fourth key is added
		s.Remember(keyed(key, 5), &Outcome{}, uint64(seq), 0)
	}
	for key, seq := range map[string]uint64{"a": 2, "b": 1, "c": 3} {
		if got, ok := s.Recall([]byte(key)); !ok || got.Seq != seq {
			t.Errorf("%s is remembered: %t, as commit %d, want %d", key, ok, got.Seq, seq)
		}
	}
	s.Remember(keyed("d", 5), &Outcome{}, 9, 0)
	if _, ok := s.Recall([]byte("b")); ok {
		t.Error("b is remembered beyond the limit")
	}
}

func TestRemembersNothing(t *testing.T) {
	none := NewState(Config{})
	none.Remember(keyed("a", 0), &Outcome{}, 1, 1)
	if _, ok := none.Recall([]byte("a")); ok {
		t.Error("a key was remembered although the limit is 0")
	}
	s := NewState(Config{IdempotencyKeys: 5})
	s.Remember(&Transaction{}, &Outcome{}, 1, 1)
	if _, ok := s.Recall(nil); ok || s.memory.newest != 0 {
		t.Error("a transaction without a key was remembered")
	}
}

// TestSameHashOtherKey stores an idempotency key under the hash of another one.
func TestSameHashOtherKey(t *testing.T) {
	s := NewState(Config{IdempotencyKeys: 5})
	s.Remember(keyed("a", 0), &Outcome{}, 1, 1)
	s.memory.index.add(placeBytes([]byte("b")), 1)
	if _, ok := s.Recall([]byte("b")); ok {
		t.Error("equal hashes pass for equal keys")
	}
}

func TestReplayRemembers(t *testing.T) {
	s := newWorld(t)
	tx := asTx(t, "MintInstance class_id=3 container_id=6")
	tx.Key = []byte("k")
	rec := &Record{Tx: *tx, Out: Outcome{FirstMinted: 8, Minted: 1, Decisions: []Decision{{Placed: true}}}}
	if err := s.Replay(rec, 0, 4); err != nil {
		t.Fatal(err)
	}
	expect(t, "seq", uint64(2), s.Seq())
	got, ok := s.Recall([]byte("k"))
	if !ok || got.Seq != 2 || got.BatchSeq != 4 || got.FirstMinted != 8 || got.Minted != 1 {
		t.Errorf("recalled: %t, %+v; want commit 2, the fourth of its batch, with instance 8 minted", ok, got)
	}
}

func TestReplayFindsDivergence(t *testing.T) {
	mint := "MintInstance class_id=3 container_id=6"
	tests := []struct {
		name, ops string
		out       Outcome
		what      string
	}{
		{"refused", "BurnInstance instance_id=99", Outcome{}, "rejected: InstanceNotFound"},
		{"minted", mint, Outcome{FirstMinted: 9, Minted: 1, Decisions: []Decision{{Placed: true}}}, "mints 1 instances from 8; the record says 1 from 9"},
		{"count", mint, Outcome{FirstMinted: 8, Minted: 2, Decisions: []Decision{{Placed: true}}}, "the record says 2 from 8"},
		{"place", mint, Outcome{FirstMinted: 8, Minted: 1, Decisions: []Decision{{Placed: true, X: 1}}}, "decision 0"},
		{"no decision", mint, Outcome{FirstMinted: 8, Minted: 1}, "makes 1 decisions; the record has 0"},
		{"quantity", "ConsolidateStacks container_id=1 class_id=1", Outcome{Decisions: []Decision{{Quantity: 51}}}, "decision 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newWorld(t)
			before := dump(t, s)
			tx := asTx(t, tt.ops)
			tx.Key = []byte("k")
			err := s.Replay(&Record{Tx: *tx, Out: tt.out}, 0, 1)
			var divergence *DivergenceError
			if !errors.As(err, &divergence) || divergence.Seq != 2 || !strings.Contains(err.Error(), tt.what) {
				t.Fatalf("got %v, want %q at 2", err, tt.what)
			}
			check(t, s)
			same(t, "after a divergence", before, dump(t, s))
			if _, ok := s.Recall(tx.Key); ok {
				t.Error("the key of the diverging record is remembered")
			}
		})
	}
}

func TestUndoIsOnlyForTheLastAccepted(t *testing.T) {
	mustPanic := func(name string, s *State) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: Undo did not panic", name)
			}
		}()
		s.Undo()
	}
	mustPanic("new", NewState(Config{}))
	s := newWorld(t)
	s.Undo()
	mustPanic("twice", s)
	accept(t, s, world)
	refuse(t, s, "BurnInstance instance_id=99")
	mustPanic("after a rejection", s)
	accept(t, s, "MintInstance class_id=3")
	s.Remember(keyed("a", 0), &Outcome{}, s.Seq(), 1)
	mustPanic("remembered", s)
}
