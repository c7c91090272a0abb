package ctl

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

var benchCommand = command{
	Words:   "bench",
	List:    true,
	Purpose: "load the running ledger, and show throughput and latency",
	Notes: "It first creates containers, each with a trillion units of the class ledgerctl/bench. Then it moves single\n" +
		"units between them, shows the results, and removes the containers. On SIGINT or SIGTERM it stops early, and still removes\n" +
		"what it has created. A second signal ends it at once. The commits and the class stay in the ledger forever. So it\n" +
		"asks before it loads a ledger with other commits, unless -yes is given.\n\n" +
		"Kinds of requests: single, one commit; batch, -batch commits in one request; stream, -batch commits at a time\n" +
		"over one stream per client, where each commit counts; read, the balances of a container.",
	Examples: [2]string{"bench -clients 4 -mix stream=1 -batch 1000", "bench -mix single=8,batch=1,read=16 -batch 100 -yes -o json"},
	Setup: func(set *flag.FlagSet) action {
		b := &bench{
			clients:    number{least: 1, most: 4096, value: 16, given: true},
			containers: number{least: 2, most: 1_000_000, value: 1000, given: true},
			batch:      number{least: 1, most: 10_000, value: 100, given: true},
			duration:   duration{10 * time.Second},
		}
		set.Var(&b.clients, "clients", "`N` connections, each with one request at a time")
		set.Var(&b.duration, "duration", "`TIME` to run, at most 1h")
		set.StringVar(&b.mix, "mix", "single=1", "weights of the `KINDS` of requests: single, batch, stream and read")
		set.Var(&b.batch, "batch", "`N` transactions in a batch request, or at a time in a stream")
		set.Var(&b.containers, "containers", "`N` containers to move between")
		set.BoolVar(&b.clean, "clean", true, "remove the containers at the end; =false: they stay")
		set.BoolVar(&b.yes, "yes", false, "load a ledger with other commits without asking")
		return b.run
	},
}

// Kinds of requests.
const (
	single = iota
	batched
	streamed
	reading
	benchKinds
)

var benchNames = [benchKinds]string{"single", "batch", "stream", "read"}

const longestBench = time.Hour

// A bench uses only containers that it has created itself. Their ids begin at a random
// number, and the run fails if one of these containers exists already.
type bench struct {
	clients, containers, batch number
	duration                   duration
	mix                        string
	clean, yes                 bool

	order        []int // kinds of requests, each as many times as its weight
	class, first int64 // ids of the class and of the first container
	made         int64 // number of containers

	shown  *progress // updated by the first client
	took   time.Duration
	mu     sync.Mutex            // guards the fields below, to which all clients add
	kinds  [benchKinds]latencies // of requests with status 200, and of committed lines
	failed uint64
	reason error // the first failure
}

func (b *bench) run(c *call) error {
	if b.duration.Duration <= 0 || b.duration.Duration > longestBench {
		return usagef("-duration must be more than 0 and at most %v", longestBench)
	}
	if err := b.setOrder(); err != nil {
		return err
	}
	if err := b.ask(c); err != nil {
		return err
	}
	ctx, halt := untilSignal(c.ctx)
	defer halt(nil)
	err := b.prepare(ctx, c)
	if err == nil {
		b.load(ctx, c)
		b.show(c)
		if b.failed > 0 {
			err = exitf(exitCode(b.reason), "%s failed; the first: %v", count(b.failed, "request"), b.reason)
		}
	}
	if !b.clean || b.made == 0 {
		return err
	}
	left := b.remove(c)
	if left != nil && err != nil {
		return exitf(exitCode(err), "%v; the containers are not removed: %v", err, left)
	}
	return cmp.Or(err, left)
}

// ask asks the user to confirm that bench may load a ledger with commits, unless -yes was
// given or bench made the first of them.
func (b *bench) ask(c *call) error {
	commits, err := c.commits()
	if err != nil || b.yes || commits == 0 || b.began(c) {
		return err
	}
	if !isTerminal(c.in) || !isTerminal(c.words) {
		return usagef("the ledger has %s from elsewhere, and those of bench stay in it forever: give -yes to load it anyway", count(commits, "commit"))
	}
	fmt.Fprintf(c.words, "The ledger has %s. The commits of bench stay in it forever. Continue? [y/N] ", count(commits, "commit"))
	answer, _ := bufio.NewReader(c.in).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return exitf(exitFailure, "nothing was done")
	}
	return nil
}

const (
	benchClass = "ledgerctl/bench"        // code of the class
	benchKey   = "ledgerctl-bench-class-" // prefix of the idempotency key of its registration
	benchGroup = 1000                     // number of containers that one transaction creates or removes
)

// began reports whether the ledger's first commit registered the class of bench.
func (b *bench) began(c *call) bool {
	var first client.Result
	return c.readCommit(1, &first) == nil && strings.HasPrefix(keyOf(first.Metadata), benchKey)
}

// prepare registers the class, unless an earlier run did, and creates the containers. It
// stops when ctx is done. The containers' ids are from 2^51 to 2^52, because the ledger
// assigns ids from 2^52 on and people choose small ones.
func (b *bench) prepare(ctx context.Context, c *call) error {
	class := fmt.Appendf(nil, `{"code":%q,"name":"ledgerctl bench","idempotency_key":"%s1"}`, benchClass, benchKey)
	if err := c.post("/v1/register/class", class, &client.Result{}); err != nil && client.Code(err) != string(ledger.NameTaken) {
		return err
	}
	known, err := c.class(benchClass)
	if err != nil {
		return err
	}
	b.class, b.first = known.ClassID, 1<<51+rand.Int64N(1<<51-b.containers.most)
	last := int64(0)
	for b.made < b.containers.value && err == nil && ctx.Err() == nil {
		var ops []client.Operation
		n := min(benchGroup, b.containers.value-b.made)
		for id := b.first + b.made; id < b.first+b.made+n; id++ {
			ops = append(ops, client.Op("CreateContainer", client.Args{"container_id": id, "kind": "Standard"}),
				client.Op("AddFungible", client.Args{"container_id": id, "class_id": b.class, "key": 0, "quantity": 1_000_000_000_000}))
		}
		if last, err = c.commitOps(ops); err == nil {
			b.made += n
		}
	}
	if b.made > 0 {
		c.say("created containers %d to %d", b.first, b.first+b.made-1)
	}
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return err
	}
	return c.awaitRead(last)
}

// remove empties and removes the containers.
func (b *bench) remove(c *call) error {
	last, err := c.commits()
	if err == nil {
		err = c.awaitRead(last)
	}
	if err != nil {
		return err
	}
	holders := fmt.Sprintf("/v1/read/class/%d/holders", b.class)
	_, err = c.pages(holders, url.Values{"limit": {strconv.Itoa(benchGroup)}}, true, (*answer).check, func(a *answer) (err error) {
		var page struct {
			Holders []struct {
				ID       int64 `json:"container_id"`
				Quantity int64
			}
		}
		if err := a.data(&page); err != nil {
			return err
		}
		var ops []client.Operation
		for _, holder := range page.Holders {
			if holder.ID >= b.first && holder.ID < b.first+b.made {
				ops = append(ops, client.Op("RemoveFungible", client.Args{"container_id": holder.ID, "class_id": b.class, "key": 0, "quantity": holder.Quantity}),
					client.Op("RemoveContainer", client.Args{"container_id": holder.ID}))
			}
		}
		if len(ops) > 0 {
			last, err = c.commitOps(ops)
		}
		return err
	})
	if err != nil {
		return err
	}
	c.say("removed the containers")
	return c.awaitRead(last) // so that later reads do not show them
}

// commitOps commits a transaction, and returns its global_seq.
func (c *call) commitOps(ops []client.Operation) (int64, error) {
	body, _ := json.Marshal(client.Tx{Operations: ops, Key: client.NewKey()}) // can always be encoded
	var result client.Result
	err := c.post("/v1/commit", body, &result)
	return result.GlobalSeq, err
}

// post posts a body with an idempotency key to the write daemon, and retries until the
// timeout. It decodes the response into v, and returns an error for any status but 200.
func (c *call) post(path string, body []byte, v any) error {
	a, _, err := c.insist(request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body}, client.MaxTries, sameKey)
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return err
	}
	return a.decode(v)
}

func (c *call) awaitRead(seq int64) error {
	_, err := c.get(c.readURL, "/v1/read/freshness", url.Values{"min_seq": {strconv.FormatInt(seq, 10)}, "wait": {c.timeout.String()}})
	return err
}

// commits returns the number of the last commit, according to the write daemon.
func (c *call) commits() (int64, error) {
	a, err := c.askQuietly(request{Method: http.MethodGet, Base: c.writeURL, Path: "/v1/health"})
	if err != nil {
		return 0, err
	}
	var health struct {
		CommitLog reached `json:"commit_log"`
	}
	err = a.decode(&health)
	return health.CommitLog.EndSeq, err
}

// show shows a row for each kind of request that was answered. Times are in microseconds.
func (b *bench) show(c *call) {
	row, end := c.list("request answered requests_per_s transactions_per_s p50_us p99_us p999_us slowest_us")
	for kind := range b.kinds {
		if k := &b.kinds[kind]; k.count > 0 {
			rate := float64(k.count) / b.took.Seconds()
			each := [benchKinds]float64{single: 1, streamed: 1, batched: float64(b.batch.value)}[kind]
			row(benchNames[kind], k.count, int64(rate), int64(rate*each),
				k.at(0.5).Microseconds(), k.at(0.99).Microseconds(), k.at(0.999).Microseconds(), k.most.Microseconds())
		}
	}
	end()
}

// setOrder sets the order of the kinds of requests from -mix.
func (b *bench) setOrder() error {
	for part := range strings.SplitSeq(b.mix, ",") {
		name, value, _ := strings.Cut(part, "=")
		kind := slices.Index(benchNames[:], name)
		n, err := strconv.Atoi(value)
		if err != nil || kind < 0 || n < 0 || n > 1000 {
			return usagef("-mix is %q, but must be weights from 0 to 1000, such as single=8,batch=1,read=16", b.mix)
		}
		b.order = append(b.order, slices.Repeat([]int{kind}, n)...)
	}
	if b.order == nil {
		return usagef("one of the weights of -mix must be more than 0")
	}
	return nil
}
