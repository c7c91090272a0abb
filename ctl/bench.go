package ctl

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assetledger/ctl/client"
)

var benchCommand = command{
	Words:   "bench",
	Purpose: "load the running ledger, and show throughput and latency",
	Notes: "It first makes a class and containers of its own, from -first-id on, each with a trillion units; they are\n" +
		"used again by the next run, or removed at the end with -clean. Then it moves single units between them.\n" +
		"If one of these ids is in use for anything else, it changes nothing and says so.\n" +
		"Interrupted, it shows what it has. The commits stay in the ledger for good, so it asks before it loads one\n" +
		"that has others, unless -yes is given.\n\n" +
		"Kinds of requests: single, one commit; batch, -batch commits in one request; stream, -batch commits at a time\n" +
		"in a stream, each of which counts, as long as the client lives; read, the balances of a container.",
	Examples: [2]string{"bench -clients 4 -mix stream=1 -batch 1000 -clean", "bench -mix single=8,batch=1,read=16 -batch 100 -yes -o json"},
	Setup: func(set *flag.FlagSet) action {
		b := &bench{
			clients:    number{least: 1, most: 4096, value: 16, given: true},
			containers: number{least: 2, most: 1_000_000, value: 1000, given: true},
			batch:      number{least: 1, most: 10_000, value: 100, given: true},
			firstID:    number{least: 1, most: 1<<53 - 1 - 1_000_000, value: 1 << 51, given: true},
			duration:   duration{10 * time.Second},
		}
		b.mix.Set("single=1")
		set.Var(&b.clients, "clients", "`N` connections that send one request after the other")
		set.Var(&b.duration, "duration", "`TIME` to go on for, at most an hour")
		set.Var(&b.mix, "mix", "weights of the `KINDS` of requests: single, batch, stream and read")
		set.Var(&b.batch, "batch", "transactions in a batch request, or at a time in a stream: `N`")
		set.Var(&b.containers, "containers", "`N` containers to move between")
		// 2^51: far from people's own ids, below those that the ledger assigns, from 2^52 on, and
		// below 2^53, from which JavaScript rounds.
		set.Var(&b.firstID, "first-id", "lowest `ID` of the class and of the containers that it makes")
		set.BoolVar(&b.clean, "clean", false, "remove the containers at the end, with what is in them")
		set.BoolVar(&b.yes, "yes", false, "don't ask whether to load a ledger that has other commits")
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

type bench struct {
	clients, containers, batch, firstID number
	duration                            duration
	mix                                 benchMix
	clean, yes                          bool
}

func (b *bench) run(c *call) error {
	if b.duration.Duration <= 0 || b.duration.Duration > longestBench {
		return usagef("-duration must be more than 0 and at most %v", longestBench)
	}
	if err := b.ask(c); err != nil {
		return err
	}
	have, err := b.own(c)
	if err != nil {
		return err
	}
	then := "stay"
	if b.clean {
		then = "the containers are removed at the end"
	}
	c.say("class %d and containers %d to %d are made, if they are not there, and %s",
		b.firstID.value, b.firstID.value, b.firstID.value+b.containers.value-1, then)
	if err := b.prepare(c, have); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	result := b.load(ctx, c)
	b.show(c, result)
	if b.clean {
		if err := b.remove(c); err != nil {
			return err
		}
	}
	if result.failed > 0 {
		return exitf(exitCode(result.first), "%s failed; the first: %v", count(result.failed, "request"), result.first)
	}
	return nil
}

func (b *bench) prepare(c *call, have map[int64]bool) error {
	id := b.firstID.value
	class := fmt.Appendf(nil, `{"class_id":%d,"name":%q,"idempotency_key":"%s%d"}`, id, benchClass, benchKey, id)
	if _, err := c.askQuietlyFor("/v1/register/class", class); err != nil && client.Code(err) != "ClassAlreadyExists" {
		return err
	}
	last, err := c.commitAll("made", func(yield func(string) bool) {
		for n := id; n < id+b.containers.value; n++ {
			if !have[n] && !yield(fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}},`+
				`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":0,"quantity":1000000000000}}]}`, n, n, id)) {
				return
			}
		}
	})
	if err != nil || b.mix.weights[reading] == 0 || last == 0 {
		return err
	}
	return c.awaitRead(last)
}

// commitAll commits transactions, all or an error, and returns the last commit or 0.
func (c *call) commitAll(done string, txs iter.Seq[string]) (last int64, err error) {
	lines := func(yield func([]client.Line, bool) bool) {
		for tx := range txs {
			if !yield([]client.Line{{Text: []byte(tx)}}, true) {
				return
			}
		}
	}
	for r, err := range c.api.CommitLines(c.ctx, lines, client.LinesOptions{Base: c.writeURL, GiveUp: c.timeout.Duration}) {
		if failed, ok := errors.AsType[*client.Unanswered](err); ok {
			return 0, inWords(failed.Err)
		}
		if r.Err != nil {
			return 0, exitf(exitRefused, "a container can't be %s: %s", done, r.Err)
		}
		last = r.GlobalSeq
	}
	return last, nil
}

func (c *call) awaitRead(seq int64) error {
	_, err := c.get(c.readURL, "/v1/read/freshness", url.Values{"min_seq": {strconv.FormatInt(seq, 10)}, "wait": {c.timeout.String()}})
	return err
}

// askQuietlyFor posts to the write daemon and returns an error for any status but 200.
func (c *call) askQuietlyFor(path string, body []byte) (*answer, error) {
	a, err := c.askQuietly(request{Method: http.MethodPost, Base: c.writeURL, Path: path, Body: body})
	if err != nil {
		return nil, err
	}
	return a, a.check()
}

func (b *bench) show(c *call, r *benchResult) {
	t := newTable(c.out, text("request"), numeric("answered"), numeric("requests/s"), numeric("transactions/s"),
		numeric("p50"), numeric("p99"), numeric("p99.9"), numeric("slowest"))
	var objects []string
	for kind := range r.kinds {
		k := &r.kinds[kind]
		if k.count == 0 {
			continue
		}
		rate := float64(k.count) / r.took.Seconds()
		each := map[int]float64{single: 1, streamed: 1, batched: float64(b.batch.value)}[kind]
		if c.json() {
			objects = append(objects, fmt.Sprintf(`{"request":%q,"answered":%d,"requests_per_s":%.1f,"transactions_per_s":%.1f,"p50_us":%d,"p99_us":%d,"p999_us":%d,"slowest_us":%d}`,
				benchNames[kind], k.count, rate, rate*each, k.at(0.5).Microseconds(), k.at(0.99).Microseconds(), k.at(0.999).Microseconds(), k.most.Microseconds()))
			continue
		}
		transactions := "-"
		if each > 0 {
			transactions = strconv.FormatFloat(rate*each, 'f', 0, 64)
		}
		t.row(benchNames[kind], k.count, strconv.FormatFloat(rate, 'f', 0, 64), transactions,
			showTime(k.at(0.5)), showTime(k.at(0.99)), showTime(k.at(0.999)), showTime(k.most))
	}
	if c.json() {
		fmt.Fprintf(c.out, `{"seconds":%.3f,"requests":[%s],"failed":%d}`+"\n", r.took.Seconds(), strings.Join(objects, ","), r.failed)
		return
	}
	t.flush()
}

func showTime(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1e3, 'f', 3, 64) + "ms"
}

// benchMix is a flag with the weights of the kinds of requests.
type benchMix struct {
	weights [benchKinds]int
	order   []int // a kind as often as it weighs
}

func (m *benchMix) Set(s string) error {
	const need = "it must be weights such as single=8,batch=1,read=16"
	var mix benchMix
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1000 {
			return errors.New(need + ", each from 0 to 1000")
		}
		kind := slices.Index(benchNames[:], name)
		if kind < 0 {
			return errors.New(need)
		}
		mix.weights[kind] = n
	}
	for kind, n := range mix.weights {
		mix.order = append(mix.order, slices.Repeat([]int{kind}, n)...)
	}
	if mix.order == nil {
		return errors.New(need + ", not all 0")
	}
	*m = mix
	return nil
}

func (m *benchMix) String() string {
	var parts []string
	for kind, w := range m.weights {
		if w > 0 {
			parts = append(parts, benchNames[kind]+"="+strconv.Itoa(w))
		}
	}
	return strings.Join(parts, ",")
}

// pick returns the kind of request number n, from 0.
func (m *benchMix) pick(n int) int { return m.order[n%len(m.order)] }
