package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
)

// A poller reads from a read daemon constantly, and records the responses.
type poller struct {
	from *target
	rng  *rand.Rand
	end  chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	reads  []modeltest.Read
	faults []error
	count  int
}

// maxReads limits the number of responses recorded for one check.
const maxReads = 50_000

func startPoller(seed uint64, from *target) *poller {
	p := &poller{from: from, rng: rand.New(rand.NewPCG(seed, 99)), end: make(chan struct{})}
	p.done.Go(p.run)
	return p
}

func (p *poller) stop() {
	close(p.end)
	p.done.Wait()
}

// take returns the reads and the faults since the last call.
func (p *poller) take() ([]modeltest.Read, []error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reads, faults := p.reads, p.faults
	p.reads, p.faults = nil, nil
	return reads, faults
}

func (p *poller) run() {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for {
		url, life, ok := p.from.await(p.end)
		if !ok {
			return
		}
		q := p.query()
		a, err := get(client, url+pathOf(q))
		if (err != nil || a.status == http.StatusServiceUnavailable) && !p.from.lives(life) {
			continue // the daemon was killed, or its disk is gone
		}
		var r modeltest.Read
		if err == nil {
			r, err = parseRead(q, a)
		}
		p.mu.Lock()
		p.count++
		switch {
		case err != nil && len(p.faults) < 10:
			p.faults = append(p.faults, err)
		case err == nil && len(p.reads) < maxReads:
			p.reads = append(p.reads, r)
		}
		p.mu.Unlock()
	}
}

// query returns a query for something that changes constantly.
func (p *poller) query() modeltest.Query {
	switch n := p.rng.IntN(10); {
	case n < 4:
		return modeltest.Query{What: modeltest.ReadBalances, ID: 1 + p.rng.Int64N(standards+grids)}
	case n < 7:
		return modeltest.Query{What: modeltest.ReadStats, ID: 1 + p.rng.Int64N(fungibles)}
	case n < 8:
		return modeltest.Query{What: modeltest.ReadSlots, ID: standards + grids + 1 + p.rng.Int64N(slotted)}
	case n < 9:
		return modeltest.Query{What: modeltest.ReadClass, ID: 1000*(1+p.rng.Int64N(32)) + 1}
	}
	return modeltest.Query{What: modeltest.ReadBalances, ID: 1000 * (1 + p.rng.Int64N(32))} // containers that come and go
}

func pathOf(q modeltest.Query) string {
	switch q.What {
	case modeltest.ReadStats:
		return fmt.Sprintf("/v1/read/class/%d/stats", q.ID)
	case modeltest.ReadClass:
		return fmt.Sprintf("/v1/read/class/%d", q.ID)
	}
	return fmt.Sprintf("/v1/read/container/%d/%s", q.ID, q.What)
}

// parseRead turns a response into a read that the model can check.
func parseRead(q modeltest.Query, a answer) (r modeltest.Read, err error) {
	var page struct {
		Error     struct{ Code ledger.Code }
		Freshness struct {
			Checkpoint uint64 `json:"checkpoint_seq"`
			Log        uint64 `json:"commit_log_seq"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		return r, fmt.Errorf("the response to %v is %d %s: %w", q, a.status, a.body, err)
	}
	f := page.Freshness
	if f.Checkpoint > f.Log {
		return r, fmt.Errorf("%v showed commit %d when the durable end was %d", q, f.Checkpoint, f.Log)
	}
	r = modeltest.Read{Client: "poller", Query: q, Seq: f.Checkpoint}
	switch {
	case a.status == 404 || a.status == 422:
		r.Reply.Code = page.Error.Code
	case a.status != 200:
		return r, fmt.Errorf("the response to %v is %d %s", q, a.status, a.body)
	default:
		r.Reply.Value, err = shownValue(q, a.body)
	}
	return r, err
}

// shownValue returns what a read shows, as a value of package ledger.
func shownValue(q modeltest.Query, body string) (any, error) {
	var page struct {
		Balances []struct {
			Class    int64 `json:"class_id"`
			Key      int64
			Quantity int64
		}
		More string `json:"next_cursor"`
		Data struct {
			Slots []struct {
				Index    int   `json:"slot_index"`
				Instance int64 `json:"instance_id"`
				Class    int64 `json:"class_id"`
				Key      int64
			}
			Class      int64 `json:"class_id"`
			Name       string
			Fungible   bool
			Decimals   int
			Registered uint64 `json:"registered_seq"`
			Total      int64  `json:"total_quantity"`
			Added      uint64 `json:"total_added"` // the load stays below 2^64
			Removed    uint64 `json:"total_removed"`
			Stacks     int64
			Containers int64
			Minted     int64 `json:"instances_minted"`
			Burned     int64 `json:"instances_burned"`
			Live       int64 `json:"instances_live"`
		}
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		return nil, fmt.Errorf("the response to %v is %s: %w", q, body, err)
	}
	d := &page.Data
	switch q.What {
	case modeltest.ReadBalances:
		var list []ledger.Balance
		for _, b := range page.Balances {
			list = append(list, ledger.Balance{ClassID: b.Class, Key: b.Key, Quantity: b.Quantity})
		}
		return list, nil
	case modeltest.ReadSlots:
		var list []ledger.SlotEntry
		for _, s := range d.Slots {
			list = append(list, ledger.SlotEntry{SlotIndex: s.Index, InstanceID: s.Instance, ClassID: s.Class, Key: s.Key})
		}
		return list, nil
	case modeltest.ReadClass:
		return ledger.ClassInfo{ID: d.Class, Name: d.Name, Fungible: d.Fungible, Decimals: d.Decimals, RegisteredSeq: d.Registered}, nil
	case modeltest.ReadStats:
		return ledger.ClassStats{ClassID: d.Class, TotalQuantity: d.Total, TotalAdded: ledger.Uint128{Lo: d.Added}, TotalRemoved: ledger.Uint128{Lo: d.Removed},
			Stacks: d.Stacks, Containers: d.Containers, InstancesMinted: d.Minted, InstancesBurned: d.Burned, Alive: d.Live}, nil
	}
	return nil, fmt.Errorf("%v is an unknown read", q)
}
