package sim

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"assetledger/ledger/modeltest"
	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdfake"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// The simulation of a log on several machines, from one seed. Its etcd loses
// requests and replies, and executes other requests long after their sender has given
// up. There are two or three hosts with a disk each. Their daemons stand by, take
// over, write, sleep between any two calls, lose their leases while they are running,
// are killed, and lose their disks. The clients are those of TestSimulation.
//
// In the end every host must have the same frames, and the model must allow the
// history that the clients saw.

// A clusterWorld is a simulation of several machines. It takes the clients, and what
// is known about their requests, from simWorld.
type clusterWorld struct {
	*simWorld
	store  *etcdfake.Store
	hosts  []*simHost
	frames [][]byte // all frames that were ever in etcd, in wire form
	id     wal.LogID
	looked int64  // revision of etcd that headSeq looked at
	last   uint64 // the last commit of the log at that revision
	broken clusterSabotage
	stats  clusterStats
}

type clusterStats struct {
	takeovers, fenced, lost, kills, commits, ghosts, trimmed, acked, unknown, refused int
}

func simulateCluster(seed uint64, s clusterSabotage) (stats clusterStats, err error) {
	base := &simWorld{
		rng: rand.New(rand.NewPCG(seed, 0x636c75)), now: 1_700_000_000_000_000_000, model: modeltest.New(0), digests: map[uint64]uint64{},
	}
	w := &clusterWorld{simWorld: base, store: etcdfake.NewStore(), broken: s}
	defer func() {
		for _, h := range w.hosts {
			if h.resume != nil {
				h.leave()
			}
		}
		if p := recover(); p != nil {
			f, ok := p.(simFailure)
			if !ok {
				f.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			stats, err = w.stats, f.err
		}
	}()
	if s.store != nil {
		s.store(w.store)
	}
	base.end = w.headSeq
	knobs := modeltest.DefaultKnobs()
	knobs.Keyed, knobs.Repeated, knobs.Bulky, knobs.Refused, knobs.Wild = 1, 0, 0.05, 0.1, 0.03
	w.gen = modeltest.NewGen(seed, w.model, knobs)
	if w.rng.IntN(3) == 0 { // commits are rejected until frames are deleted
		w.store.Quota = 4<<10 + w.rng.Int64N(16<<10)
	}
	for i := range 2 + w.rng.IntN(2) {
		h := &simHost{clusterWorld: w, name: fmt.Sprint("host", i), disk: memfs.New(seed + uint64(i)), client: &etcdfake.Client{Store: w.store}}
		h.client.Fault = h.fault
		w.hosts = append(w.hosts, h)
	}
	for i := range 2 + w.rng.IntN(4) {
		w.clients = append(w.clients, &simClient{simWorld: base, id: i})
	}
	for range 500 + w.rng.IntN(2000) {
		w.turn()
		w.catchUp()
	}
	w.settle()
	return w.stats, w.judge()
}

// turn does one random thing.
func (w *clusterWorld) turn() {
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	switch k := w.rng.IntN(1000); {
	case k < 650:
		h.step()
	case k < 940:
		w.client((*simClient).step)
	case k < 960:
		if n := w.store.Ghosts(); n > 0 {
			w.store.Ghost(w.rng.IntN(n))
			w.stats.ghosts++
		}
	case k < 962:
		if ids := w.store.Leases(); len(ids) > 0 {
			w.store.Revoke(ids[w.rng.IntN(len(ids))])
		}
	case k < 980: // faults are repaired faster than they occur
		h.client.Cut, w.store.Full = false, false
	case k < 982:
		h.client.Cut = true
	case k < 983:
		w.store.Full = true
	case k < 993:
		w.now += w.rng.Int64N(1e9)
	case k < 995:
		w.stats.kills++
		h.kill()
	case k < 996:
		w.stats.kills++
		h.kill()
		h.disk.Crash()
	case k < 998:
		h.asleep = w.rng.IntN(200)
	case k < 999 && w.stats.lost == 0 && len(w.hosts) == 3:
		h.lose()
	}
}

// client lets a random client take a step with a random host, which accepts requests
// only if it writes.
func (w *clusterWorld) client(step func(*simClient)) {
	w.writer = nil
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	if h.core != nil {
		w.writer = &simWriter{simWorld: w.simWorld, core: h.core}
	}
	step(w.clients[w.rng.IntN(len(w.clients))])
}

// headSeq returns the last commit of the log.
func (w *clusterWorld) headSeq() uint64 {
	if at := w.store.Revision(); at != w.looked {
		w.looked, w.last = at, w.readHead()
	}
	return w.last
}

func (w *clusterWorld) readHead() uint64 {
	var head struct {
		Seq uint64 `json:"seq"`
		Log string `json:"log"`
	}
	kvs := w.store.Range("/l/head", "", 0).KVs
	if len(kvs) == 0 {
		return 0
	}
	if err := json.Unmarshal(kvs[0].Value, &head); err != nil {
		w.failf("the head is %q", kvs[0].Value)
	}
	hex.Decode(w.id[:], []byte(head.Log))
	return head.Seq
}

// catchUp applies what has become durable in etcd to the model.
func (w *clusterWorld) catchUp() {
	for end := w.headSeq(); w.model.Seq() < end; {
		next := w.model.Seq() + 1
		kvs := w.store.Range(fmt.Sprintf("/l/f/%020d", next), "", 0).KVs
		if len(kvs) == 0 {
			w.failf("the head says %d, and there is no frame that begins with commit %d", end, next)
		}
		segment := uint64(1)
		if n := len(w.frames); n > 0 {
			segment = frameFirst(w.frames[0])
			for _, image := range w.frames {
				if image[5] != 0 {
					segment = frameFirst(image)
				}
			}
		}
		f, _, err := wal.ParseFrame(kvs[0].Value, w.id, segment)
		if err != nil {
			w.failf("commit %d in etcd: %v", next, err)
		}
		w.frames = append(w.frames, kvs[0].Value)
		if err := w.modelFrame(&f); err != nil {
			w.failf("commit %d in etcd: %v", next, err)
		}
		for i := range uint64(f.Count) {
			w.history.Commits = append(w.history.Commits, modeltest.Commit{Seq: f.First + i, BatchSeq: uint32(i + 1), Time: f.Time, Record: *w.records[f.First+i-1]})
		}
	}
}

// settle repairs the world, and lets every client learn the outcome of its
// request.
func (w *clusterWorld) settle() {
	for w.store.Ghosts() > 0 {
		w.store.Ghost(0)
	}
	for _, id := range w.store.Leases() {
		w.store.Revoke(id)
	}
	w.calm, w.store.Full, w.store.Quota = true, false, 8<<30
	for _, h := range w.hosts {
		h.client.Cut, h.asleep = false, 0
	}
	for n := range 20_000 {
		for _, h := range w.hosts {
			h.step()
		}
		w.catchUp()
		if n%10 == 0 {
			w.now += 1e9
		}
		if n%2000 == 1999 { // leases left by daemons that were killed while they took over
			for _, id := range w.store.Leases() {
				w.store.Revoke(id)
			}
		}
		w.client((*simClient).finish)
		if n > 200 && !slices.ContainsFunc(w.clients, (*simClient).busy) && w.level() {
			return
		}
	}
	var still []string
	for _, h := range w.hosts {
		at := "is down"
		switch {
		case h.core != nil:
			at = fmt.Sprintf("writes, its log ends at %d", h.core.Durable())
		case h.member != nil:
			at = fmt.Sprintf("stands by at %d", h.replay.State().Seq())
		}
		still = append(still, fmt.Sprintf("%s %s (%v)", h.name, at, h.why))
	}
	for _, c := range w.clients {
		if c.busy() {
			still = append(still, fmt.Sprintf("client %d waits for %d responses", c.id, len(c.sent)))
		}
	}
	w.failf("the clients' requests never end, with the log at %d: %s", w.headSeq(), strings.Join(still, "; "))
}

// level reports whether every host has the whole log, and exactly one of them writes.
func (w *clusterWorld) level() bool {
	writers := 0
	for _, h := range w.hosts {
		switch {
		case h.core != nil && !h.core.InFlight() && h.core.Durable() == w.headSeq():
			writers++
		case h.member == nil || h.member.Durable() != w.headSeq() || h.replay.State().Seq() != w.headSeq():
			return false
		}
	}
	return writers == 1
}

// judge compares the copies and checks the history.
func (w *clusterWorld) judge() error {
	for _, h := range w.hosts {
		h.stop()
		if err := w.sameFrames(h); err != nil {
			return err
		}
	}
	w.stats.commits = len(w.history.Commits)
	b := &w.simWorld.stats
	w.stats.acked, w.stats.unknown, w.stats.refused = b.acked, b.unknown, b.refused
	w.stats.trimmed = len(w.frames) - len(w.store.Range("/l/f/", "/l/f0", 0).KVs)
	return w.history.Check()
}

var clusterSeeds = flag.Int("cluster-seeds", 60/raceFactor, "how many simulations of several machines to run")

func TestCluster(t *testing.T) {
	first := *simSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) % 1e12
	}
	var total clusterStats
	for i := range uint64(*clusterSeeds) {
		s, err := simulateCluster(first+i, clusterSabotage{})
		if err != nil {
			t.Fatalf("repeat with -run 'TestCluster$' -cluster-seeds 1 -seed %d: %v", first+i, err)
		}
		total.takeovers += s.takeovers
		total.fenced += s.fenced
		total.lost += s.lost
		total.kills += s.kills
		total.commits += s.commits
		total.ghosts += s.ghosts
		total.trimmed += s.trimmed
		total.acked += s.acked
		total.unknown += s.unknown
		total.refused += s.refused
	}
	t.Logf("seeds from %d: %+v", first, total)
	if *clusterSeeds >= 20 && (total.takeovers < *clusterSeeds || total.fenced == 0 || total.ghosts == 0 || total.acked == 0 || total.refused == 0 || total.trimmed == 0) {
		t.Error("too few takeovers, or no writer was fenced, no late request executed, no frame trimmed, or nothing acknowledged or rejected")
	}
}

// TestClusterIsDetermined checks that the seed determines everything in a
// simulation.
func TestClusterIsDetermined(t *testing.T) {
	for seed := range uint64(5) {
		a, errA := simulateCluster(seed, clusterSabotage{})
		b, errB := simulateCluster(seed, clusterSabotage{})
		if a != b || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("seed %d gave %+v (%v), and then %+v (%v)", seed, a, errA, b, errB)
		}
	}
}

var clusterSabotages = []clusterSabotage{
	{name: "conditions are ignored", store: func(s *etcdfake.Store) { s.Ignore = true }},
	{name: "a rejection is taken for a confirmation", api: func(a etcd.API) etcd.API {
		return &brokenAPI{API: a, result: func(t *etcd.Txn, r *etcd.TxnResult) { r.Succeeded = r.Succeeded || appends(t) }}
	}},
	{name: "the head is not compared", api: func(a etcd.API) etcd.API {
		return &brokenAPI{API: a, txn: func(t *etcd.Txn) *etcd.Txn {
			if !appends(t) {
				return t
			}
			free := *t
			free.If = nil
			return &free
		}}
	}},
	{name: "acknowledged before the reply", log: func(h *simHost, l commitlog.Writer) commitlog.Writer {
		return &lateLog{Writer: l, written: func(*wal.Frame) {}}
	}},
	{name: "confirmed without asking etcd", first: 2190, log: func(h *simHost, l commitlog.Writer) commitlog.Writer { return sureLog{l} }},
	{name: "trimmed below what the copies have", first: 100, api: func(a etcd.API) etcd.API {
		return &brokenAPI{API: a, found: func(key string, r *etcd.RangeResult) {
			if key == "/l/mirror/" {
				claim := []byte(`{"seq":18446744073709551614,"url":""}`)
				r.KVs = []etcd.KV{{Key: "/l/mirror/x", Value: claim}, {Key: "/l/mirror/y", Value: claim}}
			}
		}}
	}},
}

// TestClusterFinds tests the simulation itself: it must find each defect.
func TestClusterFinds(t *testing.T) {
	for _, s := range clusterSabotages {
		const seeds = 2000
		found := -1
		for seed := range uint64(seeds) {
			if _, err := simulateCluster(s.first+seed, s); err != nil {
				found = int(seed)
				t.Logf("%s: seed %d: %.200s", s.name, s.first+seed, err)
				break
			}
		}
		if found < 0 {
			t.Errorf("%s: not found in %d runs", s.name, seeds)
		}
	}
}
