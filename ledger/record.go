package ledger

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A record is an accepted transaction as bytes, the payload of the log:
//
//	u8      version, 1 or 2
//	u8      endpoint
//	u8      flags: 1 key, 2 metadata, 4 principal, 8 minted, 16 reverses, 32 facts
//	key:       u8 length, bytes, 16 bytes of request hash
//	metadata:  uvarint length, bytes (a compact JSON object)
//	principal: u8 length, bytes
//	minted:    uvarint first id, uvarint count
//	reverses:  uvarint global_seq
//	uvarint number of operations, then each:
//	  u8      kind; 0x80: the masks Null and Ref follow; 0x40: a decision follows
//	  uvarint Has
//	  masks:  uvarint Null, uvarint Ref
//	  each argument given and not null, in order: a uvarint; for a string, uvarint length, bytes
//	  decision: u8 1 placed, 2 placed and turned: uvarint x, uvarint y; 3 moved: uvarint quantity
//	    4 assigned: uvarint id
//	    5 renamed: uvarint length, bytes: what each string argument, null or not, replaced,
//	      empty where there was nothing; a newline between two
//
//	facts:     see appendFacts
//
// Version 2 adds the kinds from 20 on, the flags from 16 on, the endpoint reverse,
// the arguments name of CreateContainer and code of RegisterClass, and the
// decisions from 4 on. A record that needs none of them has version 1. Names that stood
// for integers are not in the record. HoldFungible may have expires_at, but never
// expires_in.
//
// A uvarint is unsigned LEB128 (as in encoding/binary), in as few bytes as
// possible. Every transaction has exactly one record and no other bytes decode
// to it. A change of meaning requires a new version.
const (
	recordVersion1 = 1
	recordVersion2 = 2
)

const (
	recordHasKey       = 1
	recordHasMetadata  = 2
	recordHasPrincipal = 4
	recordHasMinted    = 8
	recordHasReverses  = 16
	recordHasFacts     = 32

	recordOpMasks    = 0x80
	recordOpDecision = 0x40

	decisionPlaced   = 1
	decisionTurned   = 2
	decisionMoved    = 3
	decisionAssigned = 4
	decisionRenamed  = 5
)

// AppendRecord appends the record of an accepted transaction. The decisions
// must be in the order of the operations, at most one for each.
func AppendRecord(dst []byte, tx *Transaction, out *Outcome) []byte {
	flags := len(dst) + 2
	dst = append(dst, recordVersion1, byte(tx.Endpoint), 0)
	if len(tx.Key) > 0 {
		dst[flags] |= recordHasKey
		dst = append(dst, byte(len(tx.Key)))
		dst = append(dst, tx.Key...)
		dst = append(dst, tx.Hash[:]...)
	}
	if len(tx.Metadata) > 0 {
		dst[flags] |= recordHasMetadata
		dst = binary.AppendUvarint(dst, uint64(len(tx.Metadata)))
		dst = append(dst, tx.Metadata...)
	}
	if len(tx.Principal) > 0 {
		dst[flags] |= recordHasPrincipal
		dst = append(dst, byte(len(tx.Principal)))
		dst = append(dst, tx.Principal...)
	}
	if out.Minted > 0 {
		dst[flags] |= recordHasMinted
		dst = binary.AppendUvarint(dst, uint64(out.FirstMinted))
		dst = binary.AppendUvarint(dst, uint64(out.Minted))
	}
	if tx.Reverses != 0 {
		dst[flags] |= recordHasReverses
		dst[flags-2] = recordVersion2
		dst = binary.AppendUvarint(dst, tx.Reverses)
	}
	dst = binary.AppendUvarint(dst, uint64(len(tx.Ops)))
	rest := out.Decisions
	for i := range tx.Ops {
		var d *Decision
		if len(rest) > 0 && int(rest[0].Op) == i {
			d, rest = &rest[0], rest[1:]
		}
		if isPart2(&tx.Ops[i], d) {
			dst[flags-2] = recordVersion2
		}
		dst = appendRecordOp(dst, &tx.Ops[i], d, false)
	}
	if len(rest) > 0 {
		panic(fmt.Sprintf("ledger: decision for operation %d is out of order in a transaction of %d", rest[0].Op, len(tx.Ops)))
	}
	if len(out.Facts) > 0 {
		dst[flags] |= recordHasFacts
		dst[flags-2] = recordVersion2
		dst = appendFacts(dst, out.Facts)
	}
	return dst
}

// appendRecordOp appends one operation. d is nil if nothing was decided for it.
// If names is true, as for the request hash, a name is written as it was given, not as
// the integer that it stands for.
func appendRecordOp(dst []byte, op *Op, d *Decision, names bool) []byte {
	kind := byte(op.Kind)
	ref, texts := op.Ref, textArgs[op.Kind]
	if ref != 0 {
		written := mintedArgs[op.Kind]
		if names {
			written |= nameArgs[op.Kind]
		}
		ref &= written
		texts |= ref & nameArgs[op.Kind]
	}
	if op.Null|ref != 0 {
		kind |= recordOpMasks
	}
	if d != nil {
		kind |= recordOpDecision
	}
	dst = append(dst, kind)
	dst = binary.AppendUvarint(dst, uint64(op.Has))
	if op.Null|ref != 0 {
		dst = binary.AppendUvarint(dst, uint64(op.Null))
		dst = binary.AppendUvarint(dst, uint64(ref))
	}
	for given := op.Has &^ op.Null; given != 0; given &= given - 1 {
		i := bits.TrailingZeros16(given)
		if texts&(1<<i) != 0 {
			dst = appendRecordText(dst, op.Text(i))
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(op.Args[i]))
	}
	if d != nil {
		dst = appendDecision(dst, d)
	}
	return dst
}

func appendRecordText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// isPart2 reports whether the operation or its decision needs version 2.
func isPart2(op *Op, d *Decision) bool {
	return op.Kind > RegisterClassShape || op.Has&namingArg[op.Kind] != 0 || d != nil && (d.ID != 0 || d.Renamed)
}

func appendDecision(dst []byte, d *Decision) []byte {
	switch {
	case d.ID != 0:
		return binary.AppendUvarint(append(dst, decisionAssigned), uint64(d.ID))
	case d.Renamed:
		return appendRecordText(append(dst, decisionRenamed), d.Was)
	case !d.Placed:
		dst = append(dst, decisionMoved)
		return binary.AppendUvarint(dst, uint64(d.Quantity))
	}
	form := byte(decisionPlaced)
	if d.Turned {
		form = decisionTurned
	}
	dst = append(dst, form)
	dst = binary.AppendUvarint(dst, uint64(d.X))
	return binary.AppendUvarint(dst, uint64(d.Y))
}
