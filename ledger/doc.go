// Package ledger is the domain: containers, classes, stacks and instances, the
// operations on them, and the exact form of requests, responses and records.
//
// The main invariant: the same transactions lead to the same state, so no result
// depends on I/O, a clock, goroutines, randomness or the order of a map.
package ledger
