package serve

import (
	"net"
	"net/netip"
	"sync"
)

// The bounds of connections: of a client, and of all. What is more is closed, so that a client that holds many keeps no other one out.
const (
	mostOfClient = 128
	mostOfAll    = 512
)

// bounded closes connections that are too many.
type bounded struct {
	net.Listener
	mu  sync.Mutex
	of  map[netip.Prefix]int
	all int
}

// Accept waits for a connection that is not too many (net.Listener).
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(c.RemoteAddr().String())
		if b.count(client, 1) {
			return &counted{Conn: c, ended: sync.OnceFunc(func() { b.count(client, -1) })}, nil
		}
		_ = c.Close() // nothing was read of it
	}
}

// count counts a connection of a client that has come, or has ended. It returns false for one too many.
func (b *bounded) count(client netip.Prefix, by int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by > 0 && (b.of[client] >= mostOfClient || b.all >= mostOfAll) {
		return false
	}
	b.all += by
	if b.of[client] += by; b.of[client] == 0 {
		delete(b.of, client)
	}
	return true
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	ended func()
}

// Close closes the connection (net.Conn).
func (c *counted) Close() error {
	defer c.ended()
	return c.Conn.Close()
}

// clientOf returns what tells a client from others, by the address of its connection.
func clientOf(remote string) netip.Prefix {
	at, _ := netip.ParseAddrPort(remote)
	bits := 32
	if at.Addr().Unmap().Is6() {
		bits = 64
	}
	client, _ := at.Addr().Unmap().WithZone("").Prefix(bits)
	return client
}
