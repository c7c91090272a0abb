package systemtest

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdtest"
)

// TestProveCluster kills and stops members of etcd and write daemons under
// load. Afterwards nothing that was acknowledged may be lost, duplicated or
// answered differently, and the directories of all hosts must have the same
// bytes.
func TestProveCluster(t *testing.T) {
	for range proof(t, 1, 6) { // each with a new log, which can be copied quickly
		t.Run("cluster", func(t *testing.T) {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			t.Logf("seed %d", seed)
			r := newClusterRig(t, seed, clusterPlan{})
			r.prove(1, r.faults(rng))
		})
	}
}

// faults returns the faults of processes, directories and data.
func (r *clusterRig) faults(rng *rand.Rand) []fault {
	short := []fault{
		{"kill the writer", func() { r.killWriter() }},
		{"kill the leader of etcd", func() { r.killMember(r.leader()) }},
		{"freeze the writer for longer than its lease", func() { r.freezeWriter() }},
		{"delete the writer's directory", func() { r.loseDirectory(r.writer()) }},
		{"ask the writer to stop", func() { r.stopWriter() }},
	}
	return append(short, proof(r.t, nil, []fault{
		{"kill a member of etcd", func() { r.killMember(r.etcd.Members[rng.IntN(3)]) }},
		{"kill all of etcd", func() {
			for _, m := range r.etcd.Members {
				m.Kill()
			}
			for _, m := range r.etcd.Members {
				m.Start()
			}
		}},
		{"freeze the leader of etcd", func() {
			m := r.leader()
			m.Signal(syscall.SIGSTOP)
			defer m.Signal(syscall.SIGCONT)
			r.anotherLeads(m)
			r.awaitCommits(1)
		}},
		{"delete the directory of a daemon that stands by", func() { r.loseDirectory(r.standby()) }},
		{"delete the data of a member of etcd", func() { r.loseMember(r.etcd.Members[rng.IntN(3)]) }},
	})...)
}

func (r *clusterRig) killMember(m *etcdtest.Member) {
	m.Kill()
	defer m.Start()
	r.anotherLeads(m)
	r.awaitCommits(1)
}

// leader waits for a member of etcd to lead, and returns it.
func (r *clusterRig) leader() (m *etcdtest.Member) {
	r.t.Helper()
	r.until("a leader of etcd", func() bool { m = r.etcd.Leader(); return m != nil })
	return m
}

// anotherLeads waits until a member of etcd other than m leads.
func (r *clusterRig) anotherLeads(m *etcdtest.Member) {
	r.t.Helper()
	r.until("another leader of etcd", func() bool {
		return slices.ContainsFunc(r.etcd.Members, func(o *etcdtest.Member) bool { return o != m && o.Leads() })
	})
}

// killWriter kills the writer, and starts it again once another daemon writes.
func (r *clusterRig) killWriter() {
	m := r.writer()
	m.write.kill()
	r.another(m)
	r.start(m)
}

// freezeWriter suspends the writer with SIGSTOP until another daemon writes. Once
// resumed, the first one must stand by.
func (r *clusterRig) freezeWriter() {
	m := r.writer()
	m.write.cmd.Process.Signal(syscall.SIGSTOP)
	r.another(m)
	m.write.cmd.Process.Signal(syscall.SIGCONT)
	r.standsBy(m)
}

// stopWriter stops the writer with SIGTERM, and starts it again.
func (r *clusterRig) stopWriter() {
	m := r.writer()
	m.write.stop(r.t)
	r.start(m)
}

// loseDirectory deletes the directory of a machine. Its daemon exits by itself,
// and fills a new directory when it is started again.
func (r *clusterRig) loseDirectory(m *machine) {
	r.t.Helper()
	r.until("the directory is gone", func() bool { return os.RemoveAll(m.dir) == nil })
	if code := m.write.exit(r.t); code == 0 {
		r.t.Errorf("the daemon without its directory exited with code 0")
	}
	r.another(m)
	r.start(m)
	r.endLoad() // under full load, a copy may not catch up
	r.until("the copy is complete", func() bool {
		h, err := r.health(m.listen)
		return err == nil && h.Status == "healthy"
	})
	r.load()
}

// standby returns a machine that stands by.
func (r *clusterRig) standby() *machine {
	w := r.writer()
	return r.machines[slices.IndexFunc(r.machines, func(m *machine) bool { return m != w })]
}

// loseMember replaces a member of etcd whose data is lost, as docs/ops.md
// describes.
func (r *clusterRig) loseMember(m *etcdtest.Member) {
	r.t.Helper()
	m.Lose()
	id, _, ok := strings.Cut(lineWith(r.etcdctl("member", "list"), m.Peer), ",")
	if !ok {
		r.t.Fatalf("%s is not among the members", m.Peer)
	}
	r.etcdctl("member", "remove", id)
	r.etcdctl("member", "add", m.Name, "--peer-urls="+m.Peer)
	m.Start()
	client := etcd.NewClient(etcd.Config{Endpoints: []string{m.Endpoint}})
	defer client.Close()
	r.until("the new member responds", func() bool {
		_, err := client.Range(context.Background(), "/prove/head", "", 0)
		return err == nil
	})
}

// lineWith returns the first line that contains the given word, or "" if there is none.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return line
		}
	}
	return ""
}

// etcdctl runs the installed etcdctl, since buildEtcd builds only the server. It
// repeats a command that fails, for at most a minute.
func (r *clusterRig) etcdctl(args ...string) string {
	r.t.Helper()
	line := append([]string{"--endpoints", strings.Join(r.etcd.Endpoints(), ",")}, args...)
	cmd := exec.Command("etcdctl", line...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := cmd.CombinedOutput()
		if err == nil {
			return string(out)
		}
		if time.Now().After(end) {
			r.t.Fatalf("etcdctl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		again := exec.Command("etcdctl", line...)
		again.Env = cmd.Env
		cmd = again
	}
}
