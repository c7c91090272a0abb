//go:build race

package wal_test

// raceFactor is roughly how much slower the race detector makes a simulation.
// There is only one goroutine, so fewer runs are enough.
const raceFactor = 10
