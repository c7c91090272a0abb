// Package etcdtest starts clusters of etcd on loopback ports, for tests.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assetledger/server/etcd"
)

// Variable is the environment variable that names the etcd program to test with.
// Without it, the etcd in the PATH is used.
const Variable = "LEDGER_ETCD"

// A Cluster is a cluster of etcd processes.
type Cluster struct {
	Members []*Member
}

// A Member is one etcd process.
type Member struct {
	Name     string
	Endpoint string // host:port
	Peer     string // URL for the other members
	Data     string // data directory

	t    testing.TB
	args []string
	log  *os.File
	cmd  *exec.Cmd // nil while the member is not running
}

// A Host is where a member runs.
type Host struct {
	Address string   // IP address; "" for free ports on loopback
	Inside  []string // command that runs another command on the host
}

// Program returns the etcd program to test with. If there is none, it skips the
// test.
func Program(t testing.TB) string {
	t.Helper()
	name := "etcd"
	if named := os.Getenv(Variable); named != "" {
		name = named
	}
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs etcd: install Debian's etcd-server, or set %s to the path of an etcd program: %v", Variable, err)
	}
	return program
}

// Start starts n members on loopback ports, with additional flags, and waits until
// they have a leader. If there is no etcd program, it skips the test.
func Start(t testing.TB, n int, flags ...string) *Cluster {
	t.Helper()
	return StartOn(t, Program(t), make([]Host, n), flags...)
}

// StartOn starts a member on each host.
func StartOn(t testing.TB, program string, hosts []Host, flags ...string) *Cluster {
	t.Helper()
	dir := t.TempDir()
	c := new(Cluster)
	var initial []string
	for i, h := range hosts {
		name := fmt.Sprintf("n%d", i)
		client, peer := h.Address+":2379", h.Address+":2380"
		if h.Address == "" {
			client, peer = FreeAddress(t), FreeAddress(t)
		}
		log, err := os.Create(filepath.Join(dir, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		m := &Member{Name: name, Endpoint: client, Peer: "http://" + peer, Data: filepath.Join(dir, name), t: t, log: log}
		m.args = append(slices.Clone(h.Inside), program,
			"--name", name, "--data-dir", m.Data, "--logger", "zap",
			"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
			"--listen-peer-urls", m.Peer, "--initial-advertise-peer-urls", m.Peer, "--snapshot-count", "1000")
		m.args = append(m.args, flags...)
		c.Members = append(c.Members, m)
		initial = append(initial, name+"="+m.Peer)
		t.Cleanup(func() { m.Kill(); log.Close() })
	}
	for _, m := range c.Members {
		m.args = append(m.args, "--initial-cluster", strings.Join(initial, ","), "--initial-cluster-state", "new")
		m.Start()
	}
	c.Await(t)
	return c
}

// Lose kills the member and deletes its data. Before the member is started again,
// it must be added to the cluster again.
func (m *Member) Lose() {
	m.t.Helper()
	m.Kill()
	if err := os.RemoveAll(m.Data); err != nil {
		m.t.Fatal(err)
	}
	m.args[len(m.args)-1] = "existing"
}

// Endpoints returns the endpoints of all members.
func (c *Cluster) Endpoints() (all []string) {
	for _, m := range c.Members {
		all = append(all, m.Endpoint)
	}
	return all
}

// Leader returns the leader, or nil if there is none.
func (c *Cluster) Leader() *Member {
	for _, m := range c.Members {
		if m.Leads() {
			return m
		}
	}
	return nil
}

// Await waits until the cluster responds, even if only with a rejection.
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
			t.Fatalf("the cluster does not respond: %v; %s", err, c.Members[0].tail())
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// Leads reports whether the member claims to be the leader.
func (m *Member) Leads() bool {
	if m.cmd == nil {
		return false
	}
	client := etcd.NewClient(etcd.Config{Endpoints: []string{m.Endpoint}})
	defer client.Close()
	s, err := client.Status(context.Background())
	return err == nil && s.Member != 0 && s.Member == s.Leader
}

// Start starts the member, for the first time or after Kill.
func (m *Member) Start() {
	m.t.Helper()
	m.cmd = exec.Command(m.args[0], m.args[1:]...)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // end the member even if the test is killed
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// Kill ends the member with SIGKILL, and waits until it has ended.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	m.Signal(syscall.SIGKILL)
	m.cmd.Wait()
	m.cmd = nil
}

// Signal sends the member a signal: SIGSTOP freezes it, SIGCONT lets it continue.
func (m *Member) Signal(s syscall.Signal) {
	if err := m.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.t.Error(err)
	}
}

// tail returns the end of the member's log.
func (m *Member) tail() string {
	b, _ := os.ReadFile(m.log.Name())
	return string(b[max(0, len(b)-2000):])
}

// ports, modulo freePorts, is the offset of the port that FreeAddress tried last.
var ports atomic.Uint32

func init() { ports.Store(rand.Uint32N(freePorts)) }

const (
	firstPort = 20_000
	freePorts = 10_000
)

// FreeAddress returns a loopback address at which nothing listens. Its port is
// below those that the system chooses for connections and for listeners on port
// 0, so the system does not assign it to another process before the caller uses it,
// or while a daemon is restarted.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range freePorts {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+ports.Add(1)%freePorts)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
