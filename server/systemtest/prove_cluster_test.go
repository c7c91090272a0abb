package systemtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server/etcd/etcdtest"
)

// A machine is one host of a log on several: its directory and write daemon.
type machine struct {
	dir    string
	listen string
	write  *process // nil while it does not run
}

// A clusterRig is a rig whose log is on several machines.
type clusterRig struct {
	*rig
	etcd     *etcdtest.Cluster
	url      string // of the log
	machines []*machine
	quick    *http.Client
	found    context.CancelFunc // ends the search for the writer
	searched chan struct{}
}

// TestProveCluster kills and stops members of etcd and write daemons under load.
// Afterwards nothing that was acknowledged is lost, doubled or answered
// otherwise, and the directories of all hosts are the same bytes.
func TestProveCluster(t *testing.T) {
	rounds := proof(t, 1, 6)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	r := newClusterRig(t, seed)
	faults := []struct {
		name string
		do   func()
	}{
		{"kill the leader of etcd", func() { r.killMember(r.etcd.Leader()) }},
		{"kill a member of etcd", func() { r.killMember(r.etcd.Members[rng.IntN(3)]) }},
		{"kill the writer", func() { r.killWriter() }},
		{"stop the writer for longer than its lease", func() { r.freezeWriter() }},
		{"kill all of etcd", func() {
			for _, m := range r.etcd.Members {
				m.Kill()
			}
			for _, m := range r.etcd.Members {
				m.Start()
			}
		}},
		{"ask the writer to stop", func() { r.stopWriter() }},
		{"freeze the leader of etcd", func() {
			if m := r.etcd.Leader(); m != nil {
				m.Signal(syscall.SIGSTOP)
				defer m.Signal(syscall.SIGCONT)
			}
			r.awaitCommits(1)
		}},
	}
	for round := range rounds {
		for _, f := range faults {
			r.load()
			r.awaitCommits(200)
			began := time.Now()
			f.do()
			r.awaitCommits(1)
			t.Logf("round %d: %s: commits again after %v", round+1, f.name, time.Since(began).Round(10*time.Millisecond))
			r.endLoad()
			if t.Failed() {
				return
			}
		}
		r.settle()
		for _, m := range r.machines {
			r.dir = m.dir
			r.verify()
			if err := r.check(); err != nil {
				t.Errorf("after round %d, %s: %v", round+1, m.dir, err)
			}
			sameSegments(t, r.machines[0].dir, m.dir)
		}
		if round+1 < rounds {
			r.startAll()
		}
	}
	done, open := r.acknowledged()
	t.Logf("%d commits acknowledged, %d requests of unknown outcome, none lost, none doubled; %d directories are the same bytes", done, open, len(r.machines))
}

func newClusterRig(t *testing.T, seed uint64) *clusterRig {
	r := &clusterRig{etcd: etcdtest.Start(t, 3), quick: &http.Client{Timeout: time.Second}}
	r.url = "etcd://" + strings.Join(r.etcd.Endpoints(), ",") + "/prove"
	dir := t.TempDir()
	for i := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.machines = append(r.machines, &machine{dir: filepath.Join(dir, fmt.Sprint("host", i)), listen: l.Addr().String()})
		l.Close()
	}
	r.rig = newRig(t, r.machines[0].dir, "262144", seed)
	r.startAll()
	t.Cleanup(func() {
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
		t.Fatalf("setting up: %v %d %s", err, a.status, a.body)
	}
	return r
}

// startAll starts the daemons that do not run, and the search for the writer.
func (r *clusterRig) startAll() {
	r.t.Helper()
	for _, m := range r.machines {
		if m.write == nil {
			m.write = startProcessAt(r.t, m.listen, "ledger-write", "-dir", m.dir, "-segment-size", r.segment, "-driver", r.url)
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

// search tells the clients who writes.
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

// writer is the machine that writes, as soon as one does.
func (r *clusterRig) writer() *machine {
	r.t.Helper()
	url, _, _ := r.writeAt.await(nil)
	for _, m := range r.machines {
		if url == "http://"+m.listen {
			return m
		}
	}
	r.t.Fatalf("%s is no machine", url)
	return nil
}

// health is that of the daemon at an address.
func (r *clusterRig) health(listen string) (h struct {
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

// until waits until something holds, for a minute at most.
func (r *clusterRig) until(what string, holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			for _, m := range r.machines {
				h, err := r.health(m.listen)
				r.t.Logf("%s: %+v %v", m.listen, h, err)
			}
			r.t.Fatalf("%s: not within a minute", what)
		}
	}
}

// end is the end of the log, as far as any daemon knows.
func (r *clusterRig) end() (end uint64) {
	for _, m := range r.machines {
		if h, err := r.health(m.listen); err == nil {
			end = max(end, h.CommitLog.End)
		}
	}
	return end
}

// awaitCommits waits until there are n more commits.
func (r *clusterRig) awaitCommits(n uint64) {
	r.t.Helper()
	from := r.end()
	r.until("commits", func() bool { return r.end() >= from+n })
}

func (r *clusterRig) killMember(m *etcdtest.Member) {
	if m != nil {
		m.Kill()
		defer m.Start()
	}
	r.awaitCommits(1)
}

// killWriter kills the writer, and starts it again when another writes.
func (r *clusterRig) killWriter() {
	m := r.writer()
	m.write.kill()
	r.until("another writer", func() bool { return r.writer() != m })
	m.write = startProcessAt(r.t, m.listen, "ledger-write", "-dir", m.dir, "-segment-size", r.segment, "-driver", r.url)
}

// freezeWriter stops the writer until another one writes; then it stands by.
func (r *clusterRig) freezeWriter() {
	m := r.writer()
	m.write.cmd.Process.Signal(syscall.SIGSTOP)
	r.until("another writer", func() bool { return r.writer() != m })
	m.write.cmd.Process.Signal(syscall.SIGCONT)
	r.until("the first stands by", func() bool {
		h, err := r.health(m.listen)
		return err == nil && h.Role == "standby"
	})
}

// stopWriter asks the writer to stop, and starts it again.
func (r *clusterRig) stopWriter() {
	m := r.writer()
	m.write.stop(r.t)
	m.write = startProcessAt(r.t, m.listen, "ledger-write", "-dir", m.dir, "-segment-size", r.segment, "-driver", r.url)
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
		t.Fatalf("%s has %v, %s has %v", a, x, b, y)
	}
	for _, name := range list(a) {
		x, err := os.ReadFile(filepath.Join(a, "wal", name))
		y, err2 := os.ReadFile(filepath.Join(b, "wal", name))
		if err != nil || err2 != nil || !slices.Equal(x, y) {
			t.Errorf("%s: %s and %s differ, %v, %v", name, a, b, err, err2)
		}
	}
}
