package webhooks

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers for all of DNS on 127.0.0.1:53, over UDP and TCP.
//
// A name of the form <hex>.<hex>.ip.example has the addresses that its first
// labels spell. Others are in zone: a list of turns, the answers to the first
// query for a type, the second and so on; the last turn stays. An answer is an
// address or, after "=", the name of which it is an alias.
type nameServer struct {
	zone map[string][][]string

	mu    sync.Mutex
	asked map[string]int
}

func newNameServer(t *testing.T, zone map[string][][]string) *nameServer {
	t.Helper()
	s := &nameServer{zone: zone, asked: map[string]int{}}
	packets, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", "127.0.0.1:53")
	must(t, err)
	streams, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:53")
	must(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(s.answer(buffer[:n], 512), from)
		}
	})
	running.Go(func() {
		for {
			conn, err := streams.Accept()
			if err != nil {
				return
			}
			running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = packets.Close(); _ = streams.Close(); running.Wait() })
	return s
}

// serve answers the queries on one TCP connection.
func (s *nameServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := s.answer(query, 65535)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer returns the reply to a query; one that is longer than limit is cut, so
// that the client asks again over TCP.
func (s *nameServer) answer(query []byte, limit int) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	records, exists := s.records(q)
	m.Answers = records
	if !exists {
		m.RCode = dnsmessage.RCodeNameError
	}
	packed, err := m.Pack()
	if err != nil || len(packed) > limit {
		m.Answers, m.Truncated = nil, true
		packed, _ = m.Pack()
	} else {
		s.count(q)
	}
	return packed
}

func (s *nameServer) count(q dnsmessage.Question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[key(q)]++
}

func key(q dnsmessage.Question) string {
	return q.Type.String() + " " + strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
}

// records follows aliases and returns the addresses of the type asked for.
func (s *nameServer) records(q dnsmessage.Question) (out []dnsmessage.Resource, exists bool) {
	s.mu.Lock()
	turn := s.asked[key(q)]
	s.mu.Unlock()
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	for range 10 {
		answers, ok := s.lookUp(name, turn)
		if !ok {
			return out, false
		}
		head := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name + "."), Class: dnsmessage.ClassINET}
		next := ""
		for _, a := range answers {
			if alias, ok := strings.CutPrefix(a, "="); ok {
				next = alias
				out = append(out, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(alias + ".")}})
				continue
			}
			switch addr := netip.MustParseAddr(a); {
			case addr.Is4() && q.Type == dnsmessage.TypeA:
				out = append(out, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
			case addr.Is6() && q.Type == dnsmessage.TypeAAAA:
				out = append(out, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
			}
		}
		if next == "" {
			return out, true
		}
		name = next
	}
	return out, true // an endless chain of aliases
}

func (s *nameServer) lookUp(name string, turn int) ([]string, bool) {
	if spelled, ok := strings.CutSuffix(name, ".ip.example"); ok {
		var out []string
		for label := range strings.SplitSeq(spelled, ".") {
			b, err := hex.DecodeString(label)
			addr, ok := netip.AddrFromSlice(b)
			if err != nil || !ok {
				return nil, false
			}
			out = append(out, addr.String())
		}
		return out, true
	}
	turns, ok := s.zone[name]
	if !ok {
		return nil, false
	}
	return turns[min(turn, len(turns)-1)], true
}

// spelled returns the name that has the addresses.
func spelled(addrs ...string) string {
	var name strings.Builder
	for _, a := range addrs {
		name.WriteString(hex.EncodeToString(netip.MustParseAddr(a).AsSlice()) + ".")
	}
	return name.String() + "ip.example"
}
