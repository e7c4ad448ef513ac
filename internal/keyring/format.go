package keyring

import (
	"hash/crc32"
	"strings"

	"github.com/formsvc/formsvc/internal/objectid"
)

const (
	randomDigits    = 43 // as many values as 32 bytes have
	checkDigits     = 6  // a CRC-32
	displayedDigits = 6  // digits of the secret that are kept for display
)

// generateKey makes a key: the start, random digits of base 62, and a checksum of both, by which
// a mistyped key is refused without a look-up.
func generateKey(start string) string {
	return string(appendChecksum([]byte(start + objectid.Random(randomDigits))))
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

// isWellFormed reports whether a key has the format of the service's keys and its checksum.
func isWellFormed(start, key string) bool {
	if len(key) != len(start)+randomDigits+checkDigits || !strings.HasPrefix(key, start) {
		return false
	}
	var b [64]byte // holds every key with a prefix of up to 9 characters; append makes room for others
	return string(appendChecksum(append(b[:0], key[:len(key)-checkDigits]...))) == key
}
