package servicetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/formsvc/formsvc/internal/dialguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dialguard.Guard(m)) }
