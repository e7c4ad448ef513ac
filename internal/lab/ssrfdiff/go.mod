module github.com/formsvc/formsvc/internal/lab/ssrfdiff

go 1.26.0

require (
	code.dny.dev/ssrf v0.3.0
	github.com/formsvc/formsvc v0.1.0
)

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
