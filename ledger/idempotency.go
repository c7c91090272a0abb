package ledger

import "bytes"

// keyMemory remembers the first results of idempotency keys: the newest limit
// of them, first in first out. Entries stand in a ring that grows to the limit
// with use; their keys and metadata stand in one stream of bytes, cut in chunks
// that are freed when no entry lies in them any more.
//
//	ring    oldest … newest          entry n is record n mod limit + 1
//	stream  [chunk][chunk][chunk]    key and metadata of an entry side by side
type keyMemory struct {
	limit          uint64
	oldest, newest uint64 // entry numbers; newest is one past the last
	entries        slab[keyEntry, *keyEntry]
	index          index

	chunks     []*[streamChunk]byte
	firstChunk uint64 // number of chunks[0]
	end        uint64 // position in the stream after the last entry
	spare      *[streamChunk]byte
}

const streamChunk = 1 << 20

// A keyEntry has no pointers, so that millions of them cost the collector nothing.
type keyEntry struct {
	hash        [16]byte
	keyHash     uint64
	seq         uint64
	firstMinted int64
	at          uint64 // of key and metadata in the stream
	batchSeq    uint32
	minted      uint32
	metadataLen uint16
	keyLen      uint8
	endpoint    Endpoint
}

func (e *keyEntry) freeLink() *uint32 { return &e.minted }

// A Remembered is the first result of an idempotency key.
type Remembered struct {
	Endpoint    Endpoint
	Hash        [16]byte
	Seq         uint64
	BatchSeq    uint32
	FirstMinted int64
	Minted      int
	Metadata    []byte // valid until the next change of the state
}

// Remember keeps tx's result under its key, forgetting the oldest when full.
// A key that is remembered already then has the new result. No key: no effect.
// The transaction can't be undone any more.
func (s *State) Remember(tx *Transaction, out *Outcome, seq uint64, batchSeq uint32) {
	m := &s.memory
	if len(tx.Key) == 0 || m.limit == 0 {
		return
	}
	s.undo.open = false
	m.remember(keyEntry{
		hash: tx.Hash, seq: seq, batchSeq: batchSeq, endpoint: tx.Endpoint,
		firstMinted: s.firstMade(tx, out), minted: uint32(out.Minted),
	}, tx.Key, tx.Metadata)
}

// firstMade returns the first instance minted. A registration mints none: once
// classes can have codes, it returns the class, which the same request may then
// not name by its id. Before that, it returns 0, as earlier versions did.
func (s *State) firstMade(tx *Transaction, out *Outcome) int64 {
	if tx.Endpoint != EndpointCommit && s.part2 {
		return tx.Ops[0].Args[0]
	}
	return out.FirstMinted
}

// remember adds an entry, and fills in what says where its bytes are.
func (m *keyMemory) remember(e keyEntry, key, metadata []byte) {
	if m.limit == 0 {
		return
	}
	if m.newest-m.oldest == m.limit {
		m.forgetOldest()
	}
	e.keyHash = placeBytes(key)
	if old := m.find(e.keyHash, key); old != 0 {
		m.index.remove(e.keyHash, old)
	}
	ref := m.ref(m.newest)
	if ref >= m.entries.next {
		m.entries.alloc()
	}
	e.at, e.keyLen, e.metadataLen = m.write(key, metadata), uint8(len(key)), uint16(len(metadata))
	*m.entries.at(ref) = e
	m.index.add(e.keyHash, ref)
	m.newest++
}

// Recall looks a key up.
func (s *State) Recall(key []byte) (Remembered, bool) {
	m := &s.memory
	ref := m.find(placeBytes(key), key)
	if ref == 0 {
		return Remembered{}, false
	}
	e := m.entries.at(ref)
	_, metadata := m.read(e)
	return Remembered{
		Endpoint: e.endpoint, Hash: e.hash, Seq: e.seq, BatchSeq: e.batchSeq,
		FirstMinted: e.firstMinted, Minted: int(e.minted), Metadata: metadata,
	}, true
}

// ref is the record of entry n.
func (m *keyMemory) ref(n uint64) uint32 { return uint32(n%m.limit) + 1 }

// find compares whole keys: equal hashes prove nothing.
func (m *keyMemory) find(hash uint64, key []byte) uint32 {
	for p := m.index.probe(hash); ; {
		ref := p.next()
		if ref == 0 {
			return 0
		}
		if known, _ := m.read(m.entries.at(ref)); bytes.Equal(known, key) {
			return ref
		}
	}
}

// forgetOldest drops an entry, and the chunks before the next one's bytes.
func (m *keyMemory) forgetOldest() {
	ref := m.ref(m.oldest)
	m.index.remove(m.entries.at(ref).keyHash, ref) // not there if a newer entry has its key
	m.oldest++
	live := m.end / streamChunk
	if m.oldest != m.newest {
		live = m.entries.at(m.ref(m.oldest)).at / streamChunk
	}
	for len(m.chunks) > 0 && m.firstChunk < live {
		m.spare = m.chunks[0]
		n := copy(m.chunks, m.chunks[1:])
		m.chunks[n] = nil
		m.chunks = m.chunks[:n]
		m.firstChunk++
	}
}

// write appends key and metadata to the stream, in one chunk.
func (m *keyMemory) write(key, metadata []byte) (at uint64) {
	n := uint64(len(key) + len(metadata))
	if room := streamChunk - m.end%streamChunk; n > room {
		m.end += room
	}
	for m.firstChunk+uint64(len(m.chunks)) <= m.end/streamChunk {
		chunk := m.spare
		if m.spare = nil; chunk == nil {
			chunk = new([streamChunk]byte)
		}
		m.chunks = append(m.chunks, chunk)
	}
	at = m.end
	b := m.chunks[at/streamChunk-m.firstChunk][at%streamChunk:]
	copy(b[copy(b, key):], metadata)
	m.end += n
	return at
}

func (m *keyMemory) read(e *keyEntry) (key, metadata []byte) {
	b := m.chunks[e.at/streamChunk-m.firstChunk][e.at%streamChunk:]
	end := int(e.keyLen) + int(e.metadataLen)
	return b[:e.keyLen:e.keyLen], b[e.keyLen:end:end]
}
