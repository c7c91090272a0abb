// Package systemtest tests the ledger as a user meets it: built programs, their
// files, their HTTP interface and the documents that describe them. It contains
// tests only.
//
// These tests build the three programs once and start them as processes, or
// start the daemons through the exported names of package server. They never
// use an unexported name of the product.
//
// A test that needs only the internals of one daemon belongs in that daemon's
// package, and takes seconds there. A test belongs here if it needs processes,
// a browser, a shell, or both daemons together. The file names show the subject:
//
//	whole_*     the programs together, and the documents and examples that show them
//	prove_*     killed daemons, power cuts, failing syncs, full disks and cut networks (make prove)
//	clients_*   the clients for Go, Python and TypeScript
//	mirror*     copies of the log in other directories
//	page*       the web page, mostly in a headless browser; all_views belongs here too
//	openapi*    recorded requests and responses against the OpenAPI documents
//	readers     read daemons whose log is replaced, or has a second writer
package systemtest
