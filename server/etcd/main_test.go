package etcd_test

import (
	"os"
	"testing"

	"assetledger/server/servertest/longtest"
)

func TestMain(m *testing.M) { os.Exit(longtest.Main(m)) }
