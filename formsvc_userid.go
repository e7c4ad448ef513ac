package formsvc

import "crypto/sha256"

// UserIDFrom maps a host's own user id, whatever it looks like, to an [ID]: the
// first 12 bytes of the SHA-256 of "formsvc user\x00" and the id. The same id
// always gives the same ID, in every release, so that a host with UUIDs or
// integers needs no table of its own. Two of a billion users collide with a
// chance of less than one in 10^10.
func UserIDFrom(hostID string) ID {
	sum := sha256.Sum256(append([]byte("formsvc user\x00"), hostID...))
	return ID(sum[:12])
}
