//go:build race

package formpage_test

// raceDetector: the race detector empties pools, which allocates more.
const raceDetector = true
