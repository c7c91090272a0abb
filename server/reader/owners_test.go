package reader

import (
	"testing"

	"assetledger/server/auth"
	"assetledger/server/httpserver"
)

// TestEveryReadRouteHasItsScope checks that ScopeOf lists every route of the read
// daemon.
func TestEveryReadRouteHasItsScope(t *testing.T) {
	for _, r := range new(daemon).routes(true) {
		if httpserver.ScopeOf(r.Pattern) == auth.Admin {
			t.Errorf("%s requires admin: is it missing from ScopeOf?", r.Pattern)
		}
	}
}

// TestEveryReadHasItsReach checks the reach of every endpoint. An endpoint that is
// not in the list must have reachesNobody.
func TestEveryReadHasItsReach(t *testing.T) {
	want := map[string]reach{
		"/v1/read/container/{id}": reachesContainer, "/v1/read/container/{id}/balances": reachesContainer,
		"/v1/read/container/{id}/slots": reachesContainer, "/v1/read/container/{id}/grid": reachesContainer,
		"/v1/read/container/{id}/history": reachesContainer,
		"/v1/read/container/{id}/holds":   reachesContainer, "/v1/read/hold/{id}": reachesHold,
		"/v1/read/instance/{id}": reachesInstance, "/v1/read/containers": reachesList,
		"/v1/read/class/{id}": reachesAll, "/v1/read/classes": reachesAll, "/v1/read/class/{id}/shapes": reachesAll, "/v1/read/freshness": reachesAll,
	}
	for _, e := range endpoints {
		if e.reach != want[e.pattern] {
			t.Errorf("%s has the reach %d, want %d", e.pattern, e.reach, want[e.pattern])
		}
	}
}
