package reconcile

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Listen is where a reconciler that watches answers over HTTP.
type Listen struct {
	// Address is an IP address and a port; the zero value listens nowhere.
	Address netip.AddrPort
	// Operators is where it answers Akash's provider in the place of Akash's operators: as they do, without encryption and without a
	// token, and with what the provider asks them for and nothing else. The zero value answers nowhere.
	Operators netip.AddrPort
	// CertFile and KeyFile are the certificate and its key in PEM. Without them an address that is not loopback has a self-signed
	// certificate.
	CertFile, KeyFile string
}

// ParseListen reads PORT, :PORT or ADDRESS:PORT. A port alone is one of the loopback address.
func ParseListen(text string) (at netip.AddrPort, err error) {
	if text == "" {
		return at, nil
	}
	host, port := "", text
	if strings.Contains(text, ":") {
		if host, port, err = net.SplitHostPort(text); err != nil {
			return at, fmt.Errorf("%q is not PORT or ADDRESS:PORT", text)
		}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return at, fmt.Errorf("%q is not a port from 1 to 65535", port)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return at, fmt.Errorf("%q is not an IP address; 0.0.0.0 or [::] listens on all", host)
	}
	return netip.AddrPortFrom(address, uint16(number)), nil
}

// Loopback reports whether only this machine reaches the address.
func (l Listen) Loopback() bool { return l.Address.Addr().Unmap().IsLoopback() }

// TLS reports whether connections are encrypted: always, except on the loopback address without a certificate.
func (l Listen) TLS() bool { return l.CertFile != "" || !l.Loopback() }
