// Package httpserver implements HTTP for both daemons: listeners and TLS,
// authentication and authorization, limits on connections, time and memory, the
// table of routes, and the common format of responses and errors.
//
// A daemon first opens an Entrance. Then it creates an API from its routes and
// calls Serve, which returns when the daemon must end. Each request becomes an
// Exchange. Its handler reads the request from it and leaves the response in it, or
// returns a *ledger.Error. After the response is written, the exchange, its buffers
// and its claim on the memory budget are released. So a handler must not keep any
// part of an Exchange.
//
// The main invariant: every byte, connection and second that a client can consume
// is limited. The limits are enforced here. A route under /v1/ is open only to
// administrators unless ScopeOf names another scope for it.
//
// The package depends neither on the log nor on what the daemons do.
package httpserver
