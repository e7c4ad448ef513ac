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
	"0001_tables.up.sql":   "cb171408c26426a7bda0cf54d3dda94f0d1b5db7025303d6b951f9661f9f113e",
	"0001_tables.down.sql": "921c4b69d750e31e91fdd189a5ccbc881c76da613b51f83534658e721880fb62",
	"0002_beside.up.sql":   "61c4f8f02cce2400861b9517931a1cc13e0b766d5ebc10cbd858add230d60a02",
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
