package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// away is a connection over which everything that is written arrives later, in its order.
type away struct {
	net.Conn

	late time.Duration
	sent chan parcel
	once sync.Once
}

type parcel struct {
	bytes []byte
	due   time.Time
}

func dialAway(ctx context.Context, network, address string, late time.Duration) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	a := &away{Conn: conn, late: late, sent: make(chan parcel, 1024)}
	go func() {
		for p := range a.sent {
			time.Sleep(time.Until(p.due))
			if _, err := conn.Write(p.bytes); err != nil {
				_ = conn.Close()
			}
		}
		_ = conn.Close()
	}()
	return a, nil
}

// Write implements [net.Conn].
func (a *away) Write(b []byte) (int, error) {
	a.sent <- parcel{append([]byte(nil), b...), time.Now().Add(a.late)}
	return len(b), nil
}

// Close implements [net.Conn]. What was written still arrives.
func (a *away) Close() error {
	a.once.Do(func() { close(a.sent) })
	return nil
}
