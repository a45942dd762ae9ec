package observed

import (
	"context"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Pools returns MetalLB's pools, sorted by name.
func (s *Snapshot) Pools() []state.PoolObject {
	var pools []state.PoolObject
	for o := range s.Of(kinds.IPAddressPool) {
		pools = append(pools, state.PoolObjectOf(o))
	}
	return pools
}

// NamespacesOf returns the sorted namespaces of a deployment group's leases.
func (s *Snapshot) NamespacesOf(group lease.Group) []string {
	var names []string
	for name, id := range s.Tenants {
		if id.Group() == group && id.Namespace() == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// EndpointWith returns the claim on the IP endpoint for which MetalLB has chosen an address, or nil if the address has a
// claim of its own, or nobody has claimed its endpoint.
func (s *Snapshot) EndpointWith(a netip.Addr) *state.Claim {
	if !a.IsValid() || s.Claim(state.AddressName(a)) != nil {
		return nil
	}
	for _, u := range s.AddressUses[a] {
		if claim := s.Claim(state.EndpointName(u.SharingKey)); claim != nil && u.Granted {
			return claim
		}
	}
	return nil
}

// Serves reports whether objects of the group, or of a former holder, serve the claim: a route serves its host, or a
// Service uses its address.
func (s *Snapshot) Serves(c *state.Claim, group lease.Group) bool {
	of := func(u state.Use) bool {
		return u.Of(group) || u.HasLease && slices.ContainsFunc(c.FormerOf(u.Lease.Group()), func(p state.Part) bool { return p.Lease.Group() == group })
	}
	switch c.Kind {
	case state.Endpoint:
		return slices.ContainsFunc(slices.Concat(s.Written.Of(group), s.Shared.Of(group)), func(o Owned) bool {
			return o.Kind == kinds.Service && state.ServiceObjectOf(o.Live).SharingKey == c.SharingKey
		})
	case state.Address:
		return slices.ContainsFunc(s.Addresses.Uses(c.Addr()), of)
	}
	return slices.ContainsFunc(s.HostUses[c.Thing], of)
}

// LiveFor returns the leases whose objects serve or declare a claim of the group: those of the group itself, and those of
// former holders since a transfer. A lease without a namespace serves nothing, whatever it has left.
func (s *Snapshot) LiveFor(c *state.Claim, group lease.Group) []lease.ID {
	var out []lease.ID
	add := func(id lease.ID) {
		of := id.Group() == group || slices.ContainsFunc(c.FormerOf(id.Group()), func(p state.Part) bool { return p.Lease.Group() == group })
		if of && s.Namespaces[id.Namespace()] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	uses := s.HostUses[c.Thing]
	if c.Kind.HasPorts() {
		uses = s.AddressUses[c.Addr()]
		for _, o := range s.portsOf[c.SharingKey] {
			if o.HasLease {
				add(o.Lease)
			}
		}
	}
	for _, u := range uses {
		if u.HasLease {
			add(u.Lease)
		}
	}
	return out
}

// LiveOf returns the leases of a deployment group that have something in the cluster and a namespace: objects, or the
// definition that the ledger keeps, as it was read with the snapshot or is given.
func (s *Snapshot) LiveOf(group lease.Group, given ...*kept.Definition) []lease.ID {
	var out []lease.ID
	add := func(id lease.ID) {
		if id.Group() == group && s.Namespaces[id.Namespace()] && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, o := range slices.Concat(s.Written.Of(group), s.Theirs.Of(group)) {
		add(s.Ownership(o.Live).Lease)
	}
	for _, d := range append(given, s.Definitions[kept.Name(group)]) {
		if d == nil || d.Deleting {
			continue
		}
		if def, err := d.Decode(); err == nil {
			add(def.Lease)
		}
	}
	return out
}

// Suspended returns the deployment groups that the reconciler leaves as they are, if everything in the ledger was read, without those
// whose definition cannot be read.
func (s *Snapshot) Suspended() map[lease.Group]bool {
	groups := map[lease.Group]bool{}
	for _, d := range s.Definitions {
		if d.Suspended {
			if def, err := d.Decode(); err == nil {
				groups[def.Lease.Group()] = true
			}
		}
	}
	return groups
}

// Reported reports whether any route of the kind has entries in this field of its status.
func (s *Snapshot) Reported(kind kinds.Kind, field string) bool {
	for o := range s.Of(kind) {
		if entries, _, _ := unstructured.NestedSlice(o.Object, "status", field); len(entries) > 0 {
			return true
		}
	}
	return false
}

// listNames lists a resource and returns the objects' names, as NAMESPACE/NAME if qualified. It returns nil if the
// cluster does not serve the resource.
func listNames(
	ctx context.Context, c *cluster.Cluster, resource schema.GroupVersionResource, qualified bool,
) (map[string]bool, error) {
	metas, err := c.Metas(ctx, resource, "")
	if cluster.IsMissingKind(err) {
		return nil, nil //nolint:nilnil // nil means unknown
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool, len(metas))
	for _, m := range metas {
		if qualified {
			out[m.Namespace+"/"+m.Name] = true
		} else {
			out[m.Name] = true
		}
	}
	return out, nil
}

// Reports returns what routers report about each host's routes.
func (s *Snapshot) Reports(there state.Routers) map[string][]state.Report {
	out := map[string][]state.Report{}
	for _, kind := range kinds.Reporting {
		for o := range s.Of(kind) {
			for _, r := range state.Reports(o, there) {
				for _, u := range state.HostUses(o) {
					out[u.Host] = append(out[u.Host], r)
				}
			}
		}
	}
	return out
}

// RefOf returns a reference to an object as it was read.
func RefOf(kind kinds.Kind, o *unstructured.Unstructured) state.ObjectRef {
	return state.ObjectRef{
		Kind: kind.Singular, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}
}

// heldBy returns the claims on which each deployment group has an entry.
func heldBy(claims []*state.Claim) map[lease.Group][]*state.Claim {
	held := map[lease.Group][]*state.Claim{}
	for _, c := range claims {
		for _, g := range c.Writers() {
			held[g] = append(held[g], c)
		}
	}
	return held
}

// DeployRequested returns a rendered ProviderHost, as a manager applies it over the live one, which may be nil, with the
// annotation for the time of the last deployment, as Akash's provider writes it: a new time makes the hostname operator
// process the object again. The time stays if nothing else changes. Any other object is returned as it is.
func DeployRequested(o render.Object, live *unstructured.Unstructured, manager string, now time.Time) render.Object {
	if o.Kind != kinds.ProviderHost {
		return o
	}
	if live != nil {
		at := live.GetAnnotations()[lease.AnnotationUpdatedAt]
		if at != "" && Owns(live, manager, lease.AnnotationUpdatedAt) {
			o = render.Annotated(o, lease.AnnotationUpdatedAt, at)
		}
		if cluster.Unchanged(o, live, manager) || state.OwnershipOf(live, lease.ID{}).Shared {
			return o
		}
	}
	return render.Annotated(o, lease.AnnotationUpdatedAt, now.UTC().Format(time.RFC3339))
}

// Touched returns a rendered object with the mark of a command that writes it even if it is as wanted.
func Touched(o render.Object, mark string) render.Object {
	return render.Annotated(o, lease.AnnotationTaken, mark)
}

// KeepsTaken returns a rendered object with the mark of an earlier command that the live object, which may be nil, has by
// the manager, so that an apply keeps it.
func KeepsTaken(o render.Object, live *unstructured.Unstructured, manager string) render.Object {
	if live == nil || !Owns(live, manager, lease.AnnotationTaken) {
		return o
	}
	return Touched(o, live.GetAnnotations()[lease.AnnotationTaken])
}

// Addresses reads all claims, and who claims and who uses which address, in order to propose free addresses.
func Addresses(
	ctx context.Context, c *cluster.Cluster, ledgerNamespace string,
) (claims []*state.Claim, addresses *state.Addresses, err error) {
	var uses, ofNodes []state.Use
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		claims, err = ledger.New(c, ledgerNamespace).List(ctx)
		return err
	})
	group.Go(func() error {
		services, err := c.Objects(ctx, kinds.Service.Resource(), "", metav1.ListOptions{})
		for _, o := range services {
			uses = append(uses, state.ServiceUses(o)...)
		}
		return err
	})
	group.Go(func() (err error) {
		ofNodes, err = NodeUses(ctx, c)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return claims, state.NewAddresses(claims, append(uses, ofNodes...)), nil
}

// HeldThings returns the claimed things and the deployment groups that claim them, each once. With a group it returns only
// the things that this group claims, and all groups that claim them; the zero group selects all things.
func HeldThings(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, of lease.Group) ([]thing.Thing, error) {
	claims, err := ledger.New(c, ledgerNamespace).List(ctx)
	var things []thing.Thing
	seen := map[lease.Group]bool{}
	for _, claim := range claims {
		if of != (lease.Group{}) && !slices.Contains(claim.Groups(), of) {
			continue
		}
		if t, err := thing.Parse(claim.Thing); err == nil {
			t.Endpoint = ""
			things = append(things, t)
		}
		for _, g := range claim.Groups() {
			if !seen[g] {
				seen[g] = true
				things = append(things, thing.Thing{Kind: thing.Lease, Group: g})
			}
		}
	}
	return things, err
}

// EachManifest yields the Manifest objects of Akash's provider as JSON, sorted by name.
func EachManifest(ctx context.Context, c *cluster.Cluster, namespace string, yield func(name string, version lease.Manifest, data []byte) error) error {
	objects, err := c.Objects(ctx, cluster.AkashResource("manifests"), namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if err := yield(o.GetName(), lease.Manifest{UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()}, data); err != nil {
			return err
		}
	}
	return nil
}
