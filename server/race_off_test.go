//go:build !race

package server

// raceFactor is 1 without the race detector.
const raceFactor = 1
