package systemtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assetledger/server/etcd/etcdtest"
)

// A machine is one host of a log on several machines: its directory and its
// write daemon.
type machine struct {
	dir    string
	listen string
	inside []string // the command prefix that runs a command on the host
	write  *process // nil: it is not running
}

// A clusterRig is a rig whose log is on several machines.
type clusterRig struct {
	*rig
	etcd     *etcdtest.Cluster
	url      string // of the log
	machines []*machine
	quick    *http.Client
	pauses   pauses
	found    context.CancelFunc // ends the search for the writer
	searched chan struct{}
}

// A clusterPlan describes a clusterRig.
type clusterPlan struct {
	program string   // path of etcd; "": that of etcdtest.Program
	flags   []string // for etcd
	net     *network // its first three hosts run etcd; nil: loopback
	writers int      // number of write daemons; 0: three
	segment string   // segment size of the log, in bytes; "": 256 KiB
	idle    bool     // don't start the daemons yet
}

func newClusterRig(t *testing.T, seed uint64, p clusterPlan) *clusterRig {
	if p.program == "" {
		p.program = etcdtest.Program(t)
	}
	if p.writers == 0 {
		p.writers = 3
	}
	hosts := make([]etcdtest.Host, 3)
	if p.net != nil {
		for i := range hosts {
			hosts[i] = etcdtest.Host{Address: p.net.address(i), Inside: p.net.inside(i)}
		}
	}
	r := &clusterRig{etcd: etcdtest.StartOn(t, p.program, hosts, p.flags...), quick: &http.Client{Timeout: time.Second}}
	r.url = "etcd://" + strings.Join(r.etcd.Endpoints(), ",") + "/prove"
	dir := t.TempDir()
	for i := range p.writers {
		m := &machine{dir: filepath.Join(dir, fmt.Sprint("host", i))}
		if p.net != nil {
			m.listen, m.inside = p.net.address(len(hosts)+i)+":8080", p.net.inside(len(hosts)+i)
		} else {
			m.listen = etcdtest.FreeAddress(t)
		}
		r.machines = append(r.machines, m)
	}
	r.rig = newRig(t, r.machines[0].dir, cmp.Or(p.segment, "262144"), seed)
	for _, c := range r.clients {
		c.pauses = &r.pauses
	}
	if !p.idle {
		r.begin()
	}
	return r
}

// begin starts the daemons, and waits for the first commit.
func (r *clusterRig) begin() {
	r.t.Helper()
	r.startAll()
	r.t.Cleanup(func() {
		r.close()
		r.found()
	})
	c := r.clients[0]
	url, _, _ := r.writeAt.await(nil)
	a, err := post(c.http, url+r.began.path, r.began.body)
	if err == nil {
		_, err = r.began.settle(a)
	}
	if err != nil || !r.began.acknowledged() {
		r.t.Fatalf("setup: %v %d %s", err, a.status, a.body)
	}
}

// start starts the write daemon of a machine.
func (r *clusterRig) start(m *machine) {
	r.t.Helper()
	line := append(slices.Clone(m.inside), filepath.Join(buildPrograms(r.t), "ledger-write"), "-dir", m.dir, "-segment-size", r.segment, "-driver", r.url, "-listen", m.listen)
	if len(m.inside) > 0 {
		line = append(line, "-insecure")
	}
	m.write = startCommand(r.t, "ledger-write", m.listen, line...)
}

// A fault is one way to harm a cluster under load.
type fault struct {
	name string
	do   func()
}

// prove causes the faults one after another, all of them in each round. After
// each round it compares the directories with each other, and the log with what
// the clients saw.
func (r *clusterRig) prove(rounds int, faults []fault) {
	r.t.Helper()
	for round := range rounds {
		for _, f := range faults {
			r.load()
			r.awaitCommits(200)
			r.pauses.begin()
			f.do()
			r.awaitCommits(50)
			r.t.Logf("round %d: %s: no acknowledgement for %v", round+1, f.name, r.pauses.worst())
			r.endLoad()
			if r.t.Failed() {
				return
			}
		}
		r.compare()
		if round+1 < rounds {
			r.startAll()
		}
	}
	done, open := r.acknowledged()
	r.t.Logf("%d commits acknowledged, %d requests with an unknown outcome, none lost, none duplicated; %d directories have the same bytes", done, open, len(r.machines))
}

// compare stops the daemons. It then compares all directories with each other
// and with what the clients saw.
func (r *clusterRig) compare() {
	r.t.Helper()
	r.settle()
	for _, m := range r.machines {
		r.dir = m.dir
		r.verify()
		if err := r.check(); err != nil {
			r.t.Errorf("%s: %v", m.dir, err)
		}
		sameSegments(r.t, r.machines[0].dir, m.dir)
	}
}

// startAll starts the daemons that are not running, and the search for the writer.
func (r *clusterRig) startAll() {
	r.t.Helper()
	for _, m := range r.machines {
		if m.write == nil {
			r.start(m)
		}
	}
	var ctx context.Context
	ctx, r.found = context.WithCancel(context.Background())
	r.searched = make(chan struct{})
	go func() {
		defer close(r.searched)
		r.search(ctx)
	}()
}

// search keeps telling the clients which daemon writes.
func (r *clusterRig) search(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	at := ""
	for {
		ready := ""
		for _, m := range r.machines {
			resp, err := r.quick.Get("http://" + m.listen + "/v1/readyz")
			if err != nil {
				continue
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				ready = "http://" + m.listen
			}
		}
		if ready != at {
			r.writeAt.clear()
			if at = ready; at != "" {
				r.writeAt.set(at)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// writer waits for a machine to write, and returns it.
func (r *clusterRig) writer() (m *machine) {
	r.t.Helper()
	r.until("a writer", func() bool { m = r.ready(); return m != nil })
	return m
}

// ready returns the machine that accepts commits, or nil if there is none.
func (r *clusterRig) ready() *machine {
	at := r.writeAt.now()
	for _, m := range r.machines {
		if at == "http://"+m.listen {
			return m
		}
	}
	return nil
}

// another waits until a machine other than m accepts commits.
func (r *clusterRig) another(m *machine) {
	r.t.Helper()
	r.until("another writer", func() bool { w := r.ready(); return w != nil && w != m })
}

// standsBy waits until the daemon of a machine stands by.
func (r *clusterRig) standsBy(m *machine) {
	r.t.Helper()
	r.until("a daemon stands by", func() bool {
		h, err := r.health(m.listen)
		return err == nil && h.Role == "standby"
	})
}

// health returns the health of the daemon at an address.
func (r *clusterRig) health(listen string) (h struct {
	Status    string
	Role      string
	CommitLog struct {
		End     uint64 `json:"end_seq"`
		Mirrors []struct {
			Name string
			Lag  uint64
		}
	} `json:"commit_log"`
}, err error) {
	resp, err := r.quick.Get("http://" + listen + "/v1/health")
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(&h)
	}
	return h, err
}

// until waits for a condition to hold, for at most a minute.
func (r *clusterRig) until(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			for _, m := range r.machines {
				h, err := r.health(m.listen)
				r.t.Logf("%s: %+v %v%s", m.listen, h, err, m.lastWords())
			}
			r.t.Fatalf("%s: not within a minute", what)
		}
	}
}

// lastWords returns what the daemon has logged if it has exited by itself, and ""
// otherwise.
func (m *machine) lastWords() string {
	if m.write == nil {
		return ""
	}
	select {
	case err := <-m.write.ended:
		m.write.ended <- err
		return fmt.Sprintf("\nit has exited: %v\n%s", err, m.write.words)
	default:
		return ""
	}
}

// end returns the end of the log, as far as any daemon knows.
func (r *clusterRig) end() (end uint64) {
	for _, m := range r.machines {
		if h, err := r.health(m.listen); err == nil {
			end = max(end, h.CommitLog.End)
		}
	}
	return end
}

// awaitCommits waits for n more commits.
func (r *clusterRig) awaitCommits(n uint64) {
	r.t.Helper()
	from := r.end()
	r.until("commits", func() bool { return r.end() >= from+n })
}

// settle waits until all copies are complete, and stops the daemons.
func (r *clusterRig) settle() {
	r.until("the copies are complete", func() bool {
		h, err := r.health(r.writer().listen)
		lags := 0
		for _, m := range h.CommitLog.Mirrors {
			if m.Lag > 0 {
				lags++
			}
		}
		return err == nil && len(h.CommitLog.Mirrors) >= len(r.machines)-1 && lags == 0
	})
	r.found()
	<-r.searched
	r.writeAt.clear()
	for _, m := range r.machines {
		m.write.stop(r.t)
		m.write = nil
	}
}

// sameSegments compares the segments of two directories.
func sameSegments(t *testing.T, a, b string) {
	t.Helper()
	list := func(dir string) []string {
		names, _ := filepath.Glob(dir + "/wal/*.seg")
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		return names
	}
	if x, y := list(a), list(b); len(x) == 0 || !slices.Equal(x, y) {
		t.Fatalf("the segments differ, or there are none: %s has %v, %s has %v", a, x, b, y)
	}
	for _, name := range list(a) {
		x, err := os.ReadFile(filepath.Join(a, "wal", name))
		y, err2 := os.ReadFile(filepath.Join(b, "wal", name))
		if err != nil || err2 != nil || !slices.Equal(x, y) {
			t.Errorf("%s: %s and %s differ, %v, %v", name, a, b, err, err2)
		}
	}
}
