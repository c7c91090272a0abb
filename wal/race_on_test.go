//go:build race

package wal_test

// raceFactor is roughly the factor by which the race detector slows down a simulation.
// There is only one goroutine, so fewer runs are enough.
const raceFactor = 10
