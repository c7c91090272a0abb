package commitlog_test

import (
	"testing"

	"assetledger/server/commitlog"
	"assetledger/server/commitlog/logtest"
	"assetledger/wal"
)

func TestContract(t *testing.T) {
	logtest.Run(t, func(t testing.TB) commitlog.Driver {
		return commitlog.File{Dir: t.TempDir() + "/log", Opt: wal.Options{SegmentSize: 64 << 10}}
	})
}
