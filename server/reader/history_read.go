package reader

import (
	"math"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/reader/history"
)

// maxExamined is the maximum number of entries that a page examines. If few entries
// match the filters, the page ends there with a cursor for the next page.
const maxExamined = 250_000

// historyStride is the number of entries that a page examines before it checks
// again whether it may continue.
const historyStride = 8192

var readHistory = endpoint{
	pattern: "/v1/read/container/{id}/history", reach: reachesContainer, id: "id", by: byContainerName,
	params: paramsOfList | paramClassID | paramKey | paramsOfHistory | paramOrder, list: listHistory, element: 448,
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		r.past = pastReading{}
		v, err := r.daemon.tail.index.View(r.id)
		if err != nil {
			return r.daemon.noHistory(err)
		}
		r.past.view = v
		if c, err := s.Container(r.id); err == nil {
			r.past.there = true
			if r.Who.Limited() {
				r.past.since = c.CreatedSeq
			}
		}
		return nil
	},
	render: (*reading).renderHistory,
}

// A pastReading is the state of a read of history while its page is being made.
type pastReading struct {
	view  *history.View
	there bool // the container exists now
	// since is the commit that created the current container, and sinceOp the index
	// of the operation in it. They are set if the client may see only that
	// container's life, and not those of earlier containers with the same id.
	// Without this limit, since is 0.
	since   uint64
	sinceOp int32

	lowest   uint64 // first commit whose entries may be shown: it is not archived, and the index does not begin after it
	from, to uint64
	seq      uint64 // commit of the previous entry, in the order of the page
	passed   int64  // entries of commit seq that were passed, on this page and earlier ones
	examined int
	timeOf   uint64
	time     int64
}

// renderHistory appends a page of entries. Errors: CommitArchived if the first
// entry of the page was archived, and those of historyBounds and noHistory.
func (r *reading) renderHistory(dst []byte) ([]byte, *ledger.Error) {
	h := &r.past
	if err := r.historyBounds(); err != nil {
		return dst, err
	}
	dst = httpserver.AppendInt(dst, `{"data":{"container_id":`, r.id)
	dst = append(dst, `,"entries":[`...)
	shown, start := 0, len(dst)
	var refusal *ledger.Error
	r.more = false
	place := cursor{A: int64(h.seq), B: h.passed}
	turn := r.daemon.pasts.turn(r)
	defer turn.end()
	take := func(e *history.Entry) bool {
		if h.examined%historyStride == historyStride-1 {
			if err := turn.more(0); err != nil {
				refusal = r.daemon.noHistory(err)
				return false
			}
		}
		if r.params.Newest && e.Seq < h.from || !r.params.Newest && e.Seq > h.to {
			return false
		}
		if !h.passes(e, r.params.Cursor) {
			return true
		}
		if e.Seq < h.lowest {
			if shown > 0 {
				r.more = true
			} else {
				refusal = archived(e.Seq, h.lowest)
			}
			return false
		}
		if shown == r.params.Limit || h.examined > maxExamined || len(dst)-start > maxPageBytes {
			r.more = true
			return false
		}
		place = cursor{A: int64(h.seq), B: h.passed}
		if !r.wantsEntry(e) {
			return true
		}
		var bad error
		if h.timeOf != e.Seq {
			h.timeOf = e.Seq
			h.time, bad = h.view.Time(e.Seq)
		}
		if refusal = r.daemon.noHistory(bad); refusal != nil {
			return false
		}
		if shown++; shown > 1 {
			dst = append(dst, ',')
		}
		dst = appendEntry(dst, e, h.time, r.params.Payer && !r.Who.Limited())
		return true
	}
	var err error
	if r.params.Newest {
		err = h.view.Newest(h.to, take)
	} else {
		err = h.view.Oldest(h.from, take)
	}
	if refusal == nil {
		refusal = r.daemon.noHistory(err)
	}
	if !r.params.Newest {
		place.B |= oldestFirst
	}
	return append(r.endList(dst, place, listHistory), '}'), refusal
}

// passes counts an entry, and reports whether it is after the cursor and visible to
// the client.
func (h *pastReading) passes(e *history.Entry, after cursor) bool {
	h.examined++
	if e.Seq != h.seq {
		h.seq, h.passed = e.Seq, 0
	}
	h.passed++
	if e.Seq == uint64(after.A) && h.passed <= after.B&^oldestFirst {
		return false
	}
	return e.Seq != h.since || e.Op >= h.sinceOp
}

// historyBounds sets the range of commits from which the page takes entries.
// Errors: CommitArchived (see wantKnown), the error for a container that never
// existed, and those of noHistory and readBack.
func (r *reading) historyBounds() (err *ledger.Error) {
	h, p := &r.past, &r.params
	if !p.has(paramOrder) {
		p.Newest = true
	}
	h.from, h.to = max(1, p.FromSeq, h.since), uint64(math.MaxUint64)
	if p.has(paramToSeq) {
		h.to = p.ToSeq
	}
	bounds := func() error {
		if p.has(paramFromTime) && p.FromTime > math.MinInt64 {
			seq, err := h.view.SeqAt(p.FromTime - 1)
			if err != nil {
				return err
			}
			h.from = max(h.from, seq+1)
		}
		if p.has(paramToTime) {
			seq, err := h.view.SeqAt(p.ToTime)
			if err != nil {
				return err
			}
			h.to = min(h.to, seq)
		}
		if h.since != 0 {
			return h.view.Lives(h.since, func(e *history.Entry) bool {
				if e.Kind == ledger.ContainerCreated {
					h.sinceOp = e.Op
				}
				return e.Kind != ledger.ContainerCreated
			})
		}
		return nil
	}
	if err := r.daemon.noHistory(bounds()); err != nil {
		return err
	}
	if p.has(paramCursor) {
		if p.Newest {
			h.to = min(h.to, uint64(p.Cursor.A))
		} else {
			h.from = max(h.from, uint64(p.Cursor.A))
		}
	}
	first, bad := r.firstCommit()
	if bad != nil {
		return r.daemon.readBack(bad)
	}
	if h.lowest = first; h.view.Base() > 0 {
		h.lowest = max(first, h.view.Base()+1)
	}
	if err := r.wantKnown(); err != nil {
		return err
	}
	return r.wantEver()
}

// wantKnown returns CommitArchived if the index can't tell what happened in the
// requested range. If the index begins with a checkpoint, all that it knows about
// the time before is what existed at that checkpoint. For a container that existed
// then, the oldest entry is its last change up to the checkpoint.
func (r *reading) wantKnown() *ledger.Error {
	h, p := &r.past, &r.params
	if h.view.Base() == 0 || h.from >= h.lowest || h.to >= h.lowest || h.from > h.to && !p.has(paramToTime) {
		return nil
	}
	oldest := uint64(0)
	err := h.view.Oldest(0, func(e *history.Entry) bool {
		oldest = e.Seq
		return false
	})
	if err != nil || oldest >= h.lowest || h.from > oldest { // everything in the range is known
		return r.daemon.noHistory(err)
	}
	return archived(max(h.to, 1), h.lowest)
}

// wantEver returns the error for an unknown container if no container ever had the
// id.
func (r *reading) wantEver() *ledger.Error {
	if r.past.there {
		return nil
	}
	ever := false
	err := r.past.view.Newest(math.MaxUint64, func(*history.Entry) bool {
		ever = true
		return false
	})
	if err != nil || ever {
		return r.daemon.noHistory(err)
	}
	_, missing := ledger.EmptyPast(0).Container(r.id)
	return missing
}

// wantsEntry reports whether an entry matches the filters.
func (r *reading) wantsEntry(e *history.Entry) bool {
	p := &r.params
	isThing := e.Kind <= ledger.InstanceMoved
	switch {
	case e.Kind == ledger.ContainerTouched:
		return false
	case p.has(paramClassID) && (!isThing || e.ClassID != p.ClassID), p.has(paramKey) && (!isThing || e.Key != p.Key):
		return false
	}
	return !p.has(paramInstanceID) || e.InstanceID == p.InstanceID
}

// appendEntry appends an entry of a container's history. at is the time of its
// commit in Unix nanoseconds. If payer is set, the entry shows the payer, if any.
func appendEntry(dst []byte, e *history.Entry, at int64, payer bool) []byte {
	dst = httpserver.AppendUint(dst, `{"global_seq":`, e.Seq)
	dst = append(dst, `,"committed_at":"`...)
	dst = time.Unix(0, at).UTC().AppendFormat(dst, committedAt)
	dst = httpserver.AppendInt(dst, `","operation_index":`, int64(e.Op))
	dst = append(dst, `,"op":"`...)
	dst = append(append(dst, e.OpKind.String()...), '"')
	switch e.Kind {
	case ledger.StackChanged:
		dst = appendThing(dst, e)
		dst = httpserver.AppendInt(dst, `,"change":`, e.Delta)
		dst = httpserver.AppendInt(dst, `,"quantity":`, e.Quantity)
		if e.Placed {
			dst = appendCells(dst, e)
		}
		if payer && e.Payer != 0 {
			dst = httpserver.AppendInt(dst, `,"payer":`, e.Payer)
		}
	case ledger.HeldChanged:
		dst = httpserver.AppendInt(dst, `,"hold_id":`, e.Hold.ID)
		dst = appendThing(dst, e)
		dst = httpserver.AppendInt(dst, `,"held_change":`, e.Delta)
		dst = httpserver.AppendInt(dst, `,"held":`, e.Held)
	case ledger.InstanceIn, ledger.InstanceOut, ledger.InstanceMoved:
		dst = httpserver.AppendInt(dst, `,"instance_id":`, e.InstanceID)
		dst = appendThing(dst, e)
		dst = append(append(append(dst, `,"change":"`...), changeNames[e.Kind]...), '"')
		if e.InGrid {
			dst = appendCells(dst, e)
		} else {
			dst = httpserver.AppendInt(dst, `,"slot_index":`, int64(e.Slot))
		}
	default:
		dst = append(append(append(dst, `,"change":"`...), changeNames[e.Kind]...), '"')
		if e.Kind == ledger.ContainerRenamed && e.Info.Name == "" {
			dst = append(dst, `,"name":null`...)
		} else if e.Kind == ledger.ContainerRenamed {
			dst = ledger.AppendString(append(dst, `,"name":`...), e.Info.Name)
		}
	}
	return append(dst, '}')
}

var changeNames = map[ledger.ChangeKind]string{
	ledger.InstanceIn: "in", ledger.InstanceOut: "out", ledger.InstanceMoved: "moved",
	ledger.ContainerCreated: "created", ledger.ContainerRemoved: "removed", ledger.ContainerRenamed: "renamed",
}

func appendThing(dst []byte, e *history.Entry) []byte {
	dst = httpserver.AppendInt(dst, `,"class_id":`, e.ClassID)
	return httpserver.AppendInt(dst, `,"key":`, e.Key)
}

func appendCells(dst []byte, e *history.Entry) []byte {
	dst = httpserver.AppendInt(dst, `,"x":`, int64(e.X))
	dst = httpserver.AppendInt(dst, `,"y":`, int64(e.Y))
	return httpserver.AppendInt(dst, `,"rotation":`, e.Rotation())
}
