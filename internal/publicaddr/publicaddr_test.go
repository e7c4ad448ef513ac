package publicaddr

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestIs(t *testing.T) {
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255",
		"192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
		"203.0.112.255", "203.0.114.0", "223.255.255.255", "::ffff:8.8.8.8",
		"2000::1", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2606:4700::1111",
		"2620:4f:7fff::1", "2620:4f:8001::1", "2a00:1450::1", "3fff:1000::1", "2606:4700::5efe:808:809:1",
	} {
		expect.That(t, IsPublic(netip.MustParseAddr(s)), "%s is not public", s)
	}
	for _, s := range []string{
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255",
		"127.0.0.0", "127.255.255.255", "168.63.129.16", "169.254.0.0", "169.254.169.254", "169.254.255.255",
		"172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.9", "192.0.0.192", "192.0.0.255", "192.0.2.1", "192.31.196.1", "192.52.193.1",
		"192.88.99.1", "192.168.0.0", "192.168.255.255", "192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255",
		"::", "::1", "::2", "::7f00:1", "::127.0.0.1", "::ffff:0:127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"64:ff9b::808:808", "64:ff9b:1::808:808", "100::1", "100:0:0:1::1", "1fff:ffff::1",
		"2001::1", "2001:0:4136:e378::1", "2001:1::1", "2001:2::1", "2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:1ff:ffff::1",
		"2001:db8::1", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2002::1", "2002:7f00:1::", "2002:808:808::1", "2620:4f:8000::1",
		"3ffe::1", "3ffe:ffff::1", "3fff::1", "3fff:fff:ffff::1", "4000::1", "5f00::1", "8000::1", "c000::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1",
		"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1", "2606:4700::100:5efe:a00:1", "2606:4700::300:5efe:808:808", "2606:4700::1%eth0", "::ffff:8.8.8.8%eth0",
	} {
		expect.That(t, !IsPublic(netip.MustParseAddr(s)), "%s is public", s)
	}
	expect.That(t, !IsPublic(netip.Addr{}), "no address is public")
}

// No row can be lost unseen: TestIs judges an address of each that no other
// row refuses.
func TestEveryBlockRefusesWhatNoOtherDoes(t *testing.T) {
	rows := slices.Concat(special4, special6)
	for i, row := range rows {
		others := slices.Delete(slices.Clone(rows), i, i+1)
		expect.That(t, !IsPublic(row.Addr()) && !IsPublic(last(row)), "an end of %s is public", row)
		expect.That(t, !InNetworks(others, row.Addr()) && !InNetworks(others, last(row)), "%s lies within another row", row)
		for _, beside := range []netip.Addr{row.Addr().Prev(), last(row).Next()} {
			expect.That(t, !row.Contains(beside), "%s contains %s", row, beside)
		}
	}
	want := []string{
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1", "192.0.0.192", "192.0.2.1",
		"192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
		"240.0.0.1", "2001::1", "2001:db8::1", "2002::1", "2620:4f:8000::1", "3ffe::1", "3fff::1",
	}
	for _, s := range want {
		expect.That(t, InNetworks(rows, netip.MustParseAddr(s)), "no row for %s", s)
	}
	expect.That(t, len(rows) == len(want), "%d rows, %d known: add an address of each new one", len(rows), len(want))
}

// last returns the last address of a block.
func last(block netip.Prefix) netip.Addr {
	b := block.Addr().AsSlice()
	for bit := block.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
