package tables

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"testing"
)

// frozen are the SHA-256 of all migrations. Those of a release never change: databases have
// run them. The one that no release has yet gets its digest anew with every change.
var frozen = map[string]string{
	"0001_tables.up.sql":   "91ef1c4abb342516768d7243baac7fbd1943c9a9433ce9168a82f835859305cc",
	"0001_tables.down.sql": "921c4b69d750e31e91fdd189a5ccbc881c76da613b51f83534658e721880fb62",
	"0002_beside.up.sql":   "9923d4c9bf3c840d522bbaff794939fb65c2c7dc6e91f2d39eecfc25d19961b2",
	"0002_beside.down.sql": "dac4b34c530c395bbd0a962b14d380cee7e286309a99697851526cf31083673a",
}

func TestMigrationsOfReleasesDoNotChange(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(ThisBuild.Files, "*.sql")
	if err != nil || len(names) != len(frozen) {
		t.Errorf("there are %q (%v), digests of %d", names, err, len(frozen))
	}
	for _, name := range names {
		text, err := fs.ReadFile(ThisBuild.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != frozen[name] {
			t.Errorf("%s has the digest %s, not %q. When a release has it, the change belongs into a migration of its own", name, got, frozen[name])
		}
	}
}
