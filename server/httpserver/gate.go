package httpserver

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/auth"
)

// A Gate authenticates clients against the auth file. After a reload, requests in
// progress keep the identity they started with, but streams end if their client may no
// longer use them.
type Gate struct {
	path  string
	table atomic.Pointer[auth.Table]
	log   *slog.Logger
	stamp []fileStamp // stamp of the file when it was last read; used only by refresh
}

// openGate reads the auth file and returns its gate.
func openGate(path string, log *slog.Logger) (*Gate, error) {
	stamp := stampsOf([]string{path})
	table, err := auth.Load(path)
	if err != nil {
		return nil, err
	}
	g := NewGate(path, table, log)
	g.stamp = stamp
	return g, nil
}

func NewGate(path string, table *auth.Table, log *slog.Logger) *Gate {
	g := &Gate{path: path, log: log}
	g.Take(table)
	return g
}

// Take replaces the gate's clients.
func (g *Gate) Take(t *auth.Table) {
	if t.Mode&0o077 != 0 {
		g.log.Warn("users other than its owner can read or write the auth file: chmod 600", "auth_file", g.path, "mode", t.Mode.String())
	}
	g.table.Store(t)
}

// refresh reloads the file if it has changed, or in any case if now is set. If the file
// is invalid, the old table stays in use. Only one goroutine may call refresh.
func (g *Gate) refresh(now bool) {
	stamp := stampsOf([]string{g.path})
	if !now && stamp[0].same(g.stamp[0]) {
		return
	}
	g.stamp = stamp
	table, err := auth.Load(g.path)
	if err != nil {
		g.log.Error("the auth file can't be used; the previous version stays in use", "error", err)
		return
	}
	g.Take(table)
	g.log.Info("auth file reloaded", "auth_file", g.path, "credentials", len(table.Entries()))
}

// ScopeOf returns the scope that the routes with the given pattern require. A pattern
// under /v1/ that no case covers requires admin, so a new route is closed to other
// clients until it is listed here.
func ScopeOf(pattern string) auth.Scope {
	switch {
	case strings.HasPrefix(pattern, "/v1/commit"):
		return auth.Commit
	case strings.HasPrefix(pattern, "/v1/register/"):
		return auth.Register
	case strings.HasPrefix(pattern, "/v1/read/"):
		return auth.Read
	case pattern == "/v1/metrics", pattern == "/v1/status":
		return auth.Metrics
	case pattern == "/v1/log", strings.HasPrefix(pattern, "/v1/checkpoints"):
		return auth.Log
	case pattern == "/v1/health", pattern == "/v1/livez", pattern == "/v1/readyz", pattern == "/v1/openapi.json":
		return auth.Open // probes and the OpenAPI description
	case !strings.HasPrefix(pattern, "/v1/"):
		return auth.Open // the page itself contains no data of the ledger, and it is no secret that a path is unknown
	}
	return auth.Admin
}

// suffices reports whether scopes permit the routes of a pattern. want is the scope
// that the pattern requires. The scope transfer permits the commit routes listed here
// just as commit does. The state then decides which of a transaction's operations the
// scope transfer permits.
func suffices(scopes, want auth.Scope, pattern string) bool {
	if scopes.Has(want) {
		return true
	}
	switch pattern {
	case "/v1/commit", "/v1/commit/batch", "/v1/commit/preflight", "/v1/commit/stream":
		return scopes.Has(auth.Transfer)
	}
	return false
}

// gated wraps a handler with the gate's authorization.
func (a *API) gated(pattern string, handle Handler) Handler {
	want := ScopeOf(pattern)
	if want == auth.Open {
		return handle
	}
	return func(x *Exchange) *ledger.Error {
		if a.local && isForeignPage(x.R) {
			return foreignPage
		}
		if a.Gate != nil {
			who, err := a.Gate.admit(x.R, want, pattern)
			if err != nil {
				return err
			}
			x.Who = who
		}
		return handle(x)
	}
}

// Readmit authenticates the client of a long request again, because its credential
// may have been revoked or changed.
func (a *API) Readmit(x *Exchange, pattern string) *ledger.Error {
	if a.Gate == nil {
		return nil
	}
	who, err := a.Gate.admit(x.R, ScopeOf(pattern), pattern)
	if err == nil {
		x.Who = who
	}
	return err
}

// IsStranger reports whether the client of an open route is unauthenticated, or
// limited to some owners. Without a gate, the only strangers are web pages under a
// foreign name. A stranger gets no details about this machine.
func (a *API) IsStranger(x *Exchange) bool {
	if a.Gate == nil {
		return a.local && isForeignPage(x.R)
	}
	who, err := a.Gate.identify(x.R)
	return err != nil || who.Limited()
}

// maxToken is the maximum length of a token, in bytes.
const maxToken = 512

var (
	noToken = ledger.Errorf(ledger.Unauthorized, "Authentication is required: send the header Authorization: Bearer and a token.").
		With(ledger.Text("reason", "missing"))
	badToken = ledger.Errorf(ledger.Unauthorized, "The token is unknown, or was revoked.").
			With(ledger.Text("reason", "unknown"))
	badHeader = ledger.Errorf(ledger.Unauthorized, "The header Authorization must be given once, as Bearer and a token.").
			With(ledger.Text("reason", "malformed"))
	badCertificate = ledger.Errorf(ledger.Unauthorized, "The client certificate is not listed here, or has expired.").
			With(ledger.Text("reason", "unknown"))
)

// admit authenticates the client of a request and checks its scopes. A token
// takes precedence over a certificate.
func (g *Gate) admit(r *http.Request, want auth.Scope, pattern string) (*auth.Principal, *ledger.Error) {
	who, err := g.identify(r)
	if err != nil {
		return nil, err
	}
	if !suffices(who.Scopes, want, pattern) {
		return nil, ledger.Errorf(ledger.Forbidden, "%s may not do this: it needs the scope %s.", who.Name, want).
			With(ledger.Text("scope", want.String()))
	}
	return who, nil
}

func (g *Gate) identify(r *http.Request) (*auth.Principal, *ledger.Error) {
	table := g.table.Load()
	values := r.Header["Authorization"]
	switch {
	case len(values) == 1:
		const scheme = "Bearer "
		v := values[0]
		if len(v) <= len(scheme) || len(v) > len(scheme)+maxToken || !strings.EqualFold(v[:len(scheme)], scheme) {
			return nil, badHeader
		}
		if who := table.Token(v[len(scheme):]); who != nil {
			return who, nil
		}
		return nil, badToken
	case len(values) > 1:
		return nil, badHeader
	case r.TLS == nil || len(r.TLS.VerifiedChains) == 0:
		return nil, noToken
	}
	cert := r.TLS.PeerCertificates[0]
	who := table.Certificate(cert.Raw)
	if who == nil || time.Now().After(cert.NotAfter) { // the certificate may have expired since the handshake
		return nil, badCertificate
	}
	return who, nil
}

// Still reports whether a client that was admitted would be admitted now, and is not
// limited to some owners.
func (g *Gate) Still(who *auth.Principal, want auth.Scope) bool {
	now := g.table.Load().Again(who)
	return now != nil && now.Scopes.Has(want) && !now.Limited()
}

// challenge returns the value of the WWW-Authenticate header for a rejection (RFC
// 6750).
func challenge(err *ledger.Error) []string {
	const realm = `Bearer realm="ledger"`
	if err.Code == ledger.Forbidden {
		for _, d := range err.Details {
			if d.Name == "scope" {
				return []string{realm + `, error="insufficient_scope", scope="` + d.Str + `"`}
			}
		}
		return []string{realm + `, error="insufficient_scope"`}
	}
	switch err {
	case noToken:
		return []string{realm}
	case badHeader:
		return []string{realm + `, error="invalid_request"`}
	}
	return []string{realm + `, error="invalid_token"`}
}

// Sign records the client of the request, if it was authenticated, as the sender of a
// transaction. Unless that client has the scope admin, the transaction may not set which
// commit it reverses.
func (x *Exchange) Sign(tx *ledger.Transaction) {
	if who := x.Who; who != nil {
		tx.SetSender(who.Sender, who.Permit)
		if !who.Scopes.Has(auth.Admin) {
			tx.ForbidReverses()
		}
	}
}
