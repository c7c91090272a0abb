package reader

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"assetledger/ledger"
)

// A cursor is the place in a list after which the next page begins: the sort key of
// the last returned entry. It is a place and not an entry, so it stays valid when
// the ledger changes. Its text is the base64url encoding, without padding, of
//
//	version 1 | list | first int64 | second int64     (18 bytes, big-endian)
type cursor struct{ A, B int64 }

// A listKind says which list a cursor belongs to. Clients keep cursors across
// restarts and upgrades, so a number must never be changed or reused.
type listKind byte

const (
	noList         listKind = 0
	listBalances   listKind = 1  // class_id, key
	listSlots      listKind = 2  // slot_index
	listGrid       listKind = 3  // y, x
	listClasses    listKind = 4  // class_id
	listContainers listKind = 5  // container_id
	listCommits    listKind = 6  // global_seq, and newestFirst or 0
	listChildren   listKind = 7  // instance_id
	listNamed      listKind = 8  // name: see appendNameCursor
	listHolds      listKind = 9  // hold_id
	listHolders    listKind = 10 // container_id, key
	listInstances  listKind = 11 // instance_id
	listShapes     listKind = 12 // key, or 1 after the null key
	listHistory    listKind = 13 // global_seq, and the number of its entries that were passed, with or without oldestFirst
)

// newestFirst marks cursors of commits that are listed with the newest first.
const newestFirst = 1

// oldestFirst is set in the second number of the cursors of a history that is listed
// with the oldest entry first.
const oldestFirst = 1 << 62

const (
	cursorVersion = 1
	cursorBytes   = 2 + 8 + 8
	cursorChars   = 24 // length of cursorBytes in base64
)

// Strict requires unused bits in the last character to be zero, so that a place has
// only one spelling.
var cursorCoding = base64.RawURLEncoding.Strict()

// append appends the cursor as a client sees it.
func (c cursor) append(dst []byte, list listKind) []byte {
	raw := [cursorBytes]byte{cursorVersion, byte(list)}
	binary.BigEndian.PutUint64(raw[2:], uint64(c.A))
	binary.BigEndian.PutUint64(raw[10:], uint64(c.B))
	return cursorCoding.AppendEncode(dst, raw[:])
}

// parseCursor parses a cursor made by append. ok is false for anything else, even
// for the cursor of another list.
func parseCursor(s string, list listKind) (c cursor, ok bool) {
	if len(s) != cursorChars {
		return c, false
	}
	var raw [cursorBytes]byte
	if n, err := cursorCoding.Decode(raw[:], []byte(s)); err != nil || n != cursorBytes {
		return c, false
	}
	c = cursor{int64(binary.BigEndian.Uint64(raw[2:])), int64(binary.BigEndian.Uint64(raw[10:]))}
	return c, raw[0] == cursorVersion && listKind(raw[1]) == list && c.A >= 0 && c.B >= 0
}

// appendPast appends the cursor for a place in a list as it was after commit seq:
//
//	version 2 | list | first int64 | second int64 | seq     (26 bytes, big-endian)
func (c cursor) appendPast(dst []byte, list listKind, seq uint64) []byte {
	raw := [pastCursorBytes]byte{pastCursorVersion, byte(list)}
	binary.BigEndian.PutUint64(raw[2:], uint64(c.A))
	binary.BigEndian.PutUint64(raw[10:], uint64(c.B))
	binary.BigEndian.PutUint64(raw[18:], seq)
	return cursorCoding.AppendEncode(dst, raw[:])
}

const (
	pastCursorVersion = 2
	pastCursorBytes   = cursorBytes + 8
)

// parsePastCursor parses a cursor made by appendPast. at is seq + 1.
func parsePastCursor(s string, list listKind) (c cursor, at uint64, ok bool) {
	if len(s) != cursorCoding.EncodedLen(pastCursorBytes) {
		return c, 0, false
	}
	var raw [pastCursorBytes]byte
	if n, err := cursorCoding.Decode(raw[:], []byte(s)); err != nil || n != pastCursorBytes {
		return c, 0, false
	}
	c = cursor{int64(binary.BigEndian.Uint64(raw[2:])), int64(binary.BigEndian.Uint64(raw[10:]))}
	seq := binary.BigEndian.Uint64(raw[18:])
	return c, seq + 1, raw[0] == pastCursorVersion && listKind(raw[1]) == list && c.A >= 0 && c.B >= 0 && seq < 1<<63
}

// appendNameCursor appends the cursor for a place in a list ordered by name:
//
//	version 1 | list 8 | name
func appendNameCursor(dst []byte, name string) []byte {
	raw := append([]byte{cursorVersion, byte(listNamed)}, name...)
	return cursorCoding.AppendEncode(dst, raw)
}

// parseNameCursor parses a cursor made by appendNameCursor.
func parseNameCursor(s string) (name string, ok bool) {
	if len(s) > cursorCoding.EncodedLen(2+ledger.MaxContainerName) {
		return "", false
	}
	raw, err := cursorCoding.DecodeString(s)
	if err != nil || len(raw) < 2 || raw[0] != cursorVersion || listKind(raw[1]) != listNamed || strings.ContainsAny(s, "\r\n") {
		return "", false
	}
	return string(raw[2:]), ledger.ValidContainerName(raw[2:])
}
