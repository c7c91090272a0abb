//go:build !race

package systemtest

// raceDetector is false without the race detector.
const raceDetector = false
