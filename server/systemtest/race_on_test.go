//go:build race

package systemtest

// raceDetector reports whether the race detector is enabled.
const raceDetector = true
