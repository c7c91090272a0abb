package httpserver

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/auth"
)

// TestScopes checks that no route to the ledger's data is open, and that an unknown
// route is closed.
func TestScopes(t *testing.T) {
	for pattern, want := range map[string]auth.Scope{
		"/v1/commit": auth.Commit, "/v1/commit/batch": auth.Commit, "/v1/register/class": auth.Register, "/v1/read/classes": auth.Read,
		"/v1/metrics": auth.Metrics, "/v1/status": auth.Metrics, "/v1/health": auth.Open, "/v1/livez": auth.Open, "/v1/readyz": auth.Open, "/v1/openapi.json": auth.Open,
		"/{$}": auth.Open, "/page/{version}/{file}": auth.Open, "/v1/new": auth.Admin, "/v1/readers": auth.Admin,
	} {
		if got := ScopeOf(pattern); got != want {
			t.Errorf("%s needs the scope %q, want %q", pattern, got, want)
		}
	}
}

// TestPooledRequestsForget checks that no request is judged by the permit of another
// one.
func TestPooledRequestsForget(t *testing.T) {
	var tx ledger.Transaction
	tx.SetSender([]byte("a"), &ledger.Permit{Owners: []int64{1}})
	if err := ledger.ParseTransaction([]byte(`{"operations":[{"op":"RemoveContainer","args":{"container_id":1}}]}`), &tx, ledger.ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if tx.Permit() != nil || tx.Principal != nil {
		t.Errorf("after parsing, the permit %v and the principal %q are still set", tx.Permit(), tx.Principal)
	}
	x := newExchange(nil, nil)
	x.Who = &auth.Principal{}
	x.release()
	if x = newExchange(nil, nil); x.Who != nil {
		t.Error("an exchange keeps the client of the previous request")
	}
}

// TestForeignPages checks that only requests of browsers, under names that anyone
// could own, are rejected.
func TestForeignPages(t *testing.T) {
	own, err := os.Hostname()
	if err != nil || own == "" {
		t.Skip("NOT TESTED: the check of host names; needs a machine with a hostname")
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
		{"evil.example:8080", "Accept", false}, // not a browser
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
			t.Errorf("%+v: foreign is %v", c, got)
		}
	}
}

// An authenticated client needs the scope admin to set which commit a transaction
// reverses.
func TestReversesNeedsAdmin(t *testing.T) {
	for scope, code := range map[auth.Scope]ledger.Code{auth.Commit: ledger.Forbidden, auth.Commit | auth.Register: ledger.Forbidden, auth.Admin: ""} {
		state, out := ledger.NewState(ledger.Config{}), ledger.Outcome{}
		create := ledger.Op{Kind: ledger.CreateContainer, Has: 3, Args: [ledger.MaxArgs]int64{1, int64(ledger.Standard)}}
		if err := state.Apply(&ledger.Transaction{Ops: []ledger.Op{create}}, 0, &out); err != nil {
			t.Fatal(err)
		}
		create.Args[0] = 2
		tx := ledger.Transaction{Ops: []ledger.Op{create}, Reverses: 1}
		x := Exchange{Who: &auth.Principal{Entry: auth.Entry{Scopes: scope}}}
		x.Sign(&tx)
		if err := state.Apply(&tx, 0, &out); (err == nil) != (code == "") || err != nil && err.Code != code {
			t.Errorf("scope %v: %v, want %q", scope, err, code)
		}
	}
}
