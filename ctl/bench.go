package ctl

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

var benchCommand = command{
	Words:   "bench",
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
		b.mix.Set("single=1")
		set.Var(&b.clients, "clients", "`N` connections, each with one request at a time")
		set.Var(&b.duration, "duration", "`TIME` to run, at most 1h")
		set.Var(&b.mix, "mix", "weights of the `KINDS` of requests: single, batch, stream and read")
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

type bench struct {
	clients, containers, batch number
	duration                   duration
	mix                        benchMix
	clean, yes                 bool

	class, first int64 // ids of the class and of the first container
}

func (b *bench) run(c *call) error {
	if b.duration.Duration <= 0 || b.duration.Duration > longestBench {
		return usagef("-duration must be more than 0 and at most %v", longestBench)
	}
	if err := b.ask(c); err != nil {
		return err
	}
	ctx, halt := untilSignal(c.ctx)
	defer halt(nil)
	err := b.prepare(ctx, c)
	if err == nil {
		result := b.load(ctx, c)
		b.show(c, result)
		err = result.failure()
	}
	if !b.clean || b.containers.value == 0 {
		return err
	}
	left := b.remove(c)
	if left != nil && err != nil {
		return exitf(exitCode(err), "%v; the containers are not removed: %v", err, left)
	}
	return cmp.Or(err, left)
}

// ask asks the user before it loads a ledger whose first commit is not one of bench.
func (b *bench) ask(c *call) error {
	commits, err := c.commits()
	if err != nil || b.yes || commits == 0 || b.began(c) {
		return err
	}
	if in, isFile := c.in.(*os.File); !isFile || !isTerminal(in) || !isTerminal(c.words) {
		return usagef("the ledger has %s from elsewhere, and those of bench stay in it forever: give -yes to load it anyway", count(commits, "commit"))
	}
	fmt.Fprintf(c.words, "The ledger has %s. The commits of bench stay in it forever. Continue? [y/N] ", count(commits, "commit"))
	answer, _ := bufio.NewReader(c.in).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return exitf(exitFailure, "nothing was done")
	}
	return nil
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
		p50, p99, p999 := k.at(0.5), k.at(0.99), k.at(0.999)
		if c.json() {
			objects = append(objects, fmt.Sprintf(`{"request":%q,"answered":%d,"requests_per_s":%.1f,"transactions_per_s":%.1f,"p50_us":%d,"p99_us":%d,"p999_us":%d,"slowest_us":%d}`,
				benchNames[kind], k.count, rate, rate*each, p50.Microseconds(), p99.Microseconds(), p999.Microseconds(), k.most.Microseconds()))
			continue
		}
		transactions := none
		if each > 0 {
			transactions = fmt.Sprintf("%.0f", rate*each)
		}
		t.row(benchNames[kind], k.count, fmt.Sprintf("%.0f", rate), transactions, showTime(p50), showTime(p99), showTime(p999), showTime(k.most))
	}
	if c.json() {
		fmt.Fprintf(c.out, `{"seconds":%.3f,"requests":[%s],"failed":%d}`+"\n", r.took.Seconds(), strings.Join(objects, ","), r.failed)
		return
	}
	t.flush()
}

func showTime(d time.Duration) string { return fmt.Sprintf("%.3fms", d.Seconds()*1e3) }

// benchMix is a flag with the weights of the kinds of requests.
type benchMix struct {
	text  string
	order []int // each kind as many times as its weight
}

func (m *benchMix) Set(s string) error {
	var order []int
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		kind := slices.Index(benchNames[:], name)
		n, err := strconv.Atoi(value)
		if err != nil || kind < 0 || n < 0 || n > 1000 {
			return errors.New("it must be weights from 0 to 1000, such as single=8,batch=1,read=16")
		}
		order = append(order, slices.Repeat([]int{kind}, n)...)
	}
	if order == nil {
		return errors.New("one of its weights must be more than 0")
	}
	*m = benchMix{s, order}
	return nil
}

func (m *benchMix) String() string { return m.text }

// pick returns the kind of request number n, counted from 0.
func (m *benchMix) pick(n int) int { return m.order[n%len(m.order)] }
