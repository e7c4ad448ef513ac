package main

import (
	"os"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/dialguard"
)

func TestMain(m *testing.M) { os.Exit(dialguard.Guard(m).Run()) }
