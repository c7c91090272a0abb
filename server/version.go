package server

import (
	"strings"

	"assetledger/server/metrics"
)

// Version of the build: set with -ldflags "-X assetledger/server.Version=…".
var Version = "dev"

// Commit is the commit of the source that this was built from, "unknown" in a
// build outside git.
func Commit() string { return metrics.Revision() }

// Build names the build for people: its version, and its commit unless the
// version tells that already. There are no spaces in it.
func Build() string {
	const short = 12
	commit := Commit()
	if len(commit) < short || strings.Contains(Version, commit[:7]) {
		return Version
	}
	return Version + "+" + commit[:short]
}
