package ledger

import (
	"bytes"
	"crypto/sha256"
)

// keyMemory remembers the first results of the newest idempotency keys, up to a
// limit, first in first out. Entries are in a ring that grows to the limit with
// use. Keys and metadata are in one stream of bytes, cut into chunks that are
// reused or freed when no entry needs them. Metadata longer than MaxInlineMetadata
// is kept as a hash; its text is in the log.
//
//	ring    oldest … newest          entry n is record n mod limit + 1
//	stream  [chunk][chunk][chunk]    key, and metadata or its hash, side by side
type keyMemory struct {
	limit          uint64
	oldest, newest uint64 // entry numbers; newest is one past the last
	entries        slab[keyEntry, *keyEntry]
	index          index

	chunks     []*[streamChunk]byte
	firstChunk uint64 // number of chunks[0]
	end        uint64 // position in the stream after the last entry
	spare      *[streamChunk]byte
	long       uint64 // entries with long metadata
}

const streamChunk = 1 << 20

// MaxInlineMetadata is the maximum size, in bytes, of metadata that is remembered in
// full with its idempotency key.
const MaxInlineMetadata = 256

// A Spelling tells apart equal metadata that is spelled differently. It is the
// first 16 bytes of the SHA-256 of the metadata's bytes.
type Spelling [16]byte

// SpellingOf returns the spelling of metadata.
func SpellingOf(metadata []byte) Spelling {
	sum := sha256.Sum256(metadata)
	return Spelling(sum[:len(Spelling{})])
}

// A keyEntry has no pointers, so millions of them cost the garbage collector
// nothing.
type keyEntry struct {
	hash        [16]byte
	keyHash     uint64
	seq         uint64
	firstMinted int64
	at          uint64 // position of the key, and its metadata or spelling, in the stream
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
	Metadata    []byte // valid until the next change to the state; nil if it is long
	Long        bool   // the metadata must be read from the log, unless that of the request has the same Spelling
	Spelling    Spelling
}

// Remember stores tx's result under its key, and drops the oldest entry when the
// memory is full. A key that is already remembered gets the new result. If tx has no
// key, or the limit is 0, Remember does nothing. Otherwise the transaction can't be
// undone afterwards.
func (s *State) Remember(tx *Transaction, out *Outcome, seq uint64, batchSeq uint32) {
	m := &s.memory
	if len(tx.Key) == 0 || m.limit == 0 {
		return
	}
	s.undo.open = false
	e := keyEntry{
		hash: tx.Hash, seq: seq, batchSeq: batchSeq, endpoint: tx.Endpoint,
		firstMinted: s.firstMade(tx, out), minted: uint32(out.Minted),
	}
	m.rememberAll(e, tx.Key, tx.Metadata)
}

// firstMade returns the id of the first instance minted. A registration mints none: for
// it, firstMade returns the id of the class, because the request need not contain that id.
// If the state has never had a name or code, firstMade returns 0 for a registration, as
// earlier versions did.
func (s *State) firstMade(tx *Transaction, out *Outcome) int64 {
	if (tx.Endpoint == EndpointRegisterClass || tx.Endpoint == EndpointRegisterShape) && s.part2 {
		return tx.Ops[0].Args[0]
	}
	return out.FirstMinted
}

// rememberAll is like remember, but takes the metadata itself, of any length.
func (m *keyMemory) rememberAll(e keyEntry, key, metadata []byte) {
	e.metadataLen = uint16(len(metadata))
	if !e.long() {
		m.remember(e, key, metadata)
		return
	}
	spelling := SpellingOf(metadata)
	m.remember(e, key, spelling[:])
}

// long reports whether the stream holds the spelling instead of the metadata.
func (e *keyEntry) long() bool { return e.metadataLen > MaxInlineMetadata }

// remember adds an entry. kept is its metadata, or the spelling of it.
func (m *keyMemory) remember(e keyEntry, key, kept []byte) {
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
	e.at, e.keyLen = m.write(key, kept), uint8(len(key))
	if e.long() {
		m.long++
	}
	*m.entries.at(ref) = e
	m.index.add(e.keyHash, ref)
	m.newest++
}

// Recall looks up a key.
func (s *State) Recall(key []byte) (Remembered, bool) {
	m := &s.memory
	ref := m.find(placeBytes(key), key)
	if ref == 0 {
		return Remembered{}, false
	}
	e := m.entries.at(ref)
	_, kept := m.read(e)
	r := Remembered{
		Endpoint: e.endpoint, Hash: e.hash, Seq: e.seq, BatchSeq: e.batchSeq,
		FirstMinted: e.firstMinted, Minted: int(e.minted), Long: e.long(),
	}
	if r.Long {
		r.Spelling = Spelling(kept)
	} else {
		r.Metadata = kept
	}
	return r, true
}

// ref returns the record of entry n.
func (m *keyMemory) ref(n uint64) uint32 { return uint32(n%m.limit) + 1 }

// find returns the record of a key, or 0. It compares whole keys, since different keys
// may have equal hashes.
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

// forgetOldest drops the oldest entry, and the chunks that no other entry needs.
func (m *keyMemory) forgetOldest() {
	ref := m.ref(m.oldest)
	e := m.entries.at(ref)
	m.index.remove(e.keyHash, ref) // not there if a newer entry has its key
	if e.long() {
		m.long--
	}
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

// write appends a key and its metadata, or the spelling of it, to the stream, in
// one chunk.
func (m *keyMemory) write(key, kept []byte) (at uint64) {
	n := uint64(len(key) + len(kept))
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
	copy(b[copy(b, key):], kept)
	m.end += n
	return at
}

// read returns a key, and its metadata or the spelling of it.
func (m *keyMemory) read(e *keyEntry) (key, kept []byte) {
	b := m.chunks[e.at/streamChunk-m.firstChunk][e.at%streamChunk:]
	end := int(e.keyLen) + int(e.metadataLen)
	if e.long() {
		end = int(e.keyLen) + len(Spelling{})
	}
	return b[:e.keyLen:e.keyLen], b[e.keyLen:end:end]
}
