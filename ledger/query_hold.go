package ledger

// Reads of holds, and the transaction that releases those that have expired.

// Holds appends up to limit holds of the container, ordered by id. The argument after is
// the last id already read, or 0; the page starts with the next one. The result more
// reports whether there are others. Errors: ContainerNotFound, WrongContainerKind for
// Slots.
func (s *State) Holds(dst []HoldInfo, container, after int64, limit int) (out []HoldInfo, more bool, err *Error) {
	cref := s.findContainer(container)
	if cref == 0 {
		return dst, false, containerNotFound(container)
	}
	if err := s.wantStacks(s.containers.at(cref)); err != nil {
		return dst, false, err
	}
	treeWalk(holdsByContainer{s}, s.holdTree, rank{container, after}, func(ref uint32) bool {
		if s.holderOf(ref).id != container {
			return false
		}
		if limit <= 0 {
			more = true
			return false
		}
		limit--
		dst = append(dst, s.holdInfo(ref))
		return true
	})
	return dst, more, nil
}

// Hold returns a hold. Error: HoldNotFound.
func (s *State) Hold(id int64) (HoldInfo, *Error) {
	ref := s.findHold(id)
	if ref == 0 {
		return HoldInfo{}, holdNotFound(id)
	}
	return s.holdInfo(ref), nil
}

// MayReadHold returns nil if the hold exists in a container of one of the owners, which
// must be sorted. Error: Forbidden.
func (s *State) MayReadHold(id int64, owners []int64) *Error {
	p := Permit{Owners: owners}
	if ref := s.findHold(id); ref == 0 || !p.allows(s.holderOf(ref).owner) {
		return holdForbidden(id)
	}
	return nil
}

func (s *State) holdInfo(ref uint32) HoldInfo {
	h := s.holds.at(ref)
	r := s.stacks.at(h.stack)
	info := HoldInfo{
		ID: h.id, ContainerID: s.containers.at(r.container).id, ClassID: s.classes.at(r.class).id,
		Key: r.key, Quantity: h.quantity, HeldSeq: h.seq,
	}
	if h.expires != never {
		info.ExpiresAt = h.expires
	}
	return info
}

// AppendHold appends a hold as reads show it, {"hold_id","container_id",
// "class_id","key","quantity","held_seq","expires_at"}. The list of a container's
// holds omits container_id, and a hold that never expires omits expires_at.
func AppendHold(dst []byte, h HoldInfo, withContainer bool) []byte {
	dst = appendIntField(dst, `{"hold_id":`, h.ID)
	if withContainer {
		dst = appendIntField(dst, `,"container_id":`, h.ContainerID)
	}
	dst = appendIntField(dst, `,"class_id":`, h.ClassID)
	dst = appendIntField(dst, `,"key":`, h.Key)
	dst = appendIntField(dst, `,"quantity":`, h.Quantity)
	dst = appendUintField(dst, `,"held_seq":`, h.HeldSeq)
	if h.ExpiresAt != 0 {
		dst = append(dst, `,"expires_at":"`...)
		dst = append(appendTime(dst, h.ExpiresAt), '"')
	}
	return append(dst, '}')
}

// PrincipalLedger is the principal of the commits that the ledger makes itself.
const PrincipalLedger = "ledger"

// NextExpiry returns the Unix second at which the next hold expires; ok is false if
// none ever does.
func (s *State) NextExpiry() (at int64, ok bool) {
	ref := treeNext(holdsByExpiry{s}, s.dueTree, lowest)
	if ref == 0 {
		return 0, false
	}
	return s.holds.at(ref).expires, true
}

// Expire makes tx the transaction that releases holds that have expired, ordered by
// expiry, then id. The argument now is the current time in Unix nanoseconds, and most is
// the maximum number of holds to release. If no hold has expired, Expire returns false,
// and tx must not be used.
func (s *State) Expire(now int64, most int, tx *Transaction) bool {
	tx.reset(EndpointCommit)
	ops := tx.scratch.ops[:0]
	treeWalk(holdsByExpiry{s}, s.dueTree, lowest, func(ref uint32) bool {
		h := s.holds.at(ref)
		if h.expires > now/second || len(ops) == most {
			return false
		}
		ops = append(ops, Op{Kind: ReleaseHold, Has: 1 << HoldID, Args: [MaxArgs]int64{HoldID: h.id}})
		return true
	})
	tx.scratch.ops, tx.Ops = ops, ops
	tx.SetSender([]byte(PrincipalLedger), nil)
	return len(ops) > 0
}
