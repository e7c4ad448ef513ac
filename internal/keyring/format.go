package keyring

import (
	"hash/crc32"
	"strings"

	"github.com/formsvc/formsvc/internal/objectid"
)

const (
	randomDigits    = 43 // has as many possible values as 32 bytes
	checkDigits     = 6  // a CRC-32
	displayedDigits = 6  // number of digits stored for display
)

// generateKey creates a key: a prefix, base-62 digits, and a checksum, so that mistyped keys are rejected without a
// lookup.
func generateKey(start string) string {
	return string(appendChecksum([]byte(start + objectid.RandomText(randomDigits))))
}

func appendChecksum(b []byte) []byte {
	sum := crc32.ChecksumIEEE(b)
	b = append(b, "000000"...)
	for i := len(b) - 1; sum > 0; i-- {
		b[i] = objectid.Base62[sum%62]
		sum /= 62
	}
	return b
}

func isWellFormed(start, key string) bool {
	if len(key) != len(start)+randomDigits+checkDigits || !strings.HasPrefix(key, start) {
		return false
	}
	var b [64]byte // enough for prefixes of up to 9 characters; append grows it for longer prefixes
	return string(appendChecksum(append(b[:0], key[:len(key)-checkDigits]...))) == key
}
