// Package etcdtest starts clusters of etcd on loopback ports, for tests.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server/etcd"
)

// A Cluster is a cluster of etcd processes.
type Cluster struct {
	Members []*Member
}

// A Member is one etcd process.
type Member struct {
	Endpoint string // host:port
	t        testing.TB
	args     []string
	log      *os.File
	cmd      *exec.Cmd // nil while it does not run
}

// Start starts n members, with further flags, and waits until they have a
// leader. Without etcd on the machine it skips the test.
func Start(t testing.TB, n int, flags ...string) *Cluster {
	t.Helper()
	program, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("needs etcd, which is absent: install Debian's etcd-server")
	}
	dir := t.TempDir()
	c := new(Cluster)
	ports := freePorts(t, 2*n)
	var initial []string
	for i := range n {
		initial = append(initial, fmt.Sprintf("n%d=http://127.0.0.1:%d", i, ports[2*i+1]))
	}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[2*i]), fmt.Sprintf("http://127.0.0.1:%d", ports[2*i+1])
		log, err := os.Create(filepath.Join(dir, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		m := &Member{Endpoint: strings.TrimPrefix(client, "http://"), t: t, log: log, args: append([]string{program,
			"--name", name, "--data-dir", filepath.Join(dir, name), "--logger", "zap",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(initial, ","), "--initial-cluster-state", "new", "--snapshot-count", "1000"}, flags...)}
		c.Members = append(c.Members, m)
		t.Cleanup(func() { m.Kill(); log.Close() })
		m.Start()
	}
	c.Await(t)
	return c
}

// Endpoints are those of all members.
func (c *Cluster) Endpoints() (all []string) {
	for _, m := range c.Members {
		all = append(all, m.Endpoint)
	}
	return all
}

// Leader is the member that leads, nil if none does.
func (c *Cluster) Leader() *Member {
	for _, m := range c.Members {
		if m.cmd == nil {
			continue
		}
		if id, leader := m.ids(); id != 0 && id == leader {
			return m
		}
	}
	return nil
}

// Await waits until the cluster answers, if only with a refusal.
func (c *Cluster) Await(t testing.TB) {
	t.Helper()
	client := etcd.NewClient(etcd.Config{Endpoints: c.Endpoints()})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, err := client.Range(ctx, "x", "", 0)
		if err == nil || etcd.Refused(err) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the cluster does not answer: %v; %s", err, c.Members[0].tail())
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// pause returns after d, or when ctx is done.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// ids are the member's own id and that of the leader it knows; 0 if it does
// not answer.
func (m *Member) ids() (self, leader uint64) {
	client := etcd.NewClient(etcd.Config{Endpoints: []string{m.Endpoint}})
	defer client.Close()
	s, err := client.Status(context.Background())
	if err != nil {
		return 0, 0
	}
	return s.Member, s.Leader
}

// Start starts the member, again if it was killed.
func (m *Member) Start() {
	m.t.Helper()
	m.cmd = exec.Command(m.args[0], m.args[1:]...)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// Kill ends the member as a power cut would.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	m.Signal(syscall.SIGKILL)
	m.cmd.Wait()
	m.cmd = nil
}

// Signal sends the member a signal: SIGSTOP freezes it, SIGCONT goes on.
func (m *Member) Signal(s syscall.Signal) {
	if err := m.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.t.Error(err)
	}
}

// tail is the end of the member's log.
func (m *Member) tail() string {
	b, _ := os.ReadFile(m.log.Name())
	return string(b[max(0, len(b)-2000):])
}

// freePorts returns ports of the loopback address that are free at the moment.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
