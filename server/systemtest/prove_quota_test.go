package systemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"assetledger/server/etcd"
)

// TestProveQuota fills a real etcd under load, in two ways. First there are too
// few copies on other hosts: health becomes degraded, and then commits are
// rejected, while etcd itself still accepts everything. Commits are accepted again
// once two daemons stand by. Then, in the long form, another client fills etcd
// itself: commits are rejected until etcd is repaired as docs/ops.md describes.
// Nothing that was acknowledged may be lost.
func TestProveQuota(t *testing.T) {
	long := proof(t, false, true)
	if _, err := exec.LookPath("etcdctl"); err != nil {
		t.Skipf("needs etcdctl: install Debian's etcd-client: %v", err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const quota = 48 << 20
	r := newClusterRig(t, seed, clusterPlan{flags: []string{"--quota-backend-bytes", fmt.Sprint(quota)}, segment: "4194304", idle: true})
	all := r.machines
	r.machines = all[:1]
	r.begin()
	filler := newClient(rigClients, seed, r.writeAt)
	r.load()

	degraded := false
	for r.fill(filler) {
		if h, err := r.health(all[0].listen); err == nil && h.Status == "degraded" {
			degraded = true
		}
	}
	filler.send("http://"+all[0].listen, filler.pending)
	if !degraded || !strings.Contains(filler.refused.body, "too few copies") {
		t.Errorf("health degraded before commits were rejected: %t, want true; they were rejected with %d %s, want too few copies", degraded, filler.refused.status, filler.refused.body)
	}
	client := etcd.NewClient(etcd.Config{Endpoints: r.etcd.Endpoints()})
	defer client.Close()
	s, err := client.Status(context.Background())
	if err != nil || len(s.Alarms) > 0 || s.Size >= quota {
		t.Errorf("when commits are rejected, etcd uses %d of %d bytes with the alarms %q, %v; want fewer bytes and no alarm", s.Size, quota, s.Alarms, err)
	}
	t.Logf("commits are rejected at %d %% of the quota", 100*s.InUse/quota)

	r.found()
	<-r.searched
	r.machines = all
	r.startAll()
	r.until("commits are accepted again", func() bool { return r.fill(filler) })
	if long {
		for range 40 { // more than the quota in total
			r.until("commits are accepted", func() bool { return r.fill(filler) })
		}
		r.loseDirectory(r.standby()) // what etcd no longer has comes from another host
		r.fillEtcd(filler, client)
	}
	r.awaitCommits(100)
	r.until("health is good", func() bool {
		h, err := r.health(r.writer().listen)
		return err == nil && h.Status == "healthy"
	})
	r.endLoad()
	r.until("the open request is settled", func() bool { return filler.pending == nil || r.fill(filler) })
	r.clients = append(r.clients, filler)
	r.compare()
	done, open := r.acknowledged()
	t.Logf("%d commits acknowledged, %d requests with an unknown outcome, none lost, none duplicated", done, open)
}

// fillEtcd fills etcd as another client, and repairs it as docs/ops.md
// describes.
func (r *clusterRig) fillEtcd(filler *client, client *etcd.Client) {
	r.t.Helper()
	var err error
	junk, put := strings.Repeat("x", 1<<20), 0
	for ; !errors.Is(err, etcd.ErrNoSpace); put++ {
		_, err = client.Txn(context.Background(), &etcd.Txn{Then: []etcd.Op{{Put: fmt.Sprintf("/junk/%d", put), Value: []byte(junk)}}})
	}
	r.until("commits are rejected", func() bool { return !r.fill(filler) })
	// While etcd is full, a daemon that is started stands by, and a daemon that is
	// killed is replaced only later.
	lost := r.machines[0]
	lost.write.kill()
	r.start(lost)
	r.etcdctl("del", "--prefix", "/junk/")
	r.etcdctl("compact", "--physical", fmt.Sprint(revision(r.t, client)))
	r.etcdctl("defrag")
	r.etcdctl("alarm", "disarm")
	r.until("commits are accepted again", func() bool { return r.fill(filler) })
}

// fill sends a batch of about 800 kB, or the client's pending job. It returns false
// if no daemon writes, or if the batch is rejected.
func (r *clusterRig) fill(c *client) bool {
	r.t.Helper()
	j := c.pending
	if j == nil {
		c.made++
		bodies := make([]string, 50)
		for i := range bodies {
			bodies[i] = fmt.Sprintf(`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}],"idempotency_key":%q,"metadata":{"x":"%s"}}`,
				c.key(i), strings.Repeat("x", 16000))
		}
		var err error
		if j, err = newJob("/v1/commit/batch", true, bodies...); err != nil {
			r.t.Fatal(err)
		}
		c.jobs = append(c.jobs, j)
	}
	at := r.writeAt.now()
	if at == "" {
		c.pending = j
		return false
	}
	if c.send(at, j); c.err != nil {
		r.t.Fatal(c.err)
	}
	return c.pending == nil
}

func revision(t *testing.T, client *etcd.Client) int64 {
	t.Helper()
	found, err := client.Range(context.Background(), "/prove/head", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return found.Revision
}
