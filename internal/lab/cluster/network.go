//go:build linux

package main

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// Each machine is a network namespace with one card, and all cards lead to one bridge. The
// namespace with the bridge is that of the driver, and is not the machine's own either.

// ours is the address of the driver.
const ours = "10.99.0.1"

// machine is a network namespace with its processes.
type machine struct {
	name    string
	address string
	units   []*unit
}

// plug makes the machines and connects them.
func plug(machines []*machine) error {
	lines := []string{
		"link set lo up",
		"link add net type bridge", "link set net up address " + hardware(ours), "addr add " + ours + "/24 dev net",
		"link add aside type bridge", "link set aside up",
	}
	for _, m := range machines {
		lines = append(lines,
			"netns add "+m.name,
			fmt.Sprintf("link add %s type veth peer name eth0 netns %s", m.name, m.name),
			fmt.Sprintf("link set %s up master net", m.name),
			fmt.Sprintf("-n %s link set lo up", m.name),
			fmt.Sprintf("-n %s link set eth0 up address %s", m.name, hardware(m.address)),
			fmt.Sprintf("-n %s addr add %s/24 dev eth0", m.name, m.address),
			fmt.Sprintf("neigh replace %s lladdr %s dev net nud permanent", m.address, hardware(m.address)),
		)
	}
	// With neighbors that are known for good nobody asks for them: who is cut off gets no
	// error from ARP, but the silence of a router that drops.
	for _, m := range machines {
		lines = append(lines, fmt.Sprintf("-n %s neigh replace %s lladdr %s dev eth0 nud permanent", m.name, ours, hardware(ours)))
		for _, other := range machines {
			if other != m {
				lines = append(lines, fmt.Sprintf("-n %s neigh replace %s lladdr %s dev eth0 nud permanent", m.name, other.address, hardware(other.address)))
			}
		}
	}
	for _, line := range lines {
		if err := ip(line); err != nil {
			return err
		}
	}
	return nil
}

// silence cuts machines off: packets from and to them are lost without a word.
func silence(machines ...*machine) error { return move("nomaster", machines) }

// aside cuts machines off from the others, but not from each other.
func aside(machines ...*machine) error { return move("master aside", machines) }

// join brings machines back.
func join(machines ...*machine) error { return move("master net", machines) }

func move(to string, machines []*machine) error {
	for _, m := range machines {
		if err := ip("link set " + m.name + " " + to); err != nil {
			return err
		}
	}
	return nil
}

// ip runs the program of that name.
func ip(line string) error {
	out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", line, err, out)
	}
	return nil
}

// hardware is the address of the card with this address: 02:00 and the same four bytes.
func hardware(address string) string {
	b := netip.MustParseAddr(address).As4()
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}
