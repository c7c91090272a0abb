//go:build !race

package sim

// raceFactor is 1 without the race detector.
const raceFactor = 1
