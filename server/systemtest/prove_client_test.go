package systemtest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// A client sends jobs one after another. It repeats a job that has idempotency keys
// until the job's outcome is known.
type client struct {
	id   int
	rng  *rand.Rand
	to   *target
	http *http.Client

	made    int // number of jobs so far
	classes int // registered by this client
	jobs    []*job
	pending *job    // sent, but not settled yet
	minted  []int64 // instances that it may burn
	refused *answer // the last response that did not settle its job
	err     error   // a fault of the daemon
	pauses  *pauses // nil: not measured
}

func newClient(id int, seed uint64, to *target) *client {
	return &client{id: id, rng: rand.New(rand.NewPCG(seed, uint64(id))), to: to, http: &http.Client{Transport: &http.Transport{}}}
}

// run sends jobs until stop is closed or the daemon is at fault.
func (c *client) run(stop <-chan struct{}) {
	defer c.http.CloseIdleConnections()
	for c.err == nil {
		url, _, ok := c.to.await(stop)
		if !ok {
			return
		}
		j := c.pending
		switch again := c.again(); {
		case j != nil:
		case again != nil:
			j = again
		default:
			if j, c.err = c.next(); c.err != nil {
				return
			}
			c.jobs = append(c.jobs, j)
		}
		c.send(url, j)
	}
}

// send sends a job once. A job without an idempotency key is then done,
// whatever happened.
func (c *client) send(url string, j *job) {
	c.pending = nil
	kind := "application/json"
	if j.path == "/v1/commit/stream" {
		kind = "application/x-ndjson"
	}
	a, err := read(c.http.Post(url+j.path, kind, strings.NewReader(j.body)))
	settled := false
	if err == nil || a.status == http.StatusOK && j.path == "/v1/commit/stream" {
		settled, c.err = j.settle(a)
	}
	if err == nil && !settled {
		c.refused = &a
	}
	if !settled && j.keyed {
		c.pending = j
	}
	if settled && j.acknowledged() {
		c.pauses.end()
		for _, p := range j.parts {
			if p.Minted > 0 && len(c.minted) < 4 {
				c.minted = append(c.minted, p.FirstMinted)
			}
		}
	}
}

// again occasionally returns one of the latest jobs, to be sent once more. Only a job
// that has idempotency keys and was acknowledged is sent again. Otherwise, the result
// is nil.
func (c *client) again() *job {
	if len(c.jobs) == 0 || c.rng.IntN(25) != 0 {
		return nil
	}
	j := c.jobs[len(c.jobs)-1-c.rng.IntN(min(len(c.jobs), 200))]
	if !j.keyed || !j.acknowledged() {
		return nil
	}
	return j
}

// The pools of ids that all clients share.
const (
	standards = 16 // containers 1..16
	grids     = 4  // 17..20
	slotted   = 4  // 21..24
	fungibles = 4  // classes 1..4; 1 and 2 have shapes
	uniques   = 2  // 5..6, with shapes
)

// setUp returns the transaction that creates the pools.
func setUp() string {
	var ops []string
	for id := range fungibles + uniques {
		ops = append(ops, fmt.Sprintf(`{"op":"RegisterClass","args":{"request":{"class_id":%d,"name":"class %d","fungible":%t}}}`, id+1, id+1, id < fungibles))
	}
	for _, id := range []int{1, 2, 5, 6} {
		ops = append(ops, fmt.Sprintf(`{"op":"RegisterClassShape","args":{"request":{"class_id":%d,"width":%d,"height":1}}}`, id, 1+id%2))
	}
	for id := range standards + grids + slotted {
		kind := "Standard"
		switch {
		case id >= standards+grids:
			kind = "Slots"
		case id >= standards:
			kind = "Grid"
		}
		ops = append(ops, fmt.Sprintf(`{"op":"CreateContainer","args":{"container_id":%d,"kind":%q}}`, id+1, kind))
	}
	return `{"operations":[` + strings.Join(ops, ",") + `],"idempotency_key":"set-up"}`
}

// next returns a new job.
func (c *client) next() (*job, error) {
	c.made++
	switch p := c.rng.IntN(100); {
	case p < 2:
		c.classes++
		return newJob("/v1/register/class", true, fmt.Sprintf(`{"class_id":%d,"name":"made","idempotency_key":%q}`, c.ownID(c.classes), c.key(0)))
	case p < 3 && c.classes > 0:
		return newJob("/v1/register/class-shape", true, fmt.Sprintf(`{"class_id":%d,"key":%d,"width":2,"height":3,"idempotency_key":%q}`,
			c.ownID(1+c.rng.IntN(c.classes)), c.made, c.key(0)))
	case p < 13:
		path, bodies := "/v1/commit/batch", make([]string, 2+c.rng.IntN(14))
		if c.rng.IntN(2) == 0 {
			path, bodies = "/v1/commit/stream", make([]string, 2+c.rng.IntN(40))
		}
		for i := range bodies {
			bodies[i] = c.transaction(fmt.Sprintf(`"idempotency_key":%q`, c.key(i)))
		}
		return newJob(path, true, bodies...)
	case p < 25: // its outcome may stay unknown
		return newJob("/v1/commit", false, c.transaction(fmt.Sprintf(`"metadata":{"once":%q}`, c.key(0))))
	}
	return newJob("/v1/commit", true, c.transaction(fmt.Sprintf(`"idempotency_key":%q,"metadata":{"by":%d}`, c.key(0), c.id)))
}

func (c *client) key(i int) string   { return fmt.Sprintf("c%d-%d-%d", c.id, c.made, i) }
func (c *client) ownID(n int) int    { return 1000*(c.id+1) + n }
func (c *client) pick(n, of int) int { return n + c.rng.IntN(of) }

// transaction returns a transaction of one to three operations.
func (c *client) transaction(fields string) string {
	ops := []string{c.operation()}
	for c.rng.IntN(6) == 0 && len(ops) < 3 {
		ops = append(ops, c.operation())
	}
	return `{"operations":[` + strings.Join(ops, ",") + `],` + fields + `}`
}

func (c *client) operation() string {
	class, key := c.pick(1, fungibles), c.rng.IntN(3)
	from, to := c.pick(1, standards), c.pick(1, standards)
	switch p := c.rng.IntN(100); {
	case p < 45:
		return fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%d}}`, to, class, key, c.pick(1, 1000))
	case p < 75:
		return fmt.Sprintf(`{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":%d,"key":%d,"quantity":%d}}`,
			from, to, class, key, c.pick(1, 500))
	case p < 85:
		return fmt.Sprintf(`{"op":"RemoveFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%d}}`, from, class, key, c.pick(1, 500))
	case p < 88:
		return fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":1}}`, c.pick(standards+1, grids), c.pick(1, 2), key)
	case p < 91:
		return fmt.Sprintf(`{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}`, c.ownID(c.rng.IntN(8)))
	case p < 93:
		return fmt.Sprintf(`{"op":"RemoveContainer","args":{"container_id":%d}}`, c.ownID(c.rng.IntN(8)))
	case p < 97 || len(c.minted) == 0:
		return fmt.Sprintf(`{"op":"MintInstance","args":{"class_id":%d,"container_id":%d,"slot_index":%d}}`,
			c.pick(fungibles+1, uniques), c.pick(standards+grids+1, slotted), c.rng.IntN(64))
	}
	last := len(c.minted) - 1
	id := c.minted[last]
	c.minted = c.minted[:last]
	return fmt.Sprintf(`{"op":"BurnInstance","args":{"instance_id":%d}}`, id)
}
