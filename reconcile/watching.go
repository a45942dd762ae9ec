package reconcile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
)

// Watching configures a reconciler that watches.
type Watching struct {
	Rest    *rest.Config
	Cluster *cluster.Cluster
	Command command.Options
	Limits  Limits
	// Set are the sources by kind and name: of the reconcilers with the same set one works.
	Set []string
	// Sources say which leases there are to be. Names are the sources' names, empty for one that owns no lease.
	Sources []sources.Source
	Names   []string
	// Manifests reads what the Manifests in the cluster say, as the source of the name OfManifests; nil if they are no source.
	Manifests func(context.Context, *cluster.Cluster) sources.Set
	// Events carries out what events say of leases, until the context ends; nil if there are none. defined returns the definition with which
	// a source names a deployment group, nil if none does.
	Events func(ctx context.Context, c *cluster.Cluster, defined func(lease.Group) *lease.Definition)
	// Elect is true if only one of several reconcilers works at a time.
	Elect bool
	// Resync is how often everything is decided anew, though nothing is seen to have changed.
	Resync time.Duration
	// Listen is where it answers over HTTP.
	Listen Listen
	// Say receives who is elected, Complain what goes wrong and belongs to no lease, Warn what a source warns of, and Log what
	// controller-runtime says.
	Say      func(string)
	Complain func(error)
	Warn     func(lease.Problems)
	Log      io.Writer
}

// Failing is a deployment group that fails, until it succeeds.
type Failing struct {
	Group lease.Group
	// Definition is what it is to be; nil if nobody knows.
	Definition *lease.Definition
	Err        error
	// Count is how often it has failed in a row, Since the first and Last the last time. It is tried again at Next, or earlier.
	Count             int
	Since, Last, Next time.Time
}

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
