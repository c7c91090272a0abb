// Package ledger is the domain: containers, classes, stacks and instances, the
// operations on them, and the exact form of requests, responses and records.
//
// The main invariant: the same transactions lead to the same state: no I/O, clock,
// goroutine, randomness or map order.
package ledger
