package modeltest

import (
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
)

// lived returns a valid history of a few hundred requests and as many reads.
func lived(t *testing.T) *History {
	t.Helper()
	knobs := DefaultKnobs()
	knobs.Keyed, knobs.Repeated = 1, 0
	m := New(1000)
	g := NewGen(3, m, knobs)
	h := &History{}
	ask := func(i int) {
		qs := AllQueries(m)
		q := qs[i*7%len(qs)]
		h.Reads = append(h.Reads, Read{Client: "r", Query: q, Seq: m.Seq(), Reply: m.Ask(q)})
	}
	for i := range 300 {
		m.Now += 333_333_333
		tx := g.Next()
		a := m.Submit(&tx, 1)
		r := Request{Tx: tx, Ending: Acknowledged, Seq: a.Seq, BatchSeq: a.BatchSeq, FirstMinted: a.Out.FirstMinted, Minted: a.Out.Minted}
		switch {
		case a.Refusal != nil:
			r = Request{Tx: tx, Ending: Refused, Code: a.Refusal.Code, After: m.Seq(), Before: m.Seq() + 1}
		case i%5 == 0:
			r = Request{Tx: tx, Ending: Unknown}
		}
		if a.Refusal == nil {
			rec := ledger.Record{Tx: tx, Out: a.Out}
			rec.Tx.Ops = m.Ops()
			h.Commits = append(h.Commits, Commit{Seq: a.Seq, BatchSeq: 1, Time: m.Now, Record: rec})
		}
		h.Requests = append(h.Requests, r)
		ask(i)
	}
	if len(h.Commits) < 50 {
		t.Fatalf("%d commits, want at least 50", len(h.Commits))
	}
	return h
}

// find returns the index of the first request that has the ending o and is at the given
// index or later.
func find(t *testing.T, h *History, o Ending, from int) int {
	t.Helper()
	for i := from; i < len(h.Requests); i++ {
		if h.Requests[i].Ending == o {
			return i
		}
	}
	t.Fatalf("no request with ending %d", o)
	return 0
}

// renumber numbers the commits by their positions.
func renumber(h *History) {
	for i := range h.Commits {
		h.Commits[i].Seq = uint64(i) + 1
	}
}

// TestHistory checks that a valid history is accepted, and that it is rejected if it is
// broken in any of several ways.
func TestHistory(t *testing.T) {
	cases := []struct {
		name   string
		damage func(t *testing.T, h *History)
		want   string // part of the error; "": none
	}{
		{"true", func(t *testing.T, h *History) {}, ""},
		{"unknown ones may not have happened", func(t *testing.T, h *History) {
			h.Requests = append(h.Requests, Request{Tx: ledger.Transaction{Key: []byte("never"), Ops: []ledger.Op{op(ledger.RemoveContainer, args{"container_id": 1})}}})
		}, ""},
		{"lost at the end", func(t *testing.T, h *History) {
			last := uint64(0)
			for _, r := range h.Requests {
				last = max(last, r.Seq)
			}
			h.Commits = h.Commits[:last-1]
			h.Reads = nil
		}, "is lost"},
		{"lost in the middle", func(t *testing.T, h *History) {
			seq := h.Requests[find(t, h, Acknowledged, 100)].Seq
			h.Commits = slices.Delete(h.Commits, int(seq)-1, int(seq))
			renumber(h)
		}, "is lost"},
		{"a gap", func(t *testing.T, h *History) { h.Commits = slices.Delete(h.Commits, 20, 21) }, "commit 22 is at position 21"},
		{"doubled", func(t *testing.T, h *History) {
			h.Commits = append(h.Commits, h.Commits[len(h.Commits)-1])
			renumber(h)
		}, "was committed 2 times"},
		{"unknown doubled", func(t *testing.T, h *History) {
			key := string(h.Requests[find(t, h, Unknown, 0)].Tx.Key)
			i := slices.IndexFunc(h.Commits, func(c Commit) bool { return string(c.Record.Tx.Key) == key })
			h.Commits = append(h.Commits, h.Commits[i])
			renumber(h)
		}, "was committed 2 times"},
		{"other seq", func(t *testing.T, h *History) { h.Requests[find(t, h, Acknowledged, 0)].Seq++ }, "was acknowledged as commit"},
		{"other ids", func(t *testing.T, h *History) { h.Requests[find(t, h, Acknowledged, 0)].Minted++ }, "the response to request"},
		{"other batch_seq", func(t *testing.T, h *History) { h.Requests[find(t, h, Acknowledged, 0)].BatchSeq++ }, "was acknowledged as commit"},
		{"rejected but done", func(t *testing.T, h *History) {
			r := &h.Requests[find(t, h, Acknowledged, 0)]
			*r = Request{Tx: r.Tx, Ending: Refused, Code: ledger.Overloaded}
		}, "was rejected (Overloaded), but is commit"},
		{"rejected without a reason", func(t *testing.T, h *History) {
			r := &h.Requests[find(t, h, Refused, 0)]
			r.Code = ledger.SlotEmpty
			if r.Tx.Ops[0].Kind == ledger.RemoveFromSlot {
				r.Code = ledger.GridFull
			}
		}, "but no state from commit"},
		{"unsent", func(t *testing.T, h *History) {
			h.Requests = h.Requests[1:]
			h.Requests = slices.Delete(h.Requests, 30, 60)
		}, "which nobody sent"},
		{"read of another value", func(t *testing.T, h *History) {
			i := slices.IndexFunc(h.Reads, func(r Read) bool { return r.Query.What == ReadStats && r.Reply.Code == "" })
			stats := h.Reads[i].Reply.Value.(ledger.ClassStats)
			stats.TotalQuantity++
			h.Reads[i].Reply.Value = stats
		}, "read {stats"},
		{"read of another commit", func(t *testing.T, h *History) {
			i := slices.IndexFunc(h.Reads, func(r Read) bool { return r.Query.What == ReadContainer && r.Reply.Code == "" })
			info := h.Reads[i].Reply.Value.(ledger.ContainerInfo)
			h.Reads[i].Seq = info.UpdatedSeq - 1
			h.Reads = h.Reads[i : i+1]
		}, "read {container"},
		{"read of nothing", func(t *testing.T, h *History) {
			i := slices.IndexFunc(h.Reads, func(r Read) bool { return r.Query.What == ReadContainer && r.Reply.Code == "" })
			h.Reads[i].Reply = Reply{Code: ledger.ContainerNotFound}
		}, "read {container"},
		{"read beyond the end", func(t *testing.T, h *History) { h.Reads[len(h.Reads)-1].Seq = 1 << 20 }, "but the last commit is"},
		{"read back in time", func(t *testing.T, h *History) {
			h.Reads = append(h.Reads, h.Reads[0])
		}, "after it had read at commit"},
		{"one unit more in a commit", func(t *testing.T, h *History) {
			for i := range h.Commits {
				ops := slices.Clone(h.Commits[i].Record.Tx.Ops)
				if ops[0].Kind == ledger.AddFungible {
					ops[0].Args[ledger.FungibleQuantity]++
					h.Commits[i].Record.Tx.Ops = ops
					break
				}
			}
			h.Requests = nil
			h.Others = true
		}, "at commit"},
		{"another id minted", func(t *testing.T, h *History) {
			i := slices.IndexFunc(h.Commits, func(c Commit) bool { return c.Record.Out.Minted > 0 })
			h.Commits[i].Record.Out.FirstMinted++
		}, "decided"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := lived(t)
			c.damage(t, h)
			err := h.Check()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("a valid history is rejected: %v", err)
			case c.want != "" && err == nil:
				t.Errorf("not detected; want an error with %q", c.want)
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
