package servicetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dialguard.Guard(m)) }
