//go:build race

package wal_test

// raceFactor is how much slower the race detector makes a simulation, roughly:
// there is one goroutine, so fewer runs will do.
const raceFactor = 10
