package observed

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Object is an object of a deployment group as it was read.
type Object struct {
	Kind  kinds.Kind
	Live  *unstructured.Unstructured
	Group lease.Group
	// Lease is the lease that it is of, by its namespace and its labels.
	Lease lease.ID
	// Ours is true if this program wrote it. Stays is true if Akash's provider keeps it: then this program withdraws its
	// fields, and deletes nothing.
	Ours, Stays bool
	// Near are the names of the claims that it may serve.
	Near []string
	// Runs is true for what the lease runs: it serves no claim by itself.
	Runs bool
	// used is what it uses, of an object of a snapshot, as long as it is as that has read it: many ask.
	used used
}

// used is what an object uses as it was read.
type used struct {
	as *unstructured.Unstructured
	by []Ground
}

// UID returns the UID of the object.
func (o Object) UID() types.UID { return o.Live.GetUID() }

// String returns the kind, and the namespace and name.
func (o Object) String() string {
	return o.Kind.Singular + " " + o.Live.GetNamespace() + "/" + o.Live.GetName()
}

// Record returns the host of a DNS record, or "" for any other object.
func (o Object) Record() string {
	if !slices.Contains(kinds.Records, o.Kind) {
		return ""
	}
	return view.RecordHost(o.Live)
}

// object returns an object of a group with what the snapshot says of it.
func (s *Snapshot) object(kind kinds.Kind, live *unstructured.Unstructured, group lease.Group) Object {
	whose := s.Ownership(live)
	o := Object{Kind: kind, Live: live, Group: group, Lease: whose.Lease, Ours: whose.Ours}
	o.used = used{live, o.uses()}
	o.Stays, o.Near = s.Stays(kind, live), s.Near(o)
	return o
}

// RefOf returns a reference to an object as it was read.
func RefOf(kind kinds.Kind, o *unstructured.Unstructured) state.ObjectRef {
	return state.ObjectRef{
		Kind: kind.Singular, Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}
}

// ManagerOf returns the field manager for an object of a deployment group. Akash's claim-like objects are written by
// the claimant, so that a second claimant's write conflicts instead of overwriting.
func ManagerOf(kind kinds.Kind, group lease.Group) string {
	if slices.Contains(kinds.ClaimLike, kind) {
		return group.FieldManager()
	}
	return lease.FieldManager
}

// Ownership returns who owns an object.
func (s *Snapshot) Ownership(o *unstructured.Unstructured) state.Ownership {
	return state.OwnershipOf(o, s.namespaces.At(o.GetNamespace()).Tenant)
}

// Stays reports whether Akash's provider has written an object and keeps it: this program withdraws its fields instead
// of deleting it.
func (s *Snapshot) Stays(kind kinds.Kind, live *unstructured.Unstructured) bool {
	whose := s.Ownership(live)
	return whose.Shared && !whose.Goes(slices.Contains(kinds.ClaimLike, kind), s.Declared(kind, live, whose.Lease.Group()))
}

// Declared reports whether Akash's provider declares the ProviderHost or ProviderLeasedIP of a route or Service, for the
// same deployment group.
func (s *Snapshot) Declared(kind kinds.Kind, live *unstructured.Unstructured, group lease.Group) bool {
	byAkash := func(kind kinds.Kind, namespace, name string) bool {
		o := s.At(kind, namespace, name)
		return o != nil && s.isDeclaration(o) && s.Ownership(o).Lease.Group() == group
	}
	if kind == kinds.Service {
		sharingKey := state.ServiceObjectOf(live).SharingKey
		return slices.ContainsFunc(state.ServicePortKeys(live), func(key string) bool {
			protocol, number := state.Part{Key: key}.ProtocolPort()
			port, ok := s.port(lease.LeasedIPName(sharingKey, protocol, number))
			return ok && byAkash(kinds.ProviderLeasedIP, port.Namespace, port.Name)
		})
	}
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return slices.ContainsFunc(s.HostUses.At(u.Host), func(u state.Use) bool {
			return u.Kind == kinds.ProviderHost.Singular && byAkash(kinds.ProviderHost, u.Namespace, u.Name)
		})
	})
}

// isDeclaration reports whether an object is a ProviderHost or a ProviderLeasedIP that Akash's provider declares: it has
// created the object, or has moved it to its present lease.
func (s *Snapshot) isDeclaration(live *unstructured.Unstructured) bool {
	if live == nil || live.GetDeletionTimestamp() != nil || !slices.Contains(kinds.ClaimLike, kinds.Of(live.GetKind())) {
		return false
	}
	whose := s.Ownership(live)
	return whose.HasLease && whose.Shared && (whose.Declared || !whose.Ours)
}

// DeclaredIn returns the ProviderHosts and ProviderLeasedIPs that Akash's provider declares for the lease of a namespace.
func (s *Snapshot) DeclaredIn(namespace string, group lease.Group) (out []Object) {
	for _, o := range s.Shared.Of(group) {
		if s.isDeclaration(o.Live) && s.Ownership(o.Live).Lease.Namespace() == namespace {
			out = append(out, o)
		}
	}
	return out
}

// Near returns the names of the claims that an object may serve.
func (s *Snapshot) Near(o Object) []string {
	switch {
	case o.Kind == kinds.ProviderLeasedIP:
		var names []string
		for _, c := range s.ClaimsOfPort(o) {
			names = append(names, c.Name())
		}
		return names
	case slices.Contains(kinds.Filters, o.Kind) || slices.Contains(kinds.Policies, o.Kind):
		if host, _, _ := lease.ParseRouteName(o.Live.GetName()); s.Claim(state.HostName(host)) != nil {
			return []string{state.HostName(host)}
		}
		var names []string
		for _, c := range s.Claims.former.At(o.Group) { // one named after a Service stays until the last route is deleted
			names = append(names, c.Name())
		}
		return names
	}
	return claimsUnder(o)
}

// Under returns the names of the claims on which the objects that this program wrote for a deployment group depend, whether
// such claims exist or not.
func (s *Snapshot) Under(group lease.Group) (names []string) {
	for _, o := range s.Written.Of(group) {
		names = append(names, claimsUnder(o)...)
	}
	return names
}

// Owns reports whether a field manager has applied the annotation.
func Owns(live *unstructured.Unstructured, manager, annotation string) bool {
	entry, ok := managed.Applied(live, manager)
	return ok && entry.Owns("metadata", "annotations", annotation)
}

// deployRequested returns a rendered ProviderHost, as a manager applies it over the live one, which may be nil, with the
// annotation for the time of the last deployment, as Akash's provider writes it: a new time makes the hostname operator
// process the object again. The time stays if nothing else changes. Any other object is returned as it is.
func deployRequested(o render.Object, live *unstructured.Unstructured, manager string, now time.Time) render.Object {
	if o.Kind != kinds.ProviderHost {
		return o
	}
	if live != nil {
		at := live.GetAnnotations()[lease.AnnotationUpdatedAt]
		if at != "" && Owns(live, manager, lease.AnnotationUpdatedAt) {
			o = render.Annotated(o, lease.AnnotationUpdatedAt, at)
		}
		if plan.Unchanged(o, live, manager) || state.OwnershipOf(live, lease.ID{}).Shared {
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

// Kept returns a rendered object, as a manager applies it over the one that is there, which may be nil, with the annotations that it keeps
// from that.
func (s *Snapshot) Kept(o render.Object, live *unstructured.Unstructured, manager string, now time.Time) render.Object {
	o = KeepsTaken(o, live, manager)
	switch {
	case o.Kind == kinds.DNSRecord:
		return prepared(o, live, now)
	case s.Operators.Hostname:
		return deployRequested(o, live, manager, now)
	}
	return o
}
