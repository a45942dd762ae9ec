// Package records says which DNS records a lease wants, and how they take the place of others.
package records

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// RecordProblems returns the problems of a lease's DNS records that do not depend on the cluster.
func RecordProblems(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, err := render.Records(def, cfg, nil, nil)
	var problems lease.Problems
	_ = errors.As(err, &problems)
	return problems
}

// Targets returns where the hosts of a lease are reached, by the names of their records: read now if fresh is true, and
// otherwise as in the snapshot, but for the Gateway, which is read once.
func Targets(
	ctx context.Context, s *observed.Snapshot, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID,
	unknown []render.UnknownHost, fresh bool,
) (render.Published, error) {
	r := &published.Reader{Cluster: c, Config: cfg, Lease: id, Live: s, Fresh: fresh}
	return r.Targets(ctx, unknown)
}

// Unrecorded returns, by host, what the missing DNS records of the hosts among things, and of the hosts of the leases
// among them, wait for.
func Unrecorded(ctx context.Context, s *observed.Snapshot, c *command.Command, things []thing.Thing) (map[string]string, error) {
	out := map[string]string{}
	if !c.Options.Config.DNS.Records() {
		return out, nil
	}
	for _, claim := range s.List() {
		if claim.Kind.HasPorts() || s.Records.Has(claim.Thing) {
			continue
		}
		for _, part := range claim.Parts {
			group := part.Lease.Group()
			if !slices.ContainsFunc(things, func(t thing.Thing) bool {
				return t.Kind == thing.Lease && t.Group == group || t.Kind == thing.Host && t.Host == claim.Thing
			}) {
				continue
			}
			wanted, err := Wanted(ctx, c, s, claim.Thing, part)
			if err != nil {
				return nil, err
			}
			for _, u := range wanted.Unknown {
				out[u.Name] = u.Lacks(c.Options.Config)
			}
		}
	}
	return out, nil
}

// OwnRecords returns the DNS records that this program has written, each with the values that its lease wants for the
// host.
func OwnRecords(ctx context.Context, s *observed.Snapshot, c *command.Command) ([]diagnose.OwnRecord, error) {
	var out []diagnose.OwnRecord
	for _, host := range slices.Sorted(s.Records.Keys()) {
		for _, o := range s.Records.Of(host) {
			own := diagnose.OwnRecord{Ref: observed.RefOf(o.Kind, o.Live), Object: view.RecordObjectOf(o.Live)}
			if parts := s.Claim(state.HostName(host)).PartsOf(o.Group); len(parts) > 0 && c.Options.Config.DNS.Records() {
				wanted, err := Wanted(ctx, c, s, host, parts[0])
				if err != nil {
					return nil, err
				}
				own.Known = len(wanted.Objects) > 0
				for _, w := range wanted.Objects {
					own.Want = append(own.Want, view.RecordObjectOf(render.Rendered(w)).Records...)
				}
			}
			out = append(out, own)
		}
	}
	return out, nil
}

// Wanted returns the records that a lease wants for a host of which it holds the part, as derived from claims, routes and
// configuration.
func Wanted(ctx context.Context, c *command.Command, s *observed.Snapshot, host string, part state.Part) (render.DNS, error) {
	cfg := c.Options.Config
	def, as, addresses := pointing(cfg, s, part.Lease, host, part, target(cfg, s, part.Lease.Group(), host))
	records, err := render.Records(def, as, addresses, nil)
	if err == nil && len(records.Unknown) > 0 {
		var targets render.Published
		if targets, err = Targets(ctx, s, c.Cluster, as, part.Lease, records.Unknown, false); err == nil {
			records, err = render.Records(def, as, addresses, targets)
		}
	}
	if _, ok := errors.AsType[lease.Problems](err); ok {
		return render.DNS{}, nil // the next apply of the lease reports the problems
	}
	return records, err
}

// At returns the records that point a host, of which a lease holds a part, at its routes of the configured target, which are reached at
// targets.
func At(cfg *config.ProviderConfig, s *observed.Snapshot, id lease.ID, host string, targets render.Published) (render.DNS, error) {
	part := s.Claim(state.HostName(host)).PartsOf(id.Group())[0]
	def, cfg, addresses := pointing(cfg, s, id, host, part, cfg.Target)
	return render.Records(def, cfg, addresses, targets)
}

// pointing returns a definition of a host that leads to its routes of a target, with what its records are rendered by.
func pointing(cfg *config.ProviderConfig, s *observed.Snapshot, id lease.ID, host string, part state.Part, target string) (*lease.Definition, *config.ProviderConfig, render.Addresses) {
	e := lease.Expose{Port: part.Port, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host}}}
	as, group, addresses := *cfg, id.Group(), render.Addresses{}
	as.Ingress.StaticHosts = false // the definition names the host
	if cfg.IP.Mode != config.ModePool {
		e.IP, addresses = leasedEndpoint(s.Claims.Held(group), group, part)
	}
	def := &lease.Definition{Lease: part.Lease, Services: []lease.Service{{Name: part.Service, Target: target, Expose: []lease.Expose{e}}}}
	for _, o := range slices.Concat(s.Written.Of(group), s.Records.Of(host)) {
		if o.Group == group {
			def.Hash = cmp.Or(o.Live.GetAnnotations()[lease.AnnotationDefinition], def.Hash)
		}
	}
	return def, &as, addresses
}

// target returns the target of the routes to which a host's records point: that of the configuration, unless the lease has
// only routes of another target, or that route is about to be deleted.
func target(cfg *config.ProviderConfig, s *observed.Snapshot, group lease.Group, host string) string {
	found := ""
	for _, target := range []string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute} {
		for _, kind := range kinds.OfTarget(target) {
			exists := slices.ContainsFunc(s.HostUses.At(host), func(u state.Use) bool {
				return u.Kind == kind.Singular && u.Of(group) && !u.Redirect &&
					ResidualTTL(s.At(kind, u.Namespace, u.Name)) == 0
			})
			if exists && (found == "" || target == cfg.Target) {
				found = target
			}
		}
	}
	return cmp.Or(found, cfg.Target)
}

// leasedEndpoint returns the IP endpoint that the service of a part leases, and the addresses of the endpoint: the
// endpoint of the part's own port or, if that port is not leased, of the service's lowest port. held are the claims of
// the group.
func leasedEndpoint(held []*state.Claim, group lease.Group, part state.Part) (endpoint string, addrs render.Addresses) {
	type port struct {
		other int // 0 for the part's own port, 1 for any other
		key   string
		part  state.Part
	}
	var ports []port
	addresses := map[string][]netip.Addr{}
	for _, c := range held {
		if c.Kind != state.Address {
			continue
		}
		addresses[c.SharingKey] = append(addresses[c.SharingKey], c.Addr())
		for _, p := range c.PartsOf(group) {
			if p.Service != part.Service {
				continue
			}
			other := 1
			if _, n := p.ProtocolPort(); n == part.Port {
				other = 0
			}
			ports = append(ports, port{other, c.SharingKey, p})
		}
	}
	if len(ports) == 0 {
		return "", nil
	}
	first := slices.MinFunc(ports, func(a, b port) int {
		return cmp.Or(cmp.Compare(a.other, b.other), cmp.Compare(a.part.Port, b.part.Port), cmp.Compare(a.part.Key, b.part.Key))
	})
	endpoint = lease.EndpointOf(group.Owner, first.key)
	return endpoint, render.Addresses{endpoint: addresses[first.key]}
}

// ResidualTTL returns for how long clients may still reach a route that is deleted after DNS points elsewhere, from the
// annotation of the route; 0 for any other route.
func ResidualTTL(live *unstructured.Unstructured) time.Duration {
	if live == nil {
		return 0
	}
	seconds, err := strconv.ParseUint(live.GetAnnotations()[lease.AnnotationDNSTTL], 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
