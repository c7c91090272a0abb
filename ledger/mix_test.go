package ledger

import (
	"bytes"
	"testing"
)

// public is the hash without a secret. If the ledger used it, clients could choose ids
// that collide.
func public(a, b uint64) uint64 { return fold(fold(a^mix1, b^mix2)^mix3, mix4) }

// TestChosenIDsMakeNoDeepTree creates containers with ids that would form a
// list instead of a tree under the public hash.
func TestChosenIDsMakeNoDeepTree(t *testing.T) {
	const n = 500
	s := NewState(Config{})
	id := int64(0)
	for i := range uint64(n) {
		band := ^uint64(0) / n * (n - 1 - i)
		for id++; public(0, uint64(id))-band >= ^uint64(0)/n; id++ {
		}
		mustApply(t, s, op(CreateContainer, id, int64(Standard)))
	}
	var depth func(ref uint32) int
	depth = func(ref uint32) int {
		if ref == 0 {
			return 0
		}
		l := s.containers.at(ref).byID
		return 1 + max(depth(l.left), depth(l.right))
	}
	if d := depth(s.byID); d > 60 {
		t.Errorf("%d chosen ids make a tree of depth %d, want at most 60", n, d)
	}
}

// TestChosenIDsSpread hashes ids that would share a shard and a position under the
// public hash, and idempotency keys that would collide under mixBytes.
func TestChosenIDsSpread(t *testing.T) {
	shards := map[uint64]bool{}
	for id, found := int64(1), 0; found < 64; id++ {
		if h := public(uint64(id), 0); h>>indexShardShift == 7 && h&1023 == 7 {
			shards[containerHash(id)>>indexShardShift] = true
			found++
		}
	}
	if len(shards) < 16 {
		t.Errorf("64 chosen ids are in only %d shards, want at least 16", len(shards))
	}
	keys := map[uint64]bool{}
	var block [8]byte
	for i := range 8 {
		block[i] = byte(uint64(mix2) >> (8 * i)) // after this block, mixBytes would forget everything before it
	}
	for i := range byte(64) {
		keys[placeBytes(append([]byte{'k', 'e', 'y', ' ', ' ', ' ', ' ', i}, append(block[:], "!"...)...))] = true
	}
	if len(keys) < 64 {
		t.Errorf("64 keys have only %d hashes", len(keys))
	}
}

// TestSecretNeverShows creates the same ledger under two secrets.
func TestSecretNeverShows(t *testing.T) {
	defer func(s secretWords) { secret = s }(secret)
	first := checkpointOf(t, newWorld(t))
	secret = newSecret()
	if !bytes.Equal(first, checkpointOf(t, newWorld(t))) {
		t.Error("the bytes of a checkpoint depend on the secret")
	}
}
