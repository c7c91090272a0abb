package etcdlog_test

import (
	"strings"
	"testing"

	"assetledger/server/commitlog/etcdlog"
)

// TestURLHidesPassword checks that no error about the URL of a log contains the
// password that someone wrote into it.
func TestURLHidesPassword(t *testing.T) {
	for _, url := range []string{
		"etcd://root:secret@10.0.0.1:2379/l", "etcd://root:sec/ret@10.0.0.1:2379/l", "etcd://root:secret@10.0.0.1:2379",
		"http://root:secret@10.0.0.1:2379/l", "etcd://root:secret@10.0.0.1:2379/\x01", "etcd://h:1,root:s@cret@10.0.0.1:2379/l",
	} {
		if _, _, err := etcdlog.ParseURL(url); err == nil || strings.Contains(err.Error(), "root") || strings.Contains(err.Error(), "cret@") {
			t.Errorf("%q: got %v, want an error without the user and the password", url, err)
		}
	}
}
