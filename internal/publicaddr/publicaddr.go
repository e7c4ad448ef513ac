// Package publicaddr checks whether an IP address belongs to the public internet.
package publicaddr

import (
	"net/netip"
	"slices"
)

// The address tables come from these sources, as of 2026-07-18:
//
//	https://www.iana.org/assignments/iana-ipv4-special-registry/
//	https://www.iana.org/assignments/iana-ipv6-special-registry/
//	https://www.iana.org/assignments/multicast-addresses/ (224.0.0.0/4)
//	https://www.iana.org/assignments/ipv6-unicast-address-assignments/ (3ffe::/16)
//
// Networks inside a listed network are omitted. Networks that the registry calls globally reachable (AS112, AMT,
// anycast services) are listed, because no webhook receiver uses them.

// special4 lists the IPv4 networks that are not public.
var special4 = mustParsePrefixes(
	"0.0.0.0/8",        // this network, RFC 791
	"10.0.0.0/8",       // private use, RFC 1918
	"100.64.0.0/10",    // shared address space, RFC 6598
	"127.0.0.0/8",      // loopback, RFC 1122
	"168.63.129.16/32", // not IANA's: the host service of Azure
	"169.254.0.0/16",   // link local and cloud metadata, RFC 3927
	"172.16.0.0/12",    // private use, RFC 1918
	"192.0.0.0/24",     // IETF protocol assignments, RFC 6890
	"192.0.2.0/24",     // documentation, RFC 5737
	"192.31.196.0/24",  // AS112, RFC 7535
	"192.52.193.0/24",  // AMT, RFC 7450
	"192.88.99.0/24",   // 6to4 relay anycast, RFC 7526
	"192.168.0.0/16",   // private use, RFC 1918
	"192.175.48.0/24",  // AS112 direct delegation, RFC 7534
	"198.18.0.0/15",    // benchmarking, RFC 2544
	"198.51.100.0/24",  // documentation, RFC 5737
	"203.0.113.0/24",   // documentation, RFC 5737
	"224.0.0.0/4",      // multicast, RFC 5771
	"240.0.0.0/4",      // reserved, RFC 1112, with limited broadcast, RFC 919
)

// globalUnicast6 is the network of all currently assigned global unicast IPv6 addresses (RFC 4291). All other IPv6
// addresses are non-public: loopback, mapped and compatible IPv4, NAT64, discard, segment routing, unique local, link
// and site local, multicast, and unassigned addresses.
var globalUnicast6 = netip.MustParsePrefix("2000::/3")

// special6 lists the networks in globalUnicast6 that are not public.
var special6 = mustParsePrefixes(
	"2001::/23",         // IETF protocol assignments: Teredo, benchmarking, AMT, ORCHID …, RFC 2928
	"2001:db8::/32",     // documentation, RFC 3849
	"2002::/16",         // 6to4, RFC 3056
	"2620:4f:8000::/48", // AS112 direct delegation, RFC 7534
	"3ffe::/16",         // the former 6bone, RFC 3701
	"3fff::/20",         // documentation, RFC 9637
)

// BeforeDial is a test hook (see package dialguard). It receives the address of each socket of the webhook client
// before the socket connects. If it returns an error, the attempt fails.
var BeforeDial func(address string) error

// IsPublic reports whether addr is a public internet address. A mapped IPv4 address is checked as IPv4.
func IsPublic(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	switch {
	case addr.Is4():
		return !InNetworks(special4, addr)
	case addr.Is6():
		return globalUnicast6.Contains(addr) && !InNetworks(special6, addr) && !isISATAP(addr)
	}
	return false
}

// isISATAP reports whether addr contains an IPv4 tunnel address (RFC 5214, section 6.1). Such addresses can have any
// prefix.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	// The two bits that can vary are the universal and group bits.
	return b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// InNetworks reports whether any of the networks contains the address.
func InNetworks(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func mustParsePrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
