package etcdlog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/server/etcd/etcdfake"
	"assetledger/wal"
)

// TestExpiredLeaseIsRevoked checks that a standby takes over as soon as the writer's
// lease has expired, and not before, although etcd reports whole seconds. The fake
// never expires a lease by itself.
func TestExpiredLeaseIsRevoked(t *testing.T) {
	for name, renewals := range map[string][]time.Duration{
		"killed at once":     {0},
		"renewed":            {0, 1000 * time.Millisecond, 2000 * time.Millisecond},
		"renewed late":       {0, 2900 * time.Millisecond},
		"renewed late twice": {0, 2999 * time.Millisecond, 5990 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const lease = 3 * time.Second
				store, began := etcdfake.NewStore(), time.Now()
				store.Left = func(int64) int64 {
					left := lease
					for _, at := range renewals {
						if since := time.Since(began) - at; since >= 0 {
							left = lease - since
						}
					}
					return int64(left.Seconds())
				}
				a := newDriver(t, &etcdfake.Client{Store: store}, "/log", "a")
				a.Manual = true // it never renews its lease
				defer openWriter(t, a).FileWriter.Close()
				m, err := newDriver(t, &etcdfake.Client{Store: store}, "/log", "b").Join(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				w, err := m.Follow(ctx, func(*wal.Frame) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				expired := renewals[len(renewals)-1] + lease
				if late := time.Since(began) - expired; late < 0 || late > 110*time.Millisecond {
					t.Errorf("the standby took over %v after the end of the lease, want 0 to 110 ms", late)
				}
			})
		})
	}
}
