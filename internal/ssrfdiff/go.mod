module github.com/formsvc/formsvc/internal/ssrfdiff

go 1.26.0

require code.dny.dev/ssrf v0.3.0
