package formsvc

import "crypto/sha256"

// UserIDFrom maps a host's own user id, whatever it looks like, to an [ID]: the
// first 12 bytes of its SHA-256. The same id always gives the same ID, in every
// release, so that a host with UUIDs or integers needs no table of its own. In
// PostgreSQL it is left(encode(sha256(convert_to(id, 'UTF8')), 'hex'), 24).
func UserIDFrom(hostID string) ID {
	sum := sha256.Sum256([]byte(hostID))
	return ID(sum[:12])
}
