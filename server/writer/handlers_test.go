package writer

import (
	"testing"

	"assetledger/server/auth"
	"assetledger/server/httpserver"
)

// TestEveryWriteRouteHasItsScope checks that ScopeOf lists every route of the
// daemon.
func TestEveryWriteRouteHasItsScope(t *testing.T) {
	for _, r := range new(daemon).routes() {
		if httpserver.ScopeOf(r.Pattern) == auth.Admin {
			t.Errorf("%s requires admin: is it missing from ScopeOf?", r.Pattern)
		}
	}
}
