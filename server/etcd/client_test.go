package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdtest"
)

// TestCalls makes every call to a real etcd.
func TestCalls(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, "--quota-backend-bytes", "268435456")
	c := etcd.NewClient(etcd.Config{Endpoints: cluster.Endpoints()})
	t.Cleanup(c.Close)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Status(ctx)
	if must(err); s.Version == "" || s.Size == 0 || s.InUse == 0 || s.Quota != 256<<20 || s.Member == 0 || s.Member != s.Leader {
		t.Errorf("Status: got %+v, want a version, sizes, a quota of 256 MiB, and the member as leader", s)
	}

	id, granted, err := c.Grant(ctx, 60)
	if must(err); id == 0 || granted != 60 {
		t.Errorf("Grant: got lease %d of %d s, want one of 60 s", id, granted)
	}
	big := bytes.Repeat([]byte{0, 1, 2, 255}, 256<<10)
	put := &etcd.Txn{If: []etcd.Cond{{Key: "a"}},
		Then: []etcd.Op{{Put: "a", Value: []byte("1")}, {Put: "b", Value: big}, {Put: "c", Value: []byte("3"), Lease: id}}, Else: []etcd.Op{{Get: "a"}, {Get: "none"}, {Get: "c"}}}
	r, err := c.Txn(ctx, put)
	if must(err); !r.Succeeded || r.Revision == 0 || len(r.KVs) > 0 {
		t.Errorf("first transaction: got %+v, want success", r)
	}
	first := r.Revision
	r, err = c.Txn(ctx, put)
	if must(err); r.Succeeded || len(r.KVs) != 2 || string(r.KVs[0].Value) != "1" || r.KVs[1].Key != "c" {
		t.Errorf("the same transaction again: got %+v, want the values of a and c", r)
	}
	for _, value := range []string{"0", "1"} {
		r, err = c.Txn(ctx, &etcd.Txn{If: []etcd.Cond{{Key: "a", Value: []byte(value)}}, Then: []etcd.Op{{Put: "a", Value: []byte("2")}}})
		if must(err); r.Succeeded != (value == "1") {
			t.Errorf("transaction if a is %s: got %+v, want success only if a is 1", value, r)
		}
	}
	found, err := c.Range(ctx, "a", "c", 0)
	if must(err); len(found.KVs) != 2 || string(found.KVs[0].Value) != "2" || !bytes.Equal(found.KVs[1].Value, big) || found.More {
		t.Errorf("Range from a to c: got %d keys, want a and b", len(found.KVs))
	}
	found, err = c.Range(ctx, "a", "z", 2)
	if must(err); len(found.KVs) != 2 || !found.More {
		t.Errorf("Range from a to z with limit 2: got %d keys, More %v; want 2, true", len(found.KVs), found.More)
	}

	must(c.KeepAlive(ctx, id))
	if left, err := c.TimeToLive(ctx, id); err != nil || left < 30 || left > 60 {
		t.Errorf("the lease expires in %d s, want 30 to 60: %v", left, err)
	}
	if found, err := c.Range(ctx, "c", "", 0); err != nil || len(found.KVs) != 1 || found.KVs[0].Lease != id {
		t.Errorf("a key that is bound to lease %d: got %+v, %v", id, found, err)
	}
	must(c.Revoke(ctx, id))
	if left, err := c.TimeToLive(ctx, id); err != nil || left >= 0 {
		t.Errorf("a revoked lease expires in %d s, want a negative number: %v", left, err)
	}
	if err := c.KeepAlive(ctx, id); !errors.Is(err, etcd.ErrNoLease) {
		t.Errorf("renewing a revoked lease: got %v, want ErrNoLease", err)
	}
	if found, err = c.Range(ctx, "c", "", 0); err != nil || len(found.KVs) > 0 {
		t.Errorf("a key whose lease was revoked: got %v, %v; want none", found, err)
	}

	watch, stop := context.WithTimeout(ctx, time.Minute)
	var seen []etcd.Event
	c.Watch(watch, "a", "d", first, func(e etcd.Event) {
		if seen = append(seen, e); len(seen) == 5 { // a, b, c put, a changed, c gone
			stop()
		}
	})
	if len(seen) != 5 || seen[3].Key != "a" || string(seen[3].Value) != "2" || !seen[4].Deleted || seen[4].Key != "c" {
		t.Errorf("Watch reported %d changes, want a, b and c put, a changed, c deleted", len(seen))
	}
	must(c.Compact(ctx, r.Revision))
	if err := c.Watch(ctx, "a", "", 1, func(etcd.Event) {}); !errors.Is(err, etcd.ErrCompacted) {
		t.Errorf("watching from a compacted revision: got %v, want ErrCompacted", err)
	}
	if _, err = c.Txn(ctx, &etcd.Txn{Then: []etcd.Op{{Put: "a"}, {Put: "a"}}}); !etcd.Refused(err) {
		t.Errorf("an invalid transaction: got %v, want a rejection", err)
	}
	if _, err = c.Txn(ctx, &etcd.Txn{Then: []etcd.Op{{Delete: "a", End: "c"}}}); err != nil {
		t.Error(err)
	}
	if found, err = c.Range(ctx, "a", "c", 0); err != nil || len(found.KVs) > 0 {
		t.Errorf("deleted keys: got %v, %v; want none", found, err)
	}
}

// TestMembers checks that calls go to the next member if one does not respond, and
// that a call to a stopped member does not wait forever.
func TestMembers(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3)
	c := etcd.NewClient(etcd.Config{Endpoints: cluster.Endpoints(), Timeout: 700 * time.Millisecond})
	t.Cleanup(c.Close)
	ask := func() {
		t.Helper()
		for range 40 {
			if _, err := c.Range(t.Context(), "a", "", 0); err == nil {
				return
			} else if etcd.Refused(err) {
				t.Fatal(err)
			}
		}
		t.Fatal("no member responded in 40 calls")
	}
	ask()
	cluster.Members[0].Kill()
	ask()
	cluster.Members[0].Start()
	cluster.Members[1].Signal(syscall.SIGSTOP)
	ask()
	cluster.Members[1].Signal(syscall.SIGCONT)
	ask()
}

// TestPassword checks that a client with a wrong password is rejected, and that a
// token that is no longer valid is replaced.
func TestPassword(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	ctl, err := exec.LookPath("etcdctl")
	if err != nil {
		t.Skip("needs etcdctl: install Debian's etcd-client")
	}
	for _, args := range [][]string{{"user", "add", "root:secret"}, {"user", "grant-role", "root", "root"}, {"auth", "enable"}} {
		cmd := exec.Command(ctl, append([]string{"--endpoints", cluster.Members[0].Endpoint}, args...)...)
		cmd.Env = append(cmd.Environ(), "ETCDCTL_API=3")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for password, good := range map[string]bool{"wrong": false, "secret": true} {
		c := etcd.NewClient(etcd.Config{Endpoints: cluster.Endpoints(), User: "root", Password: password})
		t.Cleanup(c.Close)
		_, err := c.Range(t.Context(), "a", "", 0)
		if good != (err == nil) || !good && !etcd.Refused(err) {
			t.Errorf("password %s: got %v, want success only with the right password", password, err)
		}
		if good { // tokens end when the member's process ends
			cluster.Members[0].Kill()
			cluster.Members[0].Start()
			cluster.Await(t)
			c.Range(t.Context(), "a", "", 0) // uses the broken connection
			if _, err := c.Range(t.Context(), "a", "", 0); err != nil {
				t.Error(err)
			}
		}
	}
	c := etcd.NewClient(etcd.Config{Endpoints: cluster.Endpoints()})
	t.Cleanup(c.Close)
	if _, err := c.Range(t.Context(), "a", "", 0); !etcd.Refused(err) {
		t.Errorf("without a user: got %v, want a rejection", err)
	}
}

// TestNoEtcd checks the error if something other than etcd responds at the address.
func TestNoEtcd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("220 mail ready\r\n"))
			conn.Close()
		}
	}()
	c := etcd.NewClient(etcd.Config{Endpoints: []string{l.Addr().String()}})
	t.Cleanup(c.Close)
	if _, err := c.Range(t.Context(), "a", "", 0); err == nil || etcd.Refused(err) {
		t.Errorf("something other than etcd: got %v, want an error for which Refused returns false", err)
	}
}
