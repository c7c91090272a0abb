package ledger

import (
	"crypto/sha256"
	"slices"
)

// A Permit holds the permissions of the sender of a transaction. It is checked inside
// Apply, against the state that each operation finds, so no change can come
// between the check and the operation. It is not part of the record: replaying a
// log only repeats what was done, and checks no permissions.
//
// If a permit has owners, the sender may use containers of these owners, and everything
// in them, directly or through attachments. A container that does not exist and one of
// another owner get the same error, which does not reveal which case it is. An instance
// without a location has no owner. The sender may use it only within the transaction
// that minted it or took it out of a container of these owners. By the end of that
// transaction it must be placed, attached or burned.
type Permit struct {
	Register bool    // the sender may register classes and shapes, and rename classes
	Transfer bool    // the sender may only move and hold what already exists; see moves
	Owners   []int64 // ascending; nil: any container and instance
}

// moves reports whether a sender with Transfer may use an operation. The operation must
// neither create nor destroy anything (no quantity, instance, container, name or class),
// or else be governed by the scope register. An operation that is not listed needs the
// scope commit, so a new operation is forbidden to such senders by default.
func moves(kind OpKind) bool {
	switch kind {
	case TransferFungible, MergeStacks, ConsolidateStacks, SplitStack,
		HoldFungible, SettleHold, ReleaseHold,
		Attach, Detach, PlaceInSlot, RemoveFromSlot, SwapSlots,
		PlaceInGrid, RemoveFromGrid, MoveInGrid:
		return true
	case RegisterClass, RegisterClassShape, RenameClass: // governed by the scope register
		return true
	case RequireBalance, RequireUnchanged, RequireInstance:
		return true
	}
	return false
}

// wantMoves returns an error for an operation that a sender with Transfer may not use.
func wantMoves(op *Op) *Error {
	if moves(op.Kind) {
		return nil
	}
	return Errorf(Forbidden, "This token may only transfer existing units: %s needs the scope commit.", op.Kind).
		With(Text("op", op.Kind.String()), Text("scope", "commit"))
}

// Limited reports whether the sender may only use containers of certain owners.
func (p *Permit) Limited() bool { return p != nil && p.Owners != nil }

// allows reports whether the sender may use containers of the owner. The owner 0 stands
// for containers without an owner.
func (p *Permit) allows(owner int64) bool {
	if !p.Limited() {
		return true
	}
	_, ok := slices.BinarySearch(p.Owners, owner)
	return ok
}

// SetSender sets the name of the transaction's sender and the permissions; a nil p
// permits everything. The name is written to the record. It has at most 255 bytes, and
// is empty without authentication. The idempotency key must be final; it then belongs
// to the sender: the same request from another sender counts as a different one.
func (tx *Transaction) SetSender(name []byte, p *Permit) {
	tx.Principal, tx.permit = name, p
	if len(tx.Key) == 0 || len(name) == 0 {
		return
	}
	var b [len(tx.Hash) + 255]byte
	n := copy(b[:], tx.Hash[:])
	n += copy(b[n:], name)
	sum := sha256.Sum256(b[:n])
	copy(tx.Hash[:], sum[:])
}

// Permit returns what the sender may do; nil permits everything.
func (tx *Transaction) Permit() *Permit { return tx.permit }

// loosened is an instance that the current transaction took out of a place that
// the sender may use, or minted without a location.
type loosened struct {
	ref uint32
	op  int32
}

// loosen records that the operation left an instance without a location.
func (s *State) loosen(ref uint32) {
	if s.doing.limited {
		s.loose = append(s.loose, loosened{ref, s.doing.op})
	}
}

// isLoose reports whether this transaction left the instance without a location.
// It searches the most recent ones first, because they are the most likely.
func (s *State) isLoose(ref uint32) bool {
	for i := len(s.loose) - 1; i >= 0; i-- {
		if s.loose[i].ref == ref {
			return true
		}
	}
	return false
}

// mayUse reports whether the sender of the current transaction may use an instance.
func (s *State) mayUse(ref uint32) bool {
	top := s.topmost(ref)
	r := s.instances.at(top)
	if r.where == Nowhere {
		return s.isLoose(top)
	}
	return s.doing.permit.allows(s.containers.at(r.host).owner)
}

// wantNoneLoose returns an error if an instance is left where no sender limited to
// owners may use it. The operation at fault is the last one that left such an instance.
func (s *State) wantNoneLoose() *Error {
	for i := len(s.loose) - 1; i >= 0; i-- {
		l := s.loose[i]
		r := s.instances.at(l.ref)
		if r.where == Nowhere && s.findInstance(r.id) == l.ref {
			return Errorf(Forbidden, "This token is limited to containers of certain owners, and instance %d would be left outside of them: place or attach it in the same transaction.", r.id).
				With(Num("instance_id", r.id)).At(int(l.op))
		}
	}
	return nil
}

// containerNameForbidden returns the error for a name if the sender may use no
// container of that name.
func containerNameForbidden(name string) *Error {
	return Errorf(Forbidden, "There is no container named %q that this token may use.", name).With(Text("name", name))
}

func containerForbidden(id int64) *Error {
	return Errorf(Forbidden, "There is no container %d that this token may use.", id).With(Num("container_id", id))
}

func instanceForbidden(name string, id int64) *Error {
	return Errorf(Forbidden, "There is no instance %d that this token may use.", id).With(Num(name, id))
}

func holdForbidden(id int64) *Error {
	return Errorf(Forbidden, "There is no hold %d that this token may use.", id).With(Num("hold_id", id))
}

// commitForbidden returns the one error for reversing a commit that concerns
// anything that the sender may not use.
func commitForbidden(seq uint64) *Error {
	return Errorf(Forbidden, "There is no commit %d that this token may reverse.", seq).With(Num("global_seq", int64(seq)))
}

// wantRegister returns an error if the sender may not register classes and shapes, or
// rename classes.
func (s *State) wantRegister(op *Op) *Error {
	if p := s.doing.permit; p == nil || p.Register {
		return nil
	}
	return Errorf(Forbidden, "This token may not register classes or shapes, or rename classes: it needs the scope register.").
		With(op.classDetail(ClassID), Text("scope", "register"))
}
