package webhooks

import (
	"testing"
	"testing/synctest"
)

// inBubble runs f in a bubble of synctest: time passes when all wait.
func inBubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}
