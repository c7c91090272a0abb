package ledger

import (
	"bytes"
	"cmp"
)

// A nameTable holds the names of containers, or the codes of classes. Containers and
// classes that have none take no memory in it. A label records the owner and the
// first bytes of a name; cells hold the rest. Neither has pointers, so
// millions of names cost the garbage collector nothing.
//
//	byText  ─→ label ─→ cell ─→ cell …
//	byOwner ─→ label
type nameTable struct {
	labels  slab[label, *label]
	cells   slab[cell, *cell]
	byText  index
	byOwner index
}

const (
	labelText = 31
	cellText  = 28
)

type label struct {
	owner uint32 // the container or class
	more  uint32 // first cell
	n     uint8  // length of the name
	text  [labelText]byte
}

type cell struct {
	next uint32
	text [cellText]byte
}

func (r *label) freeLink() *uint32 { return &r.more }
func (r *cell) freeLink() *uint32  { return &r.next }

// nameBuffer has room for any name.
type nameBuffer [MaxContainerName]byte

// text returns the name of a label. The result is a slice of the label or of buf.
func (t *nameTable) text(ref uint32, buf *nameBuffer) []byte {
	r := t.labels.at(ref)
	n := int(r.n)
	if n <= labelText {
		return r.text[:n]
	}
	at := copy(buf[:], r.text[:])
	for c := r.more; at < n; {
		part := t.cells.at(c)
		at += copy(buf[at:n], part.text[:])
		c = part.next
	}
	return buf[:n]
}

// make stores a name without adding it to an index.
func (t *nameTable) make(owner uint32, text []byte) uint32 {
	ref, r := t.labels.alloc()
	r.owner, r.n = owner, uint8(len(text))
	text = text[copy(r.text[:], text):]
	link := &r.more
	for len(text) > 0 {
		next, part := t.cells.alloc()
		text = text[copy(part.text[:], text):]
		*link, link = next, &part.next
	}
	return ref
}

// release frees the records of a name that is in no index.
func (t *nameTable) release(ref uint32) {
	r := t.labels.at(ref)
	c := r.more
	for n := labelText; n < int(r.n); n += cellText {
		next := t.cells.at(c).next
		t.cells.release(c)
		c = next
	}
	t.labels.release(ref)
}

func ownerHash(owner uint32) uint64 { return place2Words(uint64(owner), 2) }

// find returns the label of a name, or 0.
func (t *nameTable) find(text []byte) uint32 {
	var buf nameBuffer
	for p := t.byText.probe(placeBytes(text)); ; {
		ref := p.next()
		if ref == 0 || bytes.Equal(t.text(ref, &buf), text) {
			return ref
		}
	}
}

// of returns the label of a container or class, or 0.
func (t *nameTable) of(owner uint32) uint32 {
	for p := t.byOwner.probe(ownerHash(owner)); ; {
		ref := p.next()
		if ref == 0 || t.labels.at(ref).owner == owner {
			return ref
		}
	}
}

func (t *nameTable) link(ref uint32) {
	var buf nameBuffer
	t.byText.add(placeBytes(t.text(ref, &buf)), ref)
	t.byOwner.add(ownerHash(t.labels.at(ref).owner), ref)
}

func (t *nameTable) unlink(ref uint32) {
	var buf nameBuffer
	t.byText.remove(placeBytes(t.text(ref, &buf)), ref)
	t.byOwner.remove(ownerHash(t.labels.at(ref).owner), ref)
}

// at returns the position of a name in the order of names.
func (t *nameTable) at(text []byte) position {
	var buf nameBuffer
	return func(ref uint32) int { return bytes.Compare(t.text(ref, &buf), text) }
}

// ownedAt returns the position of a name among those of an owner's containers, in
// the order of owner and name.
func (s *State) ownedAt(owner int64, text []byte) position {
	t := &s.names[containerNames]
	at := t.at(text)
	return func(ref uint32) int {
		return cmp.Or(cmp.Compare(s.containers.at(t.labels.at(ref).owner).owner, owner), at(ref))
	}
}
