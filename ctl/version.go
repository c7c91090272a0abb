package ctl

import (
	"flag"
	"fmt"
	"runtime"

	"assetledger/ledger"
	"assetledger/server/version"
)

var versionCommand = command{
	Words:    "version",
	Purpose:  "show which ledgerctl this is",
	Examples: [2]string{"version", "version -o json"},
	Setup:    func(*flag.FlagSet) action { return showVersion },
}

func showVersion(c *call) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if c.json() {
		fmt.Fprintf(c.out, `{"version":%s,"commit":%s,"go":"%s","platform":"%s"}`+"\n",
			ledger.AppendString(nil, version.Version), ledger.AppendString(nil, version.Commit()), runtime.Version(), platform)
		return nil
	}
	t := c.newTable()
	t.row("version", version.Version)
	t.row("commit", version.Commit())
	t.row("go", runtime.Version())
	t.row("platform", platform)
	t.flush()
	return nil
}
