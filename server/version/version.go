// Package version identifies the build of the programs.
package version

import (
	"strings"

	"assetledger/server/metrics"
)

// Version is the version of the build. It is set with
// -ldflags "-X assetledger/server/version.Version=…".
var Version = "dev"

// commit is set like Version, because go build is often told not to record it.
var commit string

// Commit returns the commit from which this build was made, in hexadecimal digits, or
// "unknown" if the build does not record it.
func Commit() string {
	if commit != "" {
		return commit
	}
	return metrics.Revision()
}

// Build returns the name of the build for people: its version, and its commit
// unless the version contains it. It has no spaces.
func Build() string {
	const short = 12
	commit := Commit()
	if len(commit) < short || strings.Contains(Version, commit[:7]) {
		return Version
	}
	return Version + "+" + commit[:short]
}
