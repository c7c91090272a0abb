package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func keyed(key string, metadata int) *Transaction {
	return &Transaction{Key: []byte(key), Metadata: bytes.Repeat([]byte{'m'}, metadata), Hash: [16]byte{byte(len(key))}, Endpoint: EndpointRegisterShape}
}

func TestRemembersTheNewestKeys(t *testing.T) {
	const limit = 100
	s := NewState(Config{IdempotencyKeys: limit})
	name := func(i int) string { return fmt.Sprintf("key-%d%s", i, strings.Repeat("x", i%200)) }
	// Enough metadata for the stream to run through many chunks.
	for i := range 1000 {
		s.Remember(keyed(name(i), i%MaxMetadata*17%MaxMetadata), &Outcome{FirstMinted: int64(i), Minted: i % 3}, uint64(i+1), uint32(i))
		if i%37 != 0 {
			continue
		}
		for j := range i + 10 {
			got, ok := s.Recall([]byte(name(j)))
			if ok != (j <= i && j > i-limit) {
				t.Fatalf("after %d: key %d remembered: %v", i, j, ok)
			}
			tx := keyed(name(j), j%MaxMetadata*17%MaxMetadata)
			want := Remembered{EndpointRegisterShape, tx.Hash, uint64(j + 1), uint32(j), int64(j), j % 3, tx.Metadata}
			if ok && !reflect.DeepEqual(want, got) {
				t.Fatalf("after %d: key %d remembered as commit %d with %d bytes, want %d with %d",
					i, j, got.Seq, len(got.Metadata), want.Seq, len(want.Metadata))
			}
		}
	}
	if n := len(s.memory.chunks); n > 4 {
		t.Errorf("%d MiB for 100 keys of at most 17 KB", n)
	}
	if n := s.memory.entries.live(); n != limit {
		t.Errorf("%d entries for %d keys", n, limit)
	}
	if n := s.memory.index.len(); n != limit {
		t.Errorf("%d keys in the index, want %d", n, limit)
	}
}

func TestRememberedTwice(t *testing.T) {
	s := NewState(Config{IdempotencyKeys: 3})
	for seq, key := range []string{"a", "b", "a", "c"} { // the first a is forgotten with the fourth
		s.Remember(keyed(key, 5), &Outcome{}, uint64(seq), 0)
	}
	for key, seq := range map[string]uint64{"a": 2, "b": 1, "c": 3} {
		if got, ok := s.Recall([]byte(key)); !ok || got.Seq != seq {
			t.Errorf("%s: %v, seq %d, want %d", key, ok, got.Seq, seq)
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
		t.Error("remembered with a limit of 0")
	}
	s := NewState(Config{IdempotencyKeys: 5})
	s.Remember(&Transaction{}, &Outcome{}, 1, 1)
	if _, ok := s.Recall(nil); ok || s.memory.newest != 0 {
		t.Error("remembered without a key")
	}
}

// TestSameHashOtherKey puts a key under the hash of another.
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
		t.Errorf("recalled %v %+v", ok, got)
	}
}

func TestReplayFindsDivergence(t *testing.T) {
	mint := "MintInstance class_id=3 container_id=6"
	tests := []struct {
		name, ops string
		out       Outcome
		what      string
	}{
		{"refused", "BurnInstance instance_id=99", Outcome{}, "refused: InstanceNotFound"},
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
				t.Error("the key is remembered")
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
	mustPanic("after a refusal", s)
	accept(t, s, "MintInstance class_id=3")
	s.Remember(keyed("a", 0), &Outcome{}, s.Seq(), 1)
	mustPanic("remembered", s)
}
