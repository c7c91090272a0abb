package ledger

import (
	"encoding/binary"
	"math"
)

// A Fact records something that an operation found and that its reversal needs: where
// something was in a Grid before, what was moved, or the parent that an instance was
// detached from. Clients never see a Fact.
type Fact struct {
	Op     int32 // index of the operation
	Form   FactForm
	X, Y   uint16 // FactStood, FactMovedInstance, FactMovedStack: the place before
	Turned bool   // rotation 90 there
	A, B   int64  // see FactForm
}

// FactForm says what a Fact contains. The numbers are written to the log.
type FactForm uint8

const (
	FactStood         FactForm = 1 // a stack or instance left a Grid
	FactStays         FactForm = 2 // part of a stack in a Grid was taken, and the rest stays where it is
	FactInstance      FactForm = 3 // A: the instance taken out of a slot, or the parent of a detached instance
	FactSwapped       FactForm = 4 // A, B: the instances that are now in slot_a and slot_b, 0 for none
	FactMovedInstance FactForm = 5 // A: the instance moved in a Grid
	FactMovedStack    FactForm = 6 // A, B: class_id and key of the stack moved in a Grid
)

// factForms has the possible forms of each operation's facts, as bits.
var factForms = [NumOpKinds]uint8{
	RemoveFungible: 1<<FactStood | 1<<FactStays, TransferFungible: 1<<FactStood | 1<<FactStays, SplitStack: 1<<FactStood | 1<<FactStays,
	MergeStacks: 1 << FactStood, RemoveFromGrid: 1 << FactStood,
	Detach: 1 << FactInstance, RemoveFromSlot: 1 << FactInstance, SwapSlots: 1 << FactSwapped,
	MoveInGrid: 1<<FactMovedInstance | 1<<FactMovedStack,
}

func (f FactForm) hasPlace() bool {
	return f == FactStood || f == FactMovedInstance || f == FactMovedStack
}

// numbers returns how many of A and B a fact of the form has.
func (f FactForm) numbers() int {
	switch f {
	case FactInstance, FactMovedInstance:
		return 1
	case FactSwapped, FactMovedStack:
		return 2
	}
	return 0
}

// note records a fact of the current operation.
func (s *State) note(f Fact) {
	f.Op = s.doing.op
	s.doing.out.Facts = append(s.doing.out.Facts, f)
}

// notePlace records a fact with the place of a rectangle.
func (s *State) notePlace(form FactForm, place uint32, a, b int64) {
	p := s.placements.at(place)
	s.note(Fact{Form: form, X: p.x, Y: p.y, Turned: p.turned, A: a, B: b})
}

// noteSource records whether a stack in a Grid leaves its place when q is taken
// from it, and which place that is.
func (s *State) noteSource(ref uint32, q int64) {
	switch r := s.stacks.at(ref); {
	case r.place == 0:
	case r.quantity == q:
		s.notePlace(FactStood, r.place, 0, 0)
	default:
		s.note(Fact{Form: FactStays})
	}
}

// appendFacts appends the facts of a record: uvarint count, and for each fact:
// uvarint index of the operation, u8 form, uvarint x and uvarint y*2+turned if
// the form has a place, and uvarint A and B if the form has them.
func appendFacts(dst []byte, facts []Fact) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(facts)))
	for i := range facts {
		f := &facts[i]
		dst = binary.AppendUvarint(dst, uint64(f.Op))
		dst = append(dst, byte(f.Form))
		if f.Form.hasPlace() {
			dst = binary.AppendUvarint(dst, uint64(f.X))
			y := uint64(f.Y) << 1
			if f.Turned {
				y |= 1
			}
			dst = binary.AppendUvarint(dst, y)
		}
		for i, v := range [...]int64{f.A, f.B} {
			if i < f.Form.numbers() {
				dst = binary.AppendUvarint(dst, uint64(v))
			}
		}
	}
	return dst
}

// facts reads what appendFacts wrote: at most one fact for each operation.
func (d *recordDecoder) facts(r *Record) {
	n := d.uvarint(uint64(len(r.Tx.Ops)), "number of facts")
	if n == 0 {
		d.fail("no facts, though the flags announce some")
	}
	last := int32(-1)
	for ; n > 0 && d.err == nil; n-- {
		f := Fact{Op: int32(d.uvarint(uint64(len(r.Tx.Ops)-1), "index of an operation")), Form: FactForm(d.byte())}
		if kind := r.Tx.Ops[f.Op].Kind; f.Op <= last || f.Form > FactMovedStack || factForms[kind]&(1<<f.Form) == 0 {
			d.fail("a fact of form %d about operation %d, %s, is out of order, or has a form that the operation can't have", f.Form, f.Op, kind)
			return
		}
		last = f.Op
		if f.Form.hasPlace() {
			f.X = uint16(d.uvarint(MaxSide-1, "x"))
			y := d.uvarint(MaxSide<<1-1, "y")
			f.Y, f.Turned = uint16(y>>1), y&1 != 0
		}
		for i, v := range [...]*int64{&f.A, &f.B} {
			if i < f.Form.numbers() {
				*v = int64(d.uvarint(math.MaxInt64, "number of a fact"))
			}
		}
		r.Out.Facts = append(r.Out.Facts, f)
	}
}
