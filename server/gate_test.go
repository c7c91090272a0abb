package server

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/auth"
)

// TestEveryRouteHasItsScope: nothing of the ledger is open, and nothing is
// closed only because nobody thought about it.
func TestEveryRouteHasItsScope(t *testing.T) {
	open := map[string]bool{"/v1/health": true, "/v1/livez": true, "/v1/readyz": true, "/v1/openapi.json": true,
		"/{$}": true, "/page/{version}/{file}": true}
	routes := append(new(writeDaemon).routes(), new(readDaemon).routes(true)...)
	for _, r := range routes {
		switch scope := scopeOf(r.Pattern); {
		case scope == auth.Admin:
			t.Errorf("%s is for admin: does scopeOf not know it?", r.Pattern)
		case (scope == auth.Open) != open[r.Pattern]:
			t.Errorf("%s needs the scope %q", r.Pattern, scope)
		}
	}
	if scopeOf("/v1/new") != auth.Admin || scopeOf("/v1/readers") != auth.Admin {
		t.Error("a new route is open")
	}
}

// TestEveryReadHasItsReach: a read that shows containers or instances says so.
func TestEveryReadHasItsReach(t *testing.T) {
	want := map[string]reach{
		"/v1/read/container/{id}": reachesContainer, "/v1/read/container/{id}/balances": reachesContainer,
		"/v1/read/container/{id}/slots": reachesContainer, "/v1/read/container/{id}/grid": reachesContainer,
		"/v1/read/instance/{id}": reachesInstance, "/v1/read/containers": reachesList,
		"/v1/read/class/{id}": reachesAll, "/v1/read/classes": reachesAll, "/v1/read/class/{id}/shapes": reachesAll, "/v1/read/freshness": reachesAll,
	}
	for _, e := range readEndpoints {
		if e.reach != want[e.pattern] {
			t.Errorf("%s has the reach %d, want %d", e.pattern, e.reach, want[e.pattern])
		}
	}
}

// TestPooledRequestsForget: no request is judged by the permit of another.
func TestPooledRequestsForget(t *testing.T) {
	var tx ledger.Transaction
	tx.SetSender([]byte("a"), &ledger.Permit{Owners: []int64{1}})
	if err := ledger.ParseTransaction([]byte(world), &tx, ledger.ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if tx.Permit() != nil || tx.Principal != nil {
		t.Error("parsing left", tx.Permit(), tx.Principal)
	}
	x := newExchange(nil, nil)
	x.Who = &auth.Principal{}
	x.release()
	if x = newExchange(nil, nil); x.Who != nil {
		t.Error("an exchange remembers who it was of")
	}
}

// TestForeignPages: only what a browser sends for a name that could be anyone's.
func TestForeignPages(t *testing.T) {
	own, err := os.Hostname()
	if err != nil || own == "" {
		t.Skip("NOT TESTED: the guard of names, on a machine without a hostname")
	}
	for _, c := range []struct {
		host, header string
		foreign      bool
	}{
		{"evil.example:8080", "Accept-Language", true},
		{"evil.example", "Origin", true},
		{"EVIL.EXAMPLE.:8080", "Sec-Fetch-Site", true},
		{"127.0.0.1.evil.example", "Accept-Language", true},
		{"localhost.evil.example", "Accept-Language", true},
		{"evil.example:8080", "Accept", false}, // no browser
		{"127.0.0.1:8080", "Accept-Language", false},
		{"127.0.0.1", "Origin", false},
		{"[::1]:8080", "Origin", false},
		{"localhost:8080", "Origin", false},
		{"ledger.localhost:8080", "Origin", false},
		{"LocalHost.:8080", "Origin", false},
		{"localhost", "Origin", false},
		{"[::1]", "Origin", false},
		{"192.0.2.7:8080", "Origin", false},
		{own, "Origin", false},
		{strings.ToUpper(own) + ".:8080", "Origin", false},
		{"ledger:8080", "Origin", true},
		{"ledger", "Origin", true},
		{"evil.:8080", "Accept-Language", true},
		{"ai", "Accept-Language", true},
		{"notlocalhost", "Origin", true},
		{".localhost.evil", "Origin", true},
		{own + ".evil", "Origin", true},
		{"x" + own, "Origin", true},
		{"", "Origin", true},
		{".", "Origin", true},
		{":8080", "Origin", true},
	} {
		r := httptest.NewRequest("GET", "/v1/read/classes", nil)
		r.Host = c.host
		r.Header.Set(c.header, "x")
		if got := isForeignPage(r); got != c.foreign {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
