package systemtest

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"assetledger/server/etcd"
)

// A split is a clusterRig on a network that can be cut.
type split struct {
	*clusterRig
	net *network
}

// TestProvePartition cuts the network between real processes under load: three
// members of etcd and two write daemons, each on a host of its own. Afterwards
// nothing that was acknowledged may be lost, duplicated or answered
// differently, and the directories of both hosts must have the same bytes.
func TestProvePartition(t *testing.T) {
	rounds := proof(t, 1, 3)
	if !onNetworkOfItsOwn(t) {
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	network := newNetwork(t, 5)
	r := split{newClusterRig(t, seed, clusterPlan{net: network, writers: 2}), network}
	short := []fault{
		{"what etcd sends to the writer is lost", func() { r.cutWriter(func(writer, etcd []int) { r.net.lose(etcd, writer) }) }},
		{"the leader of etcd cut off from the others", func() { r.cutLeader(r.net.part) }},
	}
	r.prove(rounds, append(short, proof(t, nil, []fault{
		{"writer and etcd cut off from each other", func() { r.cutWriter(r.net.part) }},
		{"what the writer sends to etcd is lost", func() { r.cutWriter(r.net.lose) }},
		{"what the leader of etcd sends to the others is lost", func() { r.cutLeader(r.net.lose) }},
		{"what the others send to the leader of etcd is lost", func() { r.cutLeader(func(leader, others []int) { r.net.lose(others, leader) }) }},
		{"writer and leader of etcd on the minority side", r.cutMinority},
		{"both daemons cut off for longer than the lease", r.cutAll},
	})...))
}

// host returns the host number of a machine.
func (r split) host(m *machine) int { return 3 + slices.Index(r.machines, m) }

// sides returns the host number of etcd's leader, and the host numbers of the other
// members.
func (r split) sides() (leader int, others []int) {
	r.t.Helper()
	leader = slices.Index(r.etcd.Members, r.clusterRig.leader())
	return leader, slices.Delete([]int{0, 1, 2}, leader, leader+1)
}

// cutWriter cuts the writer off from etcd until the other daemon writes, and
// for some time after that.
func (r split) cutWriter(cut func(writer, etcd []int)) {
	r.t.Helper()
	m := r.writer()
	cut([]int{r.host(m)}, []int{0, 1, 2})
	r.another(m)
	r.awaitCommits(50)
	r.mustNotAnswer(m)
	r.net.heal()
	r.standsBy(m)
}

// mustNotAnswer checks that a writer that has been replaced, but has not
// noticed yet, returns no results from memory.
func (r split) mustNotAnswer(m *machine) {
	r.t.Helper()
	for _, path := range []string{"/v1/commit", "/v1/commit/preflight"} {
		a, err := post(&http.Client{Timeout: 20 * time.Second}, "http://"+m.listen+path, r.began.body)
		if err != nil || a.status != http.StatusServiceUnavailable {
			r.t.Errorf("%s to a writer that was replaced: %d %s %v, want 503", path, a.status, a.body, err)
		}
	}
}

// cutLeader cuts etcd's leader off from the other members in the given way,
// until one of them leads and commits are accepted.
func (r split) cutLeader(cut func(leader, others []int)) {
	r.t.Helper()
	leader, others := r.sides()
	cut([]int{leader}, others)
	r.anotherLeads(r.etcd.Members[leader])
	r.awaitCommits(50)
	r.net.heal()
}

// cutMinority cuts the writer and etcd's leader off from all others.
func (r split) cutMinority() {
	r.t.Helper()
	m := r.writer()
	leader, others := r.sides()
	for _, x := range r.machines {
		if x != m {
			others = append(others, r.host(x))
		}
	}
	r.net.part([]int{leader, r.host(m)}, others)
	r.another(m)
	r.awaitCommits(50)
	r.mustNotAnswer(m)
	r.net.heal()
	r.standsBy(m)
}

// cutAll cuts both daemons off from etcd until the writer's lease has expired.
func (r split) cutAll() {
	r.t.Helper()
	client := etcd.NewClient(etcd.Config{Endpoints: r.etcd.Endpoints()})
	defer client.Close()
	r.net.part([]int{3, 4}, []int{0, 1, 2})
	r.until("the lease has expired", func() bool {
		found, err := client.Range(context.Background(), "/prove/active", "", 0)
		return err == nil && len(found.KVs) == 0
	})
	r.net.heal()
	r.awaitCommits(50)
	writer := r.writer()
	for _, m := range r.machines {
		if m != writer {
			r.standsBy(m)
		}
	}
}
