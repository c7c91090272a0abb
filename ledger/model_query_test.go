package ledger_test

import (
	"fmt"
	"math"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
)

// queries compares the complete results of all reads of the ledger and the model, and
// pages of most lists.
func (r *trial) queries() {
	r.t.Helper()
	for _, q := range modeltest.AllQueries(r.model) {
		r.same(fmt.Sprint(q), r.model.Ask(q), ask(r.state, q))
		r.same(fmt.Sprint("of the twin ", q), r.model.Ask(q), ask(r.twin, q))
	}
	for _, id := range r.model.ContainerIDs() {
		for range 3 {
			r.balancePage(id)
			r.slotPage(id)
			r.gridPage(id)
		}
	}
	for range 10 {
		r.listPages()
	}
	for seq := range r.model.Seq() {
		by, ok := r.state.ReversedBy(seq + 1)
		if ok != (by != 0) || by != r.model.ReversedBy(seq+1) {
			r.t.Fatalf("seed %d, commit %d: commit %d was reversed by %d (%v), in the model by %d", r.seed, r.model.Seq(), seq+1, by, ok, r.model.ReversedBy(seq+1))
		}
	}
	r.named()
	for _, owners := range [][]int64{{}, {1}, {2, math.MaxInt64}, {1, 2}} {
		r.queriesOfOwners(owners)
		r.namedPages(owners)
	}
	r.namedPages(nil)
}

// queriesOfOwners compares the reads of clients limited to owners.
func (r *trial) queriesOfOwners(owners []int64) {
	r.t.Helper()
	for _, id := range append(r.model.ContainerIDs(), 77) {
		if got := r.state.MayReadContainer(id, owners) == nil; got != r.model.MayReadContainer(id, owners) {
			r.t.Fatalf("seed %d, commit %d: owners %v may read container %d: %t, in the model %t", r.seed, r.model.Seq(), owners, id, got, !got)
		}
	}
	for _, id := range append(r.model.InstanceIDs(), math.MaxInt64) {
		if got := r.state.MayReadInstance(id, owners) == nil; got != r.model.MayReadInstance(id, owners) {
			r.t.Fatalf("seed %d, commit %d: owners %v may read instance %d: %t, in the model %t", r.seed, r.model.Seq(), owners, id, got, !got)
		}
	}
	for _, id := range append(r.model.HoldIDs(), 77) {
		if got := r.state.MayReadHold(id, owners) == nil; got != r.model.MayReadHold(id, owners) {
			r.t.Fatalf("seed %d, commit %d: owners %v may read hold %d: %t, in the model %t", r.seed, r.model.Seq(), owners, id, got, !got)
		}
	}
	for kind := range ledger.Grid + 1 {
		after, limit := r.rng.Int64N(10), r.rng.IntN(6)
		want, wantMore := r.model.ContainersOf(owners, kind, after, limit)
		got, _, more := r.state.ContainersOf(nil, owners, kind, after, limit)
		what := fmt.Sprintf("containers of %v, kind %v, after %d, at most %d", owners, kind, after, limit)
		r.same(what, want, got)
		r.same(what+": whether there are more", wantMore, more)
	}
}

// named compares what names and codes resolve to.
func (r *trial) named() {
	r.t.Helper()
	for _, name := range append(modeltest.Names(), "none") {
		id, refused := r.model.ContainerNamed(name)
		got, err := r.state.ContainerNamed(name, nil)
		r.same("container "+name, id, got)
		r.same("container "+name+": the error code", refused, code(err))
		id, refused = r.model.ClassCoded(name)
		got, err = r.state.ClassCoded(name)
		r.same("class "+name, id, got)
		r.same("class "+name+": the error code", refused, code(err))
	}
}

// namedPages compares the lists of named containers, page by page to the end.
func (r *trial) namedPages(owners []int64) {
	r.t.Helper()
	for _, prefix := range []string{"", "u", "users/42", "users/42/wallet", "none"} {
		f := ledger.ContainerFilter{Kind: ledger.ContainerKind(r.rng.IntN(4))}
		if owner := r.number(); owner != nil {
			f.Owner = *owner
		}
		limit := r.limit()
		for after, more := "", true; more; {
			want, wantMore := r.model.NamedContainers(prefix, f, owners, after, limit)
			got, last, gotMore := r.state.NamedContainers(nil, prefix, f, owners, after, limit)
			what := fmt.Sprintf("containers %q of %v, %+v, after %q, at most %d", prefix, owners, f, after, limit)
			r.same(what, want, got)
			r.same(what+": whether there are more", wantMore, gotMore)
			after, more = last, wantMore
		}
	}
}

func (r *trial) same(what string, model, state any) {
	r.t.Helper()
	if d := difference(model, state); d != "" {
		r.t.Fatalf("seed %d, commit %d: %s (-model +ledger):\n%s", r.seed, r.model.Seq(), what, d)
	}
}

// ask returns the ledger's reply to a query, as Model.Ask returns the model's.
func ask(s *ledger.State, q modeltest.Query) modeltest.Reply {
	const all = math.MaxInt
	switch q.What {
	case modeltest.ReadContainer:
		return reply(s.Container(q.ID))
	case modeltest.ReadBalances:
		list, _, _, err := s.Balances(nil, q.ID, ledger.BalanceFilter{}, nil, all)
		return reply(list, err)
	case modeltest.ReadSlots:
		list, _, err := s.SlotEntries(nil, q.ID, -1, all)
		return reply(list, err)
	case modeltest.ReadGrid:
		list, _, err := s.Placements(nil, q.ID, nil, nil, all)
		return reply(list, err)
	case modeltest.ReadClass:
		return reply(s.Class(q.ID))
	case modeltest.ReadClasses:
		list, _ := s.Classes(nil, 0, all)
		return reply(list, nil)
	case modeltest.ReadShapes:
		return reply(s.Shapes(nil, q.ID))
	case modeltest.ReadStats:
		return reply(s.Stats(q.ID))
	case modeltest.ReadInstance:
		info, err := s.Instance(q.ID)
		info.Children, _ = s.Children(nil, q.ID, 0, all)
		return reply(info, err)
	case modeltest.ReadContainers:
		list, _, _ := s.Containers(nil, ledger.ContainerFilter{}, 0, all)
		return reply(list, nil)
	case modeltest.ReadHold:
		return reply(s.Hold(q.ID))
	case modeltest.ReadHolds:
		list, _, err := s.Holds(nil, q.ID, 0, all)
		return reply(list, err)
	}
	panic("unknown read " + string(q.What))
}

func reply[T any](value T, err *ledger.Error) modeltest.Reply {
	if err != nil {
		return modeltest.Reply{Code: err.Code}
	}
	return modeltest.Reply{Value: value}
}

// listed is a page of a list, from the ledger or the model.
type listed struct {
	List any
	More bool
	Code ledger.Code
}

func code(err *ledger.Error) ledger.Code {
	if err == nil {
		return ""
	}
	return err.Code
}

func (r *trial) limit() int { return 1 + r.rng.IntN(6) }

// number returns an id or key that may be in use, or nil.
func (r *trial) number() *int64 {
	n := []int64{0, 1, 2, 3, 4, math.MaxInt64}[r.rng.IntN(6)]
	if r.rng.IntN(2) == 0 {
		return nil
	}
	return &n
}

func (r *trial) balancePage(id int64) {
	r.t.Helper()
	f := ledger.BalanceFilter{ClassID: r.number(), Key: r.number()}
	var after *ledger.StackKey
	if class, key := r.number(), r.number(); class != nil && key != nil {
		after = &ledger.StackKey{ClassID: *class, Key: *key}
	}
	limit := r.limit()
	a, more, refused := r.model.Balances(id, f, after, limit)
	want := listed{a, more, refused}
	b, _, more, err := r.state.Balances(nil, id, f, after, limit)
	r.same(fmt.Sprintf("balances of %d, filter %v, after %v, limit %d", id, f, after, limit), want, listed{b, more, code(err)})
}

func (r *trial) slotPage(id int64) {
	r.t.Helper()
	after, limit := r.rng.IntN(7)-1, r.limit()
	a, more, refused := r.model.SlotEntries(id, after, limit)
	want := listed{a, more, refused}
	b, more, err := r.state.SlotEntries(nil, id, after, limit)
	r.same(fmt.Sprintf("slots of %d after %d, limit %d", id, after, limit), want, listed{b, more, code(err)})
}

func (r *trial) gridPage(id int64) {
	r.t.Helper()
	side := func() int64 {
		if r.rng.IntN(10) == 0 {
			return math.MaxInt64 - r.rng.Int64N(2)
		}
		return r.rng.Int64N(9)
	}
	var region *ledger.Rect
	if r.rng.IntN(3) > 0 {
		region = &ledger.Rect{X: side(), Y: side(), Width: 1 + side()/2, Height: 1 + side()/2}
	}
	var after *ledger.Cell
	if r.rng.IntN(2) == 0 {
		after = &ledger.Cell{X: r.rng.IntN(9), Y: r.rng.IntN(9)}
	}
	limit := r.limit()
	a, more, refused := r.model.Placements(id, region, after, limit)
	want := listed{a, more, refused}
	b, more, err := r.state.Placements(nil, id, region, after, limit)
	r.same(fmt.Sprintf("grid %d, region %v, after %v, limit %d", id, region, after, limit), want, listed{b, more, code(err)})
}

func (r *trial) listPages() {
	r.t.Helper()
	after, limit := r.rng.Int64N(10), r.limit()
	if r.rng.IntN(8) == 0 {
		after = math.MaxInt64
	}
	a, more := r.model.Classes(after, limit)
	want := listed{List: a, More: more}
	b, more := r.state.Classes(nil, after, limit)
	r.same(fmt.Sprintf("classes after %d, limit %d", after, limit), want, listed{List: b, More: more})

	f := ledger.ContainerFilter{Kind: ledger.ContainerKind(r.rng.IntN(4))}
	if owner := r.number(); owner != nil {
		f.Owner = *owner
	}
	c, more := r.model.Containers(f, after, limit)
	want = listed{List: c, More: more}
	d, _, more := r.state.Containers(nil, f, after, limit)
	r.same(fmt.Sprintf("containers %+v after %d, limit %d", f, after, limit), want, listed{List: d, More: more})
}
