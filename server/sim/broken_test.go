package sim

import (
	"context"
	"strings"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
)

// A brokenAPI changes transactions, their results, and the results of ranges.
type brokenAPI struct {
	etcd.API
	txn    func(t *etcd.Txn) *etcd.Txn
	result func(t *etcd.Txn, r *etcd.TxnResult)
	found  func(key string, r *etcd.RangeResult)
}

func (b *brokenAPI) Txn(ctx context.Context, t *etcd.Txn) (*etcd.TxnResult, error) {
	if b.txn != nil {
		t = b.txn(t)
	}
	r, err := b.API.Txn(ctx, t)
	if err == nil && b.result != nil {
		b.result(t, r)
	}
	return r, err
}

func (b *brokenAPI) Range(ctx context.Context, key, end string, limit int) (*etcd.RangeResult, error) {
	r, err := b.API.Range(ctx, key, end, limit)
	if err == nil && b.found != nil {
		b.found(key, r)
	}
	return r, err
}

// appends reports whether a transaction puts a frame.
func appends(t *etcd.Txn) bool {
	return len(t.Then) > 0 && strings.HasPrefix(t.Then[0].Put, "/l/f/")
}

// A sureLog confirms that it is the writer without asking etcd.
type sureLog struct{ commitlog.Writer }

func (sureLog) Confirm() error { return nil }
