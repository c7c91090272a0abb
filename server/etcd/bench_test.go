package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdtest"
)

// BenchmarkPut measures etcd itself, on three members: puts of 512 bytes, from one
// goroutine and from many at once.
func BenchmarkPut(b *testing.B) {
	cluster := etcdtest.Start(b, 3)
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			c := etcd.NewClient(etcd.Config{Endpoints: cluster.Endpoints()})
			defer c.Close()
			value := make([]byte, 512)
			var n atomic.Int64
			b.SetParallelism(clients) // multiplied by GOMAXPROCS
			put := func() {
				if _, err := c.Txn(b.Context(), &etcd.Txn{Then: []etcd.Op{{Put: fmt.Sprint("k", n.Add(1)%1000), Value: value}}}); err != nil {
					b.Error(err)
				}
			}
			if clients == 1 {
				for b.Loop() {
					put()
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					put()
				}
			})
		})
	}
}
