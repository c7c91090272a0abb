package memlog_test

import (
	"testing"

	"assetledger/server/commitlog"
	"assetledger/server/commitlog/logtest"
	"assetledger/server/commitlog/memlog"
)

func TestContract(t *testing.T) {
	logtest.Run(t, func(testing.TB) commitlog.Driver { return memlog.New(1 << 20) })
}
