package operators

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Fits refuses, before anything is claimed, what Akash's operators would stop at or overwrite. The hostname operator
// looks a ProviderHost's lease, service and port up in the lease's Manifest, and ignores the lease for good after three
// failures (provider: operator/hostname, event-failure-limit). The IP operator creates Services that ask for no
// address.
func (r *Operated) Fits() error {
	if err := r.checkIPOperator(); err != nil || !r.Snapshot.Operators.Hostname {
		return err
	}
	if r.Options.Config.DNS.Form == config.DNSAnnotations {
		return r.unfit(r.Def.At, "Akash's hostname operator makes its routes, and knows no annotations for external-dns (dns.form: annotations); "+
			"dns.form endpoint works beside it")
	}
	for _, s := range r.Def.Services {
		for _, e := range s.Expose {
			if err := r.checkHostnameOperator(&s, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Operated) unfit(at lease.Place, format string, args ...any) error {
	return &report.OperatorError{Lease: r.Request.Lease, At: at, Why: fmt.Sprintf(format, args...)}
}

// checkIPOperator refuses leased ports for which the IP operator would write other Services.
func (r *Operated) checkIPOperator() error {
	switch {
	case !r.Snapshot.Operators.IP || len(r.Request.Endpoints) == 0:
		return nil
	case r.Options.Config.IP.Mode != config.ModePool:
		return r.unfit(r.Request.Endpoints[0].At, "Akash's IP operator lets MetalLB choose the addresses, which goes with ip.mode %q only and not with %q: "+
			"set ip.mode to %q, or stop the operator (%s)", config.ModePool, r.Options.Config.IP.Mode, config.ModePool, stop(observed.IPOperators))
	case r.Snapshot.Operators.Off:
		return r.unfit(r.Request.Endpoints[0].At, "--operators=off, but Akash's IP operator runs, and writes its own Services over those of this program: "+
			"leave --operators=off out, or stop the operator (%s)", stop(observed.IPOperators))
	}
	return nil
}

// checkHostnameOperator refuses a root host that the hostname operator would not route, or would route differently.
func (r *Operated) checkHostnameOperator(s *lease.Service, e lease.Expose) error {
	if e.IsIngress() && e.Routing != nil && r.known(e) {
		return r.unfit(e.At, "Akash's hostname operator makes plain routes of root hosts: "+
			"it does not know TLS, weights, header rules, sticky sessions, settings and labels")
	}
	hosts := len(e.Hosts) > 0 || len(r.Options.Config.OwnHosts(r.Request.Lease, s)) > 0
	if !e.IsIngress() || !hosts || e.RoutePath() != "/" {
		return nil
	}
	if r.Snapshot.Operators.Off && r.known(e) {
		return r.unfit(e.At, "--operators=off, but Akash's hostname operator runs, and writes its own route of %s over that of this program: "+
			"leave --operators=off out, or stop the operator (%s)", s.Name, stop(observed.HostnameOperators))
	}
	switch manifests := r.Snapshot.Manifests; {
	case manifests[r.Request.Lease.Namespace()] == nil:
		return r.unfit(e.At, "it has no Manifest in namespace %s, and Akash's hostname operator would ignore the lease from then on: "+
			"apply again when the tenant has sent the manifest", r.Options.Config.ManifestNamespace)
	case manifests.Lacks(r.Request.Lease, s.Name, e.ExternalPort()) != "":
		return r.unfit(e.At, "its Manifest has no service %s with instances and a global port %d, and Akash's hostname operator would ignore the lease from then on: "+
			"apply what the tenant has deployed", s.Name, e.ExternalPort())
	}
	return nil
}

// stop returns the command that stops an operator.
func stop(names []string) string {
	return fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=0", observed.OperatorsNamespace, names[0])
}

// known reports whether the hostname operator knows a host of the expose.
func (r *Operated) known(e lease.Expose) bool {
	return e.RoutePath() == "/" && (r.Options.Config.Ingress.StaticHosts ||
		slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return !strings.HasPrefix(h.Name, "*.") }))
}
