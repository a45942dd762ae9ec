package records

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Unrecorded says of the hosts among things and leases that have no DNS record for what it waits.
func Unrecorded(ctx context.Context, s *observed.Snapshot, c *command.Command, things []thing.Thing) (map[string]string, error) {
	out := map[string]string{}
	if !c.Options.Config.DNS.Records() {
		return out, nil
	}
	for _, claim := range s.List() {
		if claim.Kind.HasPorts() || len(s.Records[claim.Thing]) > 0 {
			continue
		}
		for _, part := range claim.Parts {
			group := part.Lease.Group()
			if !slices.ContainsFunc(things, func(t thing.Thing) bool {
				return t.Kind == thing.Lease && t.Group == group || t.Kind == thing.Host && t.Host == claim.Thing
			}) {
				continue
			}
			r := New(c, nil, state.Request{Lease: part.Lease})
			r.Snapshot = s
			wanted, err := r.wantedRecords(ctx, claim.Thing, part)
			if err != nil {
				return nil, err
			}
			for _, u := range wanted.Unknown {
				out[u.Name] = published.Missing(c.Options.Config, u)
			}
		}
	}
	return out, nil
}

// OwnRecords are the DNS records of ours, each with what its lease is to have for the host.
func OwnRecords(ctx context.Context, s *observed.Snapshot, c *command.Command) ([]diagnose.OwnRecord, error) {
	var out []diagnose.OwnRecord
	for _, host := range slices.Sorted(maps.Keys(s.Records)) {
		for _, o := range s.Records[host] {
			own := diagnose.OwnRecord{Ref: observed.RefOf(o.Kind, o.Live), Object: view.RecordObjectOf(o.Live)}
			claim := s.Claims[state.HostName(host)]
			if claim != nil && len(claim.PartsOf(o.Group)) > 0 && c.Options.Config.DNS.Records() {
				r := New(c, nil, state.Request{Lease: claim.PartsOf(o.Group)[0].Lease})
				r.Snapshot = s
				wanted, err := r.wantedRecords(ctx, host, claim.PartsOf(o.Group)[0])
				if err != nil {
					return nil, err
				}
				own.Known = len(wanted.Objects) > 0
				for _, w := range wanted.Objects {
					own.Want = append(own.Want, view.RecordObjectOf(cluster.Rendered(w)).Records...)
				}
			}
			out = append(out, own)
		}
	}
	return out, nil
}

// wantedRecords are the records that a lease is to have for a host, of which it holds the part, as
// far as claims, routes and configuration tell.
func (r *Records) wantedRecords(ctx context.Context, host string, part state.Part) (render.DNS, error) {
	records, err := r.RecordsFor(ctx, host, part, r.recordTarget(host), false)
	if _, ok := errors.AsType[lease.Problems](err); ok {
		return render.DNS{}, nil // the next apply of the lease tells of them
	}
	return records, err
}

// RecordsFor are the records by which a host leads to its route of a kind.
func (r *Records) RecordsFor(ctx context.Context, host string, part state.Part, target string, fresh bool) (render.DNS, error) {
	e := lease.Expose{Port: part.Port, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host}}}
	opts, cfg := r.Options, *r.Options.Config
	cfg.Ingress.StaticHosts = false // the host is named
	opts.Config = &cfg
	own := New(command.New(r.Cluster, opts), nil, r.Request)
	own.Snapshot = r.Snapshot
	e.IP, own.Addresses = r.leasedFor(part)
	def := &lease.Definition{Lease: part.Lease, Services: []lease.Service{{Name: part.Service, Target: target, Expose: []lease.Expose{e}}}}
	for _, o := range slices.Concat(r.Snapshot.Written[r.Group], r.Snapshot.Records[host]) {
		if o.Group == r.Group {
			def.Hash = cmp.Or(o.Live.GetAnnotations()[lease.AnnotationDefinition], def.Hash)
		}
	}
	return own.RenderRecords(ctx, def, fresh)
}

// recordTarget is the kind of route to which a host's records point: that of the configuration, unless the
// lease has only others, or that one is about to be deleted.
func (r *Records) recordTarget(host string) string {
	configured := r.Options.Config.Target
	found := ""
	for _, target := range []string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute} {
		for _, kind := range kinds.OfTarget(target) {
			there := slices.ContainsFunc(r.Snapshot.HostUses[host], func(u state.Use) bool {
				return u.Kind == kind.Singular && u.Of(r.Group) && !u.Redirect && ResidualTTL(r.Snapshot.Live[kind.Plural][u.Namespace+"/"+u.Name]) == 0
			})
			if there && (found == "" || target == configured) {
				found = target
			}
		}
	}
	return cmp.Or(found, configured)
}

// leasedFor is the IP endpoint that the service behind a host leases, and its addresses: that of the
// host's own port or, without one, that of the service's first.
func (r *Records) leasedFor(part state.Part) (endpoint string, addrs render.Addresses) {
	type port struct {
		key  string
		part state.Part
	}
	var ports []port
	addresses := map[string][]netip.Addr{}
	for _, c := range r.Snapshot.Held[r.Group] {
		if c.Kind != state.Address || r.Options.Config.IP.Mode == config.ModePool {
			continue
		}
		addresses[c.SharingKey] = append(addresses[c.SharingKey], c.Addr())
		for _, p := range c.PartsOf(r.Group) {
			if p.Service == part.Service {
				ports = append(ports, port{c.SharingKey, p})
			}
		}
	}
	if len(ports) == 0 {
		return "", nil
	}
	other := func(p port) int {
		if _, n := p.part.ProtocolPort(); n == part.Port {
			return 0
		}
		return 1
	}
	first := slices.MinFunc(ports, func(a, b port) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(a.part.Port, b.part.Port), cmp.Compare(a.part.Key, b.part.Key))
	})
	endpoint = strings.TrimPrefix(first.key, r.Group.Owner+"-ip-")
	return endpoint, render.Addresses{endpoint: addresses[first.key]}
}

// Rerecord makes the DNS records of a host say what they should, whoever has changed them: pinned to
// what was read.
func (r *Records) Rerecord(ctx context.Context, host string, part state.Part) error {
	r.Request.Lease, r.Group = part.Lease, part.Lease.Group()
	wanted, err := r.wantedRecords(ctx, host, part)
	if err != nil {
		return err
	}
	going, replaced := r.going(host, wanted.Objects)
	for _, o := range r.Snapshot.Records[host] {
		if o.Group == r.Group && !slices.ContainsFunc(wanted.Objects, func(w render.Object) bool { return r.Snapshot.Find(w) == o.Live }) {
			going = append(going, goingRecord{o, ""})
		}
	}
	for _, g := range going {
		if err := r.Remove(ctx, g.Owned, report.Deleted); err != nil {
			return err
		}
	}
	if gone, err := r.awaitRemoved(ctx, going); err != nil || !gone {
		return cmp.Or(err, errors.New("what is to be replaced is still being deleted"))
	}
	for _, o := range wanted.Objects {
		live := r.Snapshot.Find(o)
		switch {
		case live == nil || replaced[o.Name]:
			_, err = r.putRecord(ctx, o, nil)
		case !reflect.DeepEqual(live.Object["spec"], cluster.Rendered(o).Object["spec"]):
			if o.Kind == kinds.DNSRecord {
				o = requested(o, live, r.Cluster.Now())
			}
			err = r.Cluster.Seize(ctx, o, r.Manager(o), live)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ResidualTTL is for how long clients may still reach a route that is to be deleted once DNS points
// elsewhere, as its annotation says; 0 for any other route.
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
