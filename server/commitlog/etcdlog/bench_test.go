package etcdlog_test

import (
	"fmt"
	"testing"

	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdtest"
)

// BenchmarkAppend appends frames one after another, and compares this with puts of
// the same size to the same three members of etcd.
func BenchmarkAppend(b *testing.B) {
	c := etcd.NewClient(etcd.Config{Endpoints: etcdtest.Start(b, 3).Endpoints()})
	defer c.Close()
	for _, size := range []int{100, 64 << 10, 512 << 10} {
		b.Run(fmt.Sprintf("put/%d", size), func(b *testing.B) {
			put := etcd.Txn{Then: []etcd.Op{{Put: "x", Value: make([]byte, size)}}}
			for b.Loop() {
				if _, err := c.Txn(b.Context(), &put); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("append/%d", size), func(b *testing.B) {
			w, err := newDriver(b, c, fmt.Sprint("/", size), "a").OpenWriter()
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			for b.Loop() {
				if err := w.Append(frame(w.LastSeq(), size)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
