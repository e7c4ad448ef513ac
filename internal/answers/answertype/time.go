package answertype

import (
	"strings"
	"time"

	"github.com/formsvc/formsvc/schema"
)

// clockRule checks time blocks.
type clockRule struct {
	formatRule
	length int
}

type timeRule struct{ seconds bool }

func newTime(b *schema.Block, _ ServiceConfig) Rule {
	size := len("15:04")
	if b.Properties.ShowSeconds {
		size = len(time.TimeOnly)
	}
	return clockRule{formatRule{sample: "10:30", normalize: timeRule{b.Properties.ShowSeconds}.normalize}, size}
}

// normalize returns HH:MM, or HH:MM:SS if the block shows seconds.
func (t timeRule) normalize(text string, _ *Report) (string, Violation) {
	if len(text) == len("15:04") {
		text += ":00"
	}
	minutes, whole := strings.CutSuffix(text, ":00")
	switch {
	case t.seconds && isTimeOfDay(text):
		return text, Violation{}
	case t.seconds:
		return "", ViolationBadFormat("time", "must be a time of day, such as 08:30:00")
	case whole && isTimeOfDay(text):
		return minutes, Violation{}
	}
	return "", ViolationBadFormat("time", "must be a time of day, such as 08:30")
}

func isTimeOfDay(text string) bool {
	if len(text) != len(time.TimeOnly) {
		return false // time.Parse would accept one-digit hours and fractions
	}
	_, err := time.Parse(time.TimeOnly, text)
	return err == nil
}
