package modeltest

import (
	"slices"

	"assetledger/ledger"
)

// The rule about owners, written independently of package ledger. A sender limited to
// owners may touch only what is in containers of these owners, directly or through
// attachments, and what the transaction itself has minted or taken out of them. It must
// not leave an instance outside all containers.

// ours reports whether the sender may touch what belongs to the owner; 0 stands for no
// owner.
func (r *run) ours(owner int64) bool {
	return !r.permit.Limited() || slices.Contains(r.permit.Owners, owner)
}

// reaches reports whether the sender may touch a living instance.
func (r *run) reaches(id int64) bool {
	if !r.permit.Limited() {
		return true
	}
	for r.m.instances[id].parent != 0 {
		id = r.m.instances[id].parent
	}
	at := r.m.locate(id)
	if at.Location == ledger.Nowhere {
		_, own := r.freed[id]
		return own
	}
	return r.ours(r.m.containers[at.ContainerID].owner)
}

// free records that the current operation left an instance nowhere.
func (r *run) free(id int64) {
	if r.freed == nil {
		r.freed = map[int64]int{}
	}
	r.freed[id] = r.index
}

// finish checks the transaction as a whole, after its operations.
func (r *run) finish() *Refusal {
	if !r.permit.Limited() {
		return nil
	}
	var last *Refusal
	for id, op := range r.freed {
		if r.m.instances[id] == nil || r.m.locate(id).Location != ledger.Nowhere {
			continue
		}
		if last == nil || op > last.Op {
			last = &Refusal{Code: ledger.Forbidden, Op: op, Kind: r.done.ops[op].Kind, Details: map[string]any{"instance_id": id}}
		}
	}
	return last
}

// mayDo rejects an operation that creates, removes or renames a container, or creates or
// destroys assets, if the sender may only transfer.
func (r *run) mayDo(kind ledger.OpKind) {
	if r.permit == nil || !r.permit.Transfer {
		return
	}
	switch kind {
	case ledger.CreateContainer, ledger.RemoveContainer, ledger.RenameContainer, ledger.AddFungible, ledger.RemoveFungible, ledger.MintInstance, ledger.BurnInstance:
		r.check(false, ledger.Forbidden)
	}
}

// mayRegister rejects the registration of a class or shape, or the renaming of a class,
// if the sender lacks the permission.
func (r *run) mayRegister(asked detail) {
	r.check(r.permit == nil || r.permit.Register, ledger.Forbidden, asked)
}

// MayReadContainer reports whether a client limited to owners may read a container.
func (m *Model) MayReadContainer(id int64, owners []int64) bool {
	c := m.containers[id]
	return c != nil && slices.Contains(owners, c.owner)
}

// MayReadInstance reports whether a client limited to owners may read an instance.
func (m *Model) MayReadInstance(id int64, owners []int64) bool {
	if m.instances[id] == nil {
		return false
	}
	r := &run{m: m, permit: &ledger.Permit{Owners: owners}}
	return r.reaches(id)
}

// ContainersOf returns the containers of several owners, ordered by id.
func (m *Model) ContainersOf(owners []int64, kind ledger.ContainerKind, after int64, limit int) ([]ledger.ContainerInfo, bool) {
	var list []ledger.ContainerInfo
	for _, id := range m.ContainerIDs() {
		info, _ := m.Container(id)
		if id > after && slices.Contains(owners, info.Owner) && (kind == 0 || kind == info.Kind) {
			list = append(list, info)
		}
	}
	return page(list, limit)
}

// senders lists the senders of transactions. The first may do everything.
var senders = []struct {
	name   string
	permit *ledger.Permit
}{
	{"", nil},
	{"anyone", &ledger.Permit{Register: true}},
	{"clerk", &ledger.Permit{}},
	{"one", &ledger.Permit{Owners: []int64{1}}},
	{"both", &ledger.Permit{Register: true, Owners: []int64{1, 2}}},
	{"mover", &ledger.Permit{Transfer: true}},
	{"ours", &ledger.Permit{Transfer: true, Register: true, Owners: []int64{1, 2}}},
	{"none", &ledger.Permit{Owners: []int64{}}},
}

// sender chooses a sender: a random one with the probability that the knob Permits sets,
// otherwise the first one.
func (g *Gen) sender() (name []byte, permit *ledger.Permit) {
	if g.knobs.Permits == 0 || !g.chance(g.knobs.Permits) {
		return nil, nil
	}
	s := senders[g.rng.IntN(len(senders))]
	return []byte(s.name), s.permit
}
