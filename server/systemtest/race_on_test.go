//go:build race

package systemtest

// raceDetector reports whether the race detector watches this process.
const raceDetector = true
