package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"assetledger/server/etcd"
)

// An etcdCluster is a new, empty etcd cluster that is running.
type etcdCluster struct {
	b       *bench
	members []string // host:port
}

// etcdCluster starts n members with the given additional flags. It returns nil
// if etcd is absent.
func (b *bench) etcdCluster(n int, flags ...string) (*etcdCluster, error) {
	b.want("etcd", "etcd-server")
	path, err := exec.LookPath("etcd")
	if err != nil {
		b.skip("etcd", "not installed")
		return nil, nil
	}
	dir, err := os.MkdirTemp(b.dir, "etcd-")
	if err != nil {
		return nil, err
	}
	c := &etcdCluster{b: b}
	var peers, initial []string
	for i := range n {
		client, err := freePort()
		if err != nil {
			return nil, err
		}
		peer, err := freePort()
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, "127.0.0.1:"+client)
		peers = append(peers, "http://127.0.0.1:"+peer)
		initial = append(initial, fmt.Sprintf("n%d=%s", i, peers[i]))
	}
	var last *process
	for i := range n {
		name, client := fmt.Sprint("n", i), "http://"+c.members[i]
		if last, err = b.start(false, path, append([]string{"--name", name, "--data-dir", dir + "/" + name, "--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i], "--initial-cluster", strings.Join(initial, ","),
			"--logger", "zap", "--log-level", "error"}, flags...)...); err != nil {
			return nil, err
		}
	}
	gateway := c.gateway()
	return c, until(last, func() error {
		resp, err := http.Post(gateway.url+gateway.requests[0].path, "application/json", strings.NewReader(gateway.requests[0].body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
}

// threeEtcds starts the cluster for a log on several machines, as docs/ops.md
// advises.
func (b *bench) threeEtcds() (*etcdCluster, error) {
	return b.etcdCluster(3, "--quota-backend-bytes", "8589934592", "--snapshot-count", "1000")
}

// log returns the URL of a log in the cluster.
func (c *etcdCluster) log(prefix string) string {
	return "etcd://" + strings.Join(c.members, ",") + "/" + prefix
}

const putKeys = "account-%d"

// gateway returns a load of puts over HTTP and JSON.
func (c *etcdCluster) gateway() load {
	bodies := make([]string, variety)
	for i := range bodies {
		key := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, putKeys, i))
		bodies[i] = fmt.Sprintf(`{"key":"%s","value":"MTAwMDAwMDAwMDAwMA=="}`, key)
	}
	return posts("http://"+c.members[0], "/v3/kv/put", bodies)
}

// etcd returns a probe of puts to a single member, through its HTTP gateway. It returns
// nil if etcd is absent.
func (b *bench) etcd() ([]probe, error) {
	c, err := b.etcdCluster(1)
	if c == nil || err != nil {
		return nil, err
	}
	return []probe{b.pressed(etcdPut, nil, c.gateway(), connections)}, nil
}

// put sends puts through gRPC over one connection, for the time d. Each client
// sends one put after another. The values have 64 bytes, about as many as a commit
// of one transfer in a large batch.
func (c *etcdCluster) put(ctx context.Context, clients int, d time.Duration) (*outcome, error) {
	api := etcd.NewClient(etcd.Config{Endpoints: c.members})
	defer api.Close()
	value := block[:64]
	all := make([]*client, clients)
	start := time.Now()
	end := start.Add(d)
	var wait sync.WaitGroup
	for i := range all {
		one := &client{at: i * 7919}
		all[i] = one
		wait.Go(func() {
			for one.err == nil && ctx.Err() == nil && time.Now().Before(end) {
				began := time.Now()
				put := etcd.Op{Put: fmt.Sprintf(putKeys, one.at%variety), Value: value}
				_, one.err = api.Txn(ctx, &etcd.Txn{Then: []etcd.Op{put}})
				one.ok = append(one.ok, time.Since(began))
				one.at++
			}
		})
	}
	wait.Wait()
	return gather(all, time.Since(start))
}
