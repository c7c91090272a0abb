// Package version tells which build of the programs this is.
package version

import (
	"strings"

	"assetledger/server/metrics"
)

// Version of the build: set with -ldflags "-X assetledger/server/version.Version=…".
var Version = "dev"

// commit is set like Version, for go build is often told to leave it out.
var commit string

// Commit is the commit of the source that this was built from, in hexadecimal
// digits, "unknown" in a build outside git.
func Commit() string {
	if commit != "" {
		return commit
	}
	return metrics.Revision()
}

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
