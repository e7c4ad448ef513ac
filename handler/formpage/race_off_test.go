//go:build !race

package formpage_test

const raceDetector = false
