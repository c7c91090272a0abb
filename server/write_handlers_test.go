package server

import (
	"testing"

	"assetledger/server/auth"
)

// TestEveryWriteRouteHasItsScope: the gate knows every route of the daemon.
func TestEveryWriteRouteHasItsScope(t *testing.T) {
	for _, r := range new(writeDaemon).routes() {
		if scopeOf(r.Pattern) == auth.Admin {
			t.Errorf("%s is for admin: does scopeOf not know it?", r.Pattern)
		}
	}
}
