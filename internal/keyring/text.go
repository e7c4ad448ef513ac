package keyring

import (
	"crypto/rand"
	"hash/crc32"
	"math/big"
	"strings"
)

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomDigits = 43 // 32 bytes in base62
	checkDigits  = 6  // a CRC-32 in base62
	displayed    = 6  // digits of the secret that are kept for display
)

// generate makes a key: the start, 32 random bytes in base62, and a checksum of
// both, by which a mistyped key is refused without a look-up.
func generate(start string) string {
	var random [32]byte
	rand.Read(random[:]) // never fails, says its documentation
	b := append([]byte(start), make([]byte, randomDigits)...)
	n, radix, digit := new(big.Int).SetBytes(random[:]), big.NewInt(62), new(big.Int)
	for i := len(b) - 1; i >= len(start); i-- {
		n.DivMod(n, radix, digit)
		b[i] = base62[digit.Int64()]
	}
	return string(appendChecksum(b))
}

func appendChecksum(b []byte) []byte {
	sum := crc32.ChecksumIEEE(b)
	b = append(b, "000000"...)
	for i := len(b) - 1; sum > 0; i-- {
		b[i] = base62[sum%62]
		sum /= 62
	}
	return b
}

// wellFormed reports whether a key has the format of the service's keys and its checksum.
func wellFormed(start, key string) bool {
	if len(key) != len(start)+randomDigits+checkDigits || !strings.HasPrefix(key, start) {
		return false
	}
	body := len(key) - checkDigits
	given := uint64(0)
	for i := body; i < len(key); i++ {
		digit := strings.IndexByte(base62, key[i])
		if digit < 0 {
			return false
		}
		given = given*62 + uint64(digit)
	}
	var b [64]byte // holds every key with a prefix of up to 9 characters; append makes room for others
	return given == uint64(crc32.ChecksumIEEE(append(b[:0], key[:body]...)))
}
