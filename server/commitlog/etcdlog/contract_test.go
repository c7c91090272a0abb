package etcdlog_test

import (
	"testing"

	"assetledger/server/commitlog"
	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/commitlog/logtest"
	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdfake"
	"assetledger/server/etcd/etcdtest"
	"assetledger/wal"
)

// newDriver returns the driver of one host.
func newDriver(t testing.TB, api etcd.API, prefix, name string) *etcdlog.Driver {
	return &etcdlog.Driver{API: api, Prefix: prefix, Where: "etcd://test" + prefix, Dir: t.TempDir() + "/log", Opt: wal.Options{SegmentSize: 4 << 20},
		Name: name, URL: "http://" + name}
}

func TestContractOnFake(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(t testing.TB) commitlog.Driver {
		return newDriver(t, &etcdfake.Client{Store: etcdfake.NewStore()}, "/test", "a")
	})
}

func TestContractOnEtcd(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1)
	logtest.Run(t, func(t testing.TB) commitlog.Driver {
		c := etcd.NewClient(etcd.Config{Endpoints: cluster.Endpoints()})
		t.Cleanup(c.Close)
		return newDriver(t, c, "/"+t.Name(), "a")
	})
}
