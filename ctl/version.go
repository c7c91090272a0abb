package ctl

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
)

var versionCommand = command{
	Words:    "version",
	Purpose:  "show which ledgerctl this is",
	Examples: [2]string{"version", "version -o json"},
	Setup:    func(*flag.FlagSet) action { return runVersion },
}

func runVersion(c *call) error {
	version, revision := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if c.json() {
		fmt.Fprintf(c.out, "{\"version\":%q,\"revision\":%q,\"go\":%q,\"platform\":%q}\n", version, revision, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		return nil
	}
	t := newTable(c.out)
	t.row("version", version)
	if revision != "" {
		t.row("revision", revision)
	}
	t.row("go", runtime.Version())
	t.row("platform", runtime.GOOS+"/"+runtime.GOARCH)
	t.flush()
	return nil
}
