package formsvc

import "github.com/formsvc/formsvc/internal/version"

// Version is the release of this module in the program, as in "v0.1.0": what Go noted when
// it built the program. A commit without a tag has a version that ends in its revision, and
// a copy in a folder, go run in a checkout and a test have "(devel)". The API description has
// it as x-formsvc-version, and deliveries in their User-Agent ([webhooks.Config]).
func Version() string { return version.String() }
