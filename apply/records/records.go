// Package records says which DNS records a lease wants, and how they take the place of others.
package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

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

// ReplacedWait limits how long a command that waits for nothing else waits for a replaced record to be gone: if it ended at
// once, the name would have no record.
const ReplacedWait = 30 * time.Second

// Holder returns the other deployment group that may write a host's records: it holds a part of the host's claim, which may
// be nil, and its records are older than those of the group. It is empty if there is none. A DNS name has one writer.
func Holder(s *observed.Snapshot, group lease.Group, claim *state.Claim, host string) string {
	records := s.Records.Of(host)
	slices.SortStableFunc(records, func(a, b observed.Owned) int {
		return cmp.Or(a.Live.GetCreationTimestamp().Compare(b.Live.GetCreationTimestamp().Time), cmp.Compare(a.Live.GetUID(), b.Live.GetUID()))
	})
	for _, o := range records {
		switch {
		case o.Group == group:
			return ""
		case len(claim.PartsOf(o.Group)) > 0:
			return o.Group.String()
		}
	}
	return ""
}

// Replaced is a record that must be gone before others are created, and the reason.
type Replaced struct {
	observed.Owned
	Why string
}

// ToReplace returns the records of a host that must be deleted before the group's wanted ones are written: those that
// cannot be updated and, if any record is to be created, all that are not wanted. recreated has the names of the wanted
// records whose live object is deleted.
func ToReplace(s *observed.Snapshot, group lease.Group, host string, objects []render.Object) (old []Replaced, recreated map[string]bool) {
	recreated = map[string]bool{}
	created := ""
	wanted := sets.New[*unstructured.Unstructured]()
	for _, o := range objects {
		live := s.Find(o)
		if live == nil {
			created = o.String()
			continue
		}
		wanted.Insert(live)
		if why := whyReplaced(o, live); why != "" {
			created, recreated[o.Name] = o.String(), true
			id, _ := lease.IDFromLabels(live.GetLabels())
			old = append(old, Replaced{observed.Owned{Kind: o.Kind, Live: live, Group: id.Group()}, why})
		}
	}
	if created == "" {
		return old, recreated
	}
	for _, o := range s.Records.Of(host) {
		if wanted.Has(o.Live) {
			continue
		}
		why := "by " + created
		if o.Group != group {
			why += ", from deployment " + o.Group.String()
		}
		old = append(old, Replaced{o, why})
	}
	return old, recreated
}

// Targets returns where the hosts of a lease are reached, by the names of their records: read now if fresh is true, and
// otherwise as in the snapshot, but for the Gateway, which is read once.
func Targets(
	ctx context.Context, s *observed.Snapshot, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID,
	unknown []render.UnknownHost, fresh bool,
) (render.Published, error) {
	return Reader(s, c, cfg, id, fresh).Targets(ctx, unknown)
}

// Reader returns a reader of the addresses and names under which the hosts of a lease are reached.
func Reader(s *observed.Snapshot, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID, fresh bool) *published.Reader {
	return &published.Reader{Cluster: c, Config: cfg, Lease: id, Live: s, Fresh: fresh}
}

// fixedFields are the immutable fields of a DNSRecord's spec: Gardener's webhook for DNSRecords rejects a change of
// them, and the resource definition one of the class.
var fixedFields = []string{"type", "class", "name", "recordType"}

// whyReplaced returns the reason why a live record cannot be updated to the wanted one: it is being deleted, or an
// immutable field of a DNSRecord differs. It is empty if the record can be updated; every field of a DNSEndpoint can.
func whyReplaced(o render.Object, live *unstructured.Unstructured) string {
	if live.GetDeletionTimestamp() != nil {
		return "it is being deleted"
	}
	if o.Kind != kinds.DNSRecord {
		return ""
	}
	want := cluster.Rendered(o)
	for _, name := range fixedFields {
		was, _, _ := unstructured.NestedString(live.Object, "spec", name)
		is, _, _ := unstructured.NestedString(want.Object, "spec", name)
		if was != is {
			return fmt.Sprintf("its %s cannot be changed from %q to %q", name, was, is)
		}
	}
	return ""
}

// Prepared returns a rendered record as it is applied over the live one, which may be nil: a DNSRecord with the annotations
// that request a reconcile from Gardener's extension. The extension ignores a new spec without a new request; with an
// unchanged spec the annotations stay as they are, so that the record is not written.
func Prepared(o render.Object, live *unstructured.Unstructured, now time.Time) render.Object {
	if o.Kind != kinds.DNSRecord {
		return o
	}
	u := cluster.Rendered(o)
	annotations := u.GetAnnotations()
	if live != nil && reflect.DeepEqual(live.Object["spec"], u.Object["spec"]) {
		for _, name := range []string{view.GardenerOperation, view.GardenerTimestamp} {
			if value, set := live.GetAnnotations()[name]; set {
				annotations[name] = value
			}
		}
	} else {
		annotations[view.GardenerOperation] = "reconcile"
		annotations[view.GardenerTimestamp] = now.UTC().Format(time.RFC3339Nano)
	}
	u.SetAnnotations(annotations)
	o.Config = u
	return o
}

// Unrecorded returns, by host, what the missing DNS records of the hosts among things, and of the hosts of the leases
// among them, wait for.
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
			wanted, err := Wanted(ctx, c, s, claim.Thing, part)
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

// OwnRecords returns the DNS records that this program has written, each with the values that its lease wants for the
// host.
func OwnRecords(ctx context.Context, s *observed.Snapshot, c *command.Command) ([]diagnose.OwnRecord, error) {
	var out []diagnose.OwnRecord
	for _, host := range slices.Sorted(maps.Keys(s.Records)) {
		for _, o := range s.Records.Of(host) {
			own := diagnose.OwnRecord{Ref: observed.RefOf(o.Kind, o.Live), Object: view.RecordObjectOf(o.Live)}
			if parts := s.Claim(state.HostName(host)).PartsOf(o.Group); len(parts) > 0 && c.Options.Config.DNS.Records() {
				wanted, err := Wanted(ctx, c, s, host, parts[0])
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

// Wanted returns the records that a lease wants for a host of which it holds the part, as derived from claims, routes and
// configuration.
func Wanted(ctx context.Context, c *command.Command, s *observed.Snapshot, host string, part state.Part) (render.DNS, error) {
	of := wanting{c.Cluster, c.Options.Config, s, part.Lease}
	records, err := of.pointing(ctx, host, part, of.target(host), false)
	if _, ok := errors.AsType[lease.Problems](err); ok {
		return render.DNS{}, nil // the next apply of the lease reports the problems
	}
	return records, err
}

// At returns the records that point a host, of which a lease holds the part, at its routes of the configured target, with the
// addresses and names that are read now.
func At(ctx context.Context, c *command.Command, s *observed.Snapshot, id lease.ID, host string, part state.Part) (render.DNS, error) {
	return wanting{c.Cluster, c.Options.Config, s, id}.pointing(ctx, host, part, c.Options.Config.Target, true)
}

// wanting is what the records are found by that a lease wants.
type wanting struct {
	cluster  *cluster.Cluster
	cfg      *config.ProviderConfig
	snapshot *observed.Snapshot
	lease    lease.ID
}

// pointing returns the records that point a host at its routes of a target.
func (w wanting) pointing(ctx context.Context, host string, part state.Part, target string, fresh bool) (render.DNS, error) {
	e := lease.Expose{Port: part.Port, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: host}}}
	cfg, group, addresses := *w.cfg, w.lease.Group(), render.Addresses{}
	cfg.Ingress.StaticHosts = false // the definition names the host
	if cfg.IP.Mode != config.ModePool {
		e.IP, addresses = leasedEndpoint(w.snapshot.Held[group], group, part)
	}
	def := &lease.Definition{Lease: part.Lease, Services: []lease.Service{{Name: part.Service, Target: target, Expose: []lease.Expose{e}}}}
	for _, o := range slices.Concat(w.snapshot.Written.Of(group), w.snapshot.Records.Of(host)) {
		if o.Group == group {
			def.Hash = cmp.Or(o.Live.GetAnnotations()[lease.AnnotationDefinition], def.Hash)
		}
	}
	w.cfg = &cfg
	return w.render(ctx, def, addresses, fresh)
}

// render renders records with the values that the cluster publishes.
func (w wanting) render(ctx context.Context, def *lease.Definition, addresses render.Addresses, fresh bool) (render.DNS, error) {
	records, err := render.Records(def, w.cfg, addresses, nil)
	if err != nil || len(records.Unknown) == 0 {
		return records, err
	}
	targets, err := Targets(ctx, w.snapshot, w.cluster, w.cfg, w.lease, records.Unknown, fresh)
	if err != nil {
		return records, err
	}
	return render.Records(def, w.cfg, addresses, targets)
}

// target returns the target of the routes to which a host's records point: that of the configuration, unless the lease has
// only routes of another target, or that route is about to be deleted.
func (w wanting) target(host string) string {
	configured := w.cfg.Target
	found := ""
	for _, target := range []string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute} {
		for _, kind := range kinds.OfTarget(target) {
			exists := slices.ContainsFunc(w.snapshot.HostUses[host], func(u state.Use) bool {
				return u.Kind == kind.Singular && u.Of(w.lease.Group()) && !u.Redirect &&
					ResidualTTL(w.snapshot.At(kind, u.Namespace, u.Name)) == 0
			})
			if exists && (found == "" || target == configured) {
				found = target
			}
		}
	}
	return cmp.Or(found, configured)
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
