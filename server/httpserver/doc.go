// Package httpserver is HTTP for both daemons: listeners and TLS, authentication
// and authorization, limits on connections, time and memory, the route table,
// and one form for every response and error.
//
// A daemon opens an Entrance before anything else, makes an API from its
// routes, and calls Serve, which returns when the daemon is to end. Each
// request becomes an Exchange. Its handler reads the request from it and leaves
// the response in it, or returns a *ledger.Error. When the response has been
// written, the exchange, its buffers and its claim on the memory budget are
// released, so a handler must not keep any part of an Exchange.
//
// The rule that reaches farthest: every byte, connection and second that a
// client can cause has a limit, and the limit is enforced here. A new route is
// closed to all but administrators until ScopeOf knows it.
//
// The package knows neither the log nor what the daemons do.
package httpserver
