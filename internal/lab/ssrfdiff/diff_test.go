package ssrfdiff

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"code.dny.dev/ssrf"

	"github.com/formsvc/formsvc/webhooks"
)

// difference is a set of addresses on which the two are meant to differ: we
// refuse them and ssrf permits them. There is none the other way round.
type difference struct {
	name string
	why  string
	in   func(netip.Addr) bool
}

var intended = []difference{
	{
		"168.63.129.16", "the host service of Azure, which every machine there can reach; an ordinary address to IANA",
		func(a netip.Addr) bool { return a == netip.MustParseAddr("168.63.129.16") },
	},
	{
		"3ffe::/16", "the former 6bone, given back to IANA in 2006 (RFC 3701) and not assigned since",
		netip.MustParsePrefix("3ffe::/16").Contains,
	},
	{
		"ISATAP", "an interface id below any prefix that carries an IPv4 address to tunnel to (RFC 5214)", isISATAP,
	},
}

func isISATAP(a netip.Addr) bool {
	if !a.Is6() {
		return false
	}
	id := a.AsSlice()[8:12]
	id[0] &= 0b11111100 // universal or local, individual or group
	return bytes.Equal(id, []byte{0x00, 0x00, 0x5e, 0xfe})
}

// blocks have edges, and addresses are drawn beside these too.
var blocks = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2000::/3", "2001::/16",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20", "4000::/3", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// draw makes an address: of all of IPv4 or IPv6, of global unicast IPv6, or one
// in or beside a block. Some of IPv6 get the interface id of ISATAP.
func draw(r *rand.Rand) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	switch kind := r.IntN(10); {
	case kind < 4:
		return netip.AddrFrom4([4]byte(b[:4]))
	case kind < 5:
		b[0] = 0x20 | b[0]&0x1f
	case kind < 9:
		return beside(r, blocks[r.IntN(len(blocks))], b)
	}
	return withISATAP(r, b)
}

// beside returns an address in the block, made of b, or next to one of its ends.
func beside(r *rand.Rand, block netip.Prefix, b [16]byte) netip.Addr {
	first := block.Addr().AsSlice()
	last := block.Addr().AsSlice()
	for bit := block.Bits(); bit < block.Addr().BitLen(); bit++ {
		mask := byte(0x80) >> (bit % 8)
		first[bit/8] |= b[bit/8] & mask
		last[bit/8] |= mask
	}
	var a netip.Addr
	switch r.IntN(8) {
	case 0:
		a = block.Addr()
	case 1:
		a = block.Addr().Prev()
	case 2:
		a, _ = netip.AddrFromSlice(last)
	case 3:
		a, _ = netip.AddrFromSlice(last)
		a = a.Next()
	default:
		a, _ = netip.AddrFromSlice(first)
		if a.Is6() {
			return withISATAP(r, a.As16())
		}
	}
	if !a.IsValid() { // before the first or after the last of all
		return block.Addr()
	}
	return a
}

func withISATAP(r *rand.Rand, b [16]byte) netip.Addr {
	if r.IntN(16) == 0 {
		copy(b[8:], []byte{byte(r.IntN(4)), 0, 0x5e, 0xfe})
	}
	return netip.AddrFrom16(b)
}

func TestWeDifferOnlyWhereWeMeanTo(t *testing.T) {
	n := 1_000_000
	if s := os.Getenv("FORMSVC_TEST_ADDRESSES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("%d addresses, seed %d", n, seed)
	generator := rand.New(rand.NewPCG(seed, 0))
	guard := webhooks.NewGuard(webhooks.GuardConfig{})
	guardian := ssrf.New(ssrf.WithAnyPort())
	differ, public := map[string]int{}, 0
	for range n {
		a := draw(generator)
		we, they := guard.CheckURL(urlOf(a)) == nil, guardian.SafeAddr(a) == nil
		if we {
			public++
		}
		if we != they {
			name := explain(a)
			if we || name == "" {
				t.Fatalf("%s: we call it public: %v, ssrf: %v", a, we, they)
			}
			differ[name]++
		}
	}
	t.Logf("%d public; refused by us alone: %v", public, differ)
	if public < n/10 || public > n*9/10 {
		t.Errorf("%d of %d are public: the draw is lopsided", public, n)
	}
	for _, d := range intended {
		if differ[d.name] == 0 {
			t.Errorf("no difference on %s (%s): its row is out of date", d.name, d.why)
		}
	}
}

// urlOf is a URL with the address as its host, as a caller of the API would send it.
func urlOf(a netip.Addr) string {
	if a.Is6() {
		return "http://[" + a.String() + "]/"
	}
	return "http://" + a.String() + "/"
}

// explain returns the name of the intended difference that a belongs to.
func explain(a netip.Addr) string {
	for _, d := range intended {
		if d.in(a) {
			return d.name
		}
	}
	return ""
}
