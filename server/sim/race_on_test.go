//go:build race

package sim

// raceFactor is how much slower the race detector makes a simulation, roughly:
// there is one goroutine, so fewer runs will do.
const raceFactor = 10
