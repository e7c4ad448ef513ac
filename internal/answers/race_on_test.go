//go:build race

package answers

// raceDetector: a sync.Pool forgets at random, so that the regular expressions of the
// phone library allocate anew in many of their searches.
const raceDetector = true
