// Package objectid creates IDs in the format of a MongoDB ObjectId.
package objectid

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Source creates IDs that are unique within the process. IDs that two processes create in the same second collide with
// a probability of 1 in 2^40. It is safe for concurrent use.
type Source struct {
	process [5]byte
	counter atomic.Uint32
}

// NewSource returns a source with a random process part and counter.
func NewSource() *Source {
	var seed [9]byte
	rand.Read(seed[:]) // never fails, according to its documentation
	s := &Source{process: [5]byte(seed[:5])}
	s.counter.Store(binary.BigEndian.Uint32(seed[5:]))
	return s
}

// New returns the next ID. The first four bytes hold at in Unix seconds.
func (s *Source) New(at time.Time) storage.ID {
	var id storage.ID
	binary.BigEndian.PutUint32(id[:4], uint32(at.Unix())) // #nosec G115 -- the layout has 32 bits of seconds
	copy(id[4:9], s.process[:])
	n := s.counter.Add(1)
	id[9], id[10], id[11] = byte(n>>16), byte(n>>8), byte(n)
	return id
}

// Base62 lists the digits of base-62 numbers.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// RandomText returns n random digits of [Base62].
func RandomText(n int) string {
	out := make([]byte, 0, n)
	var pool [64]byte
	for len(out) < n {
		rand.Read(pool[:]) // never fails, according to its documentation
		for _, b := range pool {
			// 248 is the largest multiple of 62 that fits in a byte. Accepting larger values would favor the first characters.
			if b < 248 && len(out) < n {
				out = append(out, Base62[b%62])
			}
		}
	}
	return string(out)
}

const publicDigits = 12

// NewPublicID returns a new ID for URLs that respondents see.
func NewPublicID() string { return RandomText(publicDigits) }

const maxPublicID = 64

// IsPublicID reports whether s can be the public ID of a form: a result of [NewPublicID], or the host's own choice of 1
// to 64 letters, digits, - and _ that starts with a letter or digit.
func IsPublicID(s string) bool {
	return s != "" && len(s) <= maxPublicID && strings.Contains(Base62, s[:1]) && strings.Trim(s, Base62+"-_") == ""
}
