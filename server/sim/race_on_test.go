//go:build race

package sim

// raceFactor is roughly how much slower the race detector makes a simulation.
// There is only one goroutine, so fewer runs are enough.
const raceFactor = 10
