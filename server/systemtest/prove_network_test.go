package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// onNetworkOfItsOwn is like onMachineOfItsOwn, but gives the process a network of its
// own too, for tests that cut networks.
func onNetworkOfItsOwn(t *testing.T, programs ...string) bool {
	t.Helper()
	if !inNamespaces(t, syscall.CLONE_NEWNET, "needs root and iproute2: it creates networks and cuts them", append(programs, "ip")...) {
		return false
	}
	if err := syscall.Mount("none", "/run", "tmpfs", 0, ""); err != nil { // where ip keeps the names of namespaces
		t.Fatalf("mounting /run: %v", err)
	}
	return true
}

// A network has hosts in namespaces of their own, and a router between them.
// The test itself runs on the router. The router silently drops packets between
// hosts that are cut off from each other, as a broken network does. The hosts and
// the test can always reach each other.
type network struct {
	t    *testing.T
	cuts []string // rules of the router
}

// newNetwork creates a network of n hosts.
func newNetwork(t *testing.T, n int) *network {
	t.Helper()
	x := &network{t: t}
	x.ip("link set lo up")
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		x.ip("netns add h%d", i)
		x.ip("link add v%d type veth peer name eth0 netns h%d", i, i)
		x.ip("addr add 10.77.%d.1/24 dev v%d", i, i)
		x.ip("link set v%d up", i)
		x.ip("-n h%d addr add %s/24 dev eth0", i, x.address(i))
		x.ip("-n h%d link set eth0 up", i)
		x.ip("-n h%d link set lo up", i)
		x.ip("-n h%d route add default via 10.77.%d.1", i, i)
	}
	return x
}

func (x *network) ip(format string, args ...any) {
	x.t.Helper()
	line := fmt.Sprintf(format, args...)
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		x.t.Fatalf("ip %s: %v %s", line, err, out)
	}
}

// address returns the address of a host.
func (x *network) address(host int) string { return fmt.Sprintf("10.77.%d.2", host) }

// inside returns the command prefix that runs a command on a host.
func (x *network) inside(host int) []string {
	return []string{"ip", "netns", "exec", fmt.Sprint("h", host)}
}

// lose drops all packets from the hosts in one list to those in another.
func (x *network) lose(from, to []int) {
	x.t.Helper()
	for _, a := range from {
		for _, b := range to {
			rule := fmt.Sprintf("blackhole from %s to %s", x.address(a), x.address(b))
			x.ip("rule add %s", rule)
			x.cuts = append(x.cuts, rule)
		}
	}
}

// part cuts the hosts in one list off from those in another.
func (x *network) part(some, others []int) {
	x.t.Helper()
	x.lose(some, others)
	x.lose(others, some)
}

// heal removes all cuts.
func (x *network) heal() {
	x.t.Helper()
	for _, rule := range x.cuts {
		x.ip("rule del %s", rule)
	}
	x.cuts = nil
}
