package auth

import (
	"fmt"
	"strings"
)

// A Scope is a set of permissions.
type Scope uint8

// The scopes. Admin includes everything, even what later versions add.
const (
	Commit   Scope = 1 << iota // everything under /v1/commit
	Register                   // register classes and shapes, and rename classes, also inside a transaction
	Read                       // everything under /v1/read/
	Metrics                    // /v1/metrics and /v1/status
	Admin
	Transfer // commit, batch, stream and preflight, with operations that neither create nor destroy units
	Log      // the log itself and its checkpoints, which amounts to reading everything

	Open Scope = 0 // required scope of routes that are open to every client, even without a token
)

var scopeNames = []struct {
	scope Scope
	name  string
}{{Commit, "commit"}, {Transfer, "transfer"}, {Register, "register"}, {Read, "read"}, {Metrics, "metrics"}, {Log, "log"}, {Admin, "admin"}}

// Has reports whether s includes Admin, or every scope of want.
func (s Scope) Has(want Scope) bool { return s&Admin != 0 || s&want == want }

// String returns the names separated by commas, in their usual order.
func (s Scope) String() string {
	var names []string
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// ParseScopes parses one or more names separated by commas.
func ParseScopes(text string) (set Scope, err error) {
	for name := range strings.SplitSeq(text, ",") {
		found := Open
		for _, n := range scopeNames {
			if n.name == name {
				found = n.scope
			}
		}
		if found == Open {
			return 0, fmt.Errorf("there is no scope %q; the scopes are commit, transfer, register, read, metrics, log and admin, separated by commas", name)
		}
		set |= found
	}
	return set, nil
}
