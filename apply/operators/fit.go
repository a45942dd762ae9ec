package operators

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Fits refuses, before anything is claimed, what Akash's operators would stop at or overwrite. The hostname operator
// looks a ProviderHost's lease, service and port up in the lease's Manifest, and ignores the lease for good after three
// failures (provider: operator/hostname, event-failure-limit). The IP operator creates Services that ask for no
// address.
func Fits(s *observed.Snapshot, cfg *config.ProviderConfig, def *lease.Definition, req state.Request) error {
	w := wish{s, cfg, req}
	if err := w.checkIPOperator(); err != nil || !s.Operators.Hostname {
		return err
	}
	if cfg.DNS.Form == config.DNSAnnotations {
		return w.unfit(def.At, "Akash's hostname operator makes its routes, and knows no annotations for external-dns (dns.form: annotations); "+
			"dns.form endpoint works beside it")
	}
	for _, service := range def.Services {
		for _, e := range service.Expose {
			if err := w.checkHostnameOperator(&service, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// wish is what a lease asks for, where it is asked.
type wish struct {
	snapshot *observed.Snapshot
	cfg      *config.ProviderConfig
	request  state.Request
}

func (w wish) unfit(at lease.Place, format string, args ...any) error {
	return &report.OperatorError{Lease: w.request.Lease, At: at, Why: fmt.Sprintf(format, args...)}
}

// checkIPOperator refuses leased ports for which the IP operator would write other Services.
func (w wish) checkIPOperator() error {
	switch {
	case !w.snapshot.Operators.IP || len(w.request.Endpoints) == 0:
		return nil
	case w.cfg.IP.Mode != config.ModePool:
		return w.unfit(w.request.Endpoints[0].At, "Akash's IP operator lets MetalLB choose the addresses, which goes with ip.mode %q only and not with %q: "+
			"set ip.mode to %q, or stop the operator (%s)", config.ModePool, w.cfg.IP.Mode, config.ModePool, manifests.StopOperator(manifests.IPOperators[0]))
	case w.snapshot.Operators.Off:
		return w.unfit(w.request.Endpoints[0].At, "--operators=off, but Akash's IP operator runs, and writes its own Services over those of this program: "+
			"leave --operators=off out, or stop the operator (%s)", manifests.StopOperator(manifests.IPOperators[0]))
	}
	return nil
}

// checkHostnameOperator refuses a root host that the hostname operator would not route, or would route differently.
func (w wish) checkHostnameOperator(s *lease.Service, e lease.Expose) error {
	if e.IsIngress() && e.Routing != nil && w.known(e) {
		return w.unfit(e.At, "Akash's hostname operator makes plain routes of root hosts: "+
			"it does not know TLS, weights, header rules, sticky sessions, settings and labels")
	}
	hosts := len(e.Hosts) > 0 || len(w.cfg.OwnHosts(w.request.Lease, s)) > 0
	if !e.IsIngress() || !hosts || e.RoutePath() != "/" {
		return nil
	}
	if w.snapshot.Operators.Off && w.known(e) {
		return w.unfit(e.At, "--operators=off, but Akash's hostname operator runs, and writes its own route of %s over that of this program: "+
			"leave --operators=off out, or stop the operator (%s)", s.Name, manifests.StopOperator(manifests.HostnameOperators[0]))
	}
	switch sent := w.snapshot.Manifests; {
	case sent[w.request.Lease.Namespace()] == nil:
		return w.unfit(e.At, "it has no Manifest in namespace %s, and Akash's hostname operator would ignore the lease from then on: "+
			"apply again when the tenant has sent the manifest", w.cfg.ManifestNamespace)
	case sent.Lacks(w.request.Lease, s.Name, e.ExternalPort()) != "":
		return w.unfit(e.At, "its Manifest has no service %s with instances and a global port %d, and Akash's hostname operator would ignore the lease from then on: "+
			"apply what the tenant has deployed", s.Name, e.ExternalPort())
	}
	return nil
}

// known reports whether the hostname operator knows a host of the expose.
func (w wish) known(e lease.Expose) bool {
	return e.RoutePath() == "/" && (w.cfg.Ingress.StaticHosts ||
		slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return !strings.HasPrefix(h.Name, "*.") }))
}
