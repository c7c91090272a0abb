package ledger

import "unsafe"

// A slab keeps records of one type in chunks that never move. A uint32 names a
// record for as long as it exists; number 0 is no record. Growing the slab
// allocates one more chunk and copies only the list of chunks.
//
//	chunks → [4096 records] [4096 records] …
//	free   → record → record → … → 0        (through the records themselves)
type slab[T any, P record[T]] struct {
	chunks []*[chunkLen]T
	free   uint32 // first of the list of freed records
	next   uint32 // lowest number never used; 0 before the first
}

// record is a pointer to T that lends one of its words to the list of freed records.
type record[T any] interface {
	*T
	freeLink() *uint32
}

const (
	chunkBits = 12
	chunkLen  = 1 << chunkBits
)

// at returns the record named ref. The pointer is valid until the record is released.
// With many chunks, indexing the chunk would cost one more cache miss, because Go
// checks a pointer to a large array by reading its first byte.
func (s *slab[T, P]) at(ref uint32) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(s.chunks[ref>>chunkBits]), uintptr(ref&(chunkLen-1))*unsafe.Sizeof(*new(T))))
}

// alloc returns a zero record.
func (s *slab[T, P]) alloc() (uint32, *T) {
	if ref := s.free; ref != 0 {
		r := s.at(ref)
		s.free = *P(r).freeLink()
		var zero T
		*r = zero
		return ref, r
	}
	if s.next == 0 {
		s.next = 1
	}
	ref := s.next
	if ref == ^uint32(0) {
		panic("ledger: more than 2^32-2 records of one type")
	}
	if int(ref>>chunkBits) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkLen]T))
	}
	s.next++
	return ref, s.at(ref)
}

// empty releases all records, and keeps the memory of the first chunk for reuse.
func (s *slab[T, P]) empty() {
	if len(s.chunks) > 0 {
		clear(s.chunks[0][:min(int(s.next), chunkLen)])
		s.chunks = s.chunks[:1:1]
	}
	s.next, s.free = 0, 0
}

// release releases a record, to which nothing may refer any more.
func (s *slab[T, P]) release(ref uint32) {
	r := s.at(ref)
	var zero T
	*r = zero
	*P(r).freeLink() = s.free
	s.free = ref
}

// live returns the number of records in use, by walking the list of free ones.
func (s *slab[T, P]) live() int {
	n := int(max(s.next, 1)) - 1
	for ref := s.free; ref != 0; ref = *P(s.at(ref)).freeLink() {
		n--
	}
	return n
}
