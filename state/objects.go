package state

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Labelled is what the metadata of an object says about its lease, whoever wrote the object.
type Labelled struct {
	// Kind is the object's kind in lower case.
	Kind, Namespace, Name string
	// Lease is the lease that the labels name. HasLease is false if they name none, or the lease of another namespace.
	Lease    lease.ID
	HasLease bool
	// Owner is the owner label, which may be set without the other labels of a lease.
	Owner string
	Since time.Time
	// Edited is true if kubectl users own fields of the object, which this program has applied.
	Edited bool
	// Rendered is true for an object that says from which definition it was rendered.
	Rendered bool
}

// LabelledOf reads the labels of an object of the kind.
func LabelledOf(kind string, o metav1.Object) Labelled {
	l := Labelled{
		Kind: intern(strings.ToLower(kind)), Namespace: o.GetNamespace(), Name: o.GetName(),
		Owner: intern(marked(o, "labels", lease.LabelOwner)), Since: o.GetCreationTimestamp().Time, Edited: managed.Edited(o),
		Rendered: marked(o, "annotations", lease.AnnotationDefinition) != "",
	}
	if l.Lease, l.HasLease = labelledLease(kind, o); !l.HasLease && isForged(o) {
		l.Owner = ""
	}
	l.Lease.Owner, l.Lease.Provider = intern(l.Lease.Owner), intern(l.Lease.Provider)
	return l
}

// isForged reports whether the labels of an object name a lease that has another namespace.
func isForged(o metav1.Object) bool {
	id, ok := lease.IDFromLabels(o.GetLabels())
	return ok && id.Namespace() != o.GetNamespace()
}

// Of reports whether the object belongs to the deployment group.
func (l Labelled) Of(g lease.Group) bool { return l.HasLease && l.Lease.Group() == g }

// HostObject is a ProviderHost or a route of a lease. Akash's provider and this program both name them after the host.
type HostObject struct {
	Labelled
	// Host is the host or wildcard and PathHash the hash of the path (lease.PathHash) in the object's name. Redirect is
	// true for a route that redirects to the route with the backend.
	Host, PathHash string
	Redirect       bool
	// Whole is true if the whole object was read. Only then are the fields below set.
	Whole bool
	// Service and Port are the backend: that of the host and the path of the name, if the object routes them.
	Service string
	Port    uint16
	// Routing is what a route takes, nil for a ProviderHost.
	Routing *Routing
	// Unaccepted says why a route does not serve yet, according to the controllers that write its status.
	Unaccepted string
}

// HostObjectOf reads the metadata of a ProviderHost or a route.
func HostObjectOf(kind string, o metav1.Object) HostObject {
	h := HostObject{Labelled: LabelledOf(kind, o)}
	h.Host, h.PathHash, h.Redirect = lease.ParseRouteName(h.Name)
	return h
}

// PortObject is a ProviderLeasedIP: one port of an IP endpoint.
type PortObject struct {
	Labelled
	SharingKey string
	Protocol   lease.Protocol
	Port       uint16
	Service    string
}

// PortObjectOf reads the metadata of a ProviderLeasedIP. The name contains the sharing key, the protocol and the port.
// If the name has another form, the labels contain the protocol and the port.
func PortObjectOf(o metav1.Object) PortObject {
	labels := o.GetLabels()
	p := PortObject{Labelled: LabelledOf("ProviderLeasedIP", o), Service: labels["service-name"]}
	ok := false
	if p.SharingKey, p.Protocol, p.Port, ok = lease.ParseLeasedIPName(p.Name); !ok {
		p.SharingKey, p.Protocol = p.Name, lease.Protocol(strings.ToUpper(labels["proto"]))
		if port, err := strconv.ParseUint(labels["external-port"], 10, 16); err == nil {
			p.Port = uint16(port)
		}
	}
	return p
}

// DeclaredBackend returns the backend that a ProviderHost or a ProviderLeasedIP declares.
func DeclaredBackend(o *unstructured.Unstructured) (service string, port uint16) {
	field := "external_port"
	if o.GetKind() == kinds.ProviderLeasedIP.Kind {
		field = "port"
	}
	service, _ = Field(o.Object, "spec", "service_name").(string)
	return service, portNumber(Field(o.Object, "spec", field))
}

// ServiceObject is the LoadBalancer Service of a leased port.
type ServiceObject struct {
	Labelled
	SharingKey string
	Protocol   lease.Protocol
	// Port is the port on the address, ContainerPort the port of the workload's Service.
	Port, ContainerPort uint16
	Service             string
	// Pool is the pool that MetalLB allocated the address from, or else the pool that the Service requests.
	Pool           string
	Asked, Granted []netip.Addr
}

// ServiceObjectOf reads a LoadBalancer Service.
func ServiceObjectOf(o *unstructured.Unstructured) ServiceObject {
	s := ServiceObject{Labelled: LabelledOf("Service", o)}
	for _, u := range AddressUses(o) {
		if u.Granted {
			s.Granted = append(s.Granted, u.Address)
		} else {
			s.Asked = append(s.Asked, u.Address)
		}
	}
	annotations := o.GetAnnotations()
	for _, name := range []string{"address-pool", "ip-allocated-from-pool"} {
		for _, prefix := range []string{"metallb.universe.tf/", "metallb.io/"} {
			if pool := annotations[prefix+name]; pool != "" {
				s.Pool = pool
			}
			if key := annotations[prefix+"allow-shared-ip"]; key != "" {
				s.SharingKey = key
			}
		}
	}
	port := first(Field(o.Object, "spec"), "ports")
	protocol, _ := Field(port, "protocol").(string)
	s.Protocol = cmp.Or(lease.Protocol(protocol), lease.TCP)
	s.Port, s.ContainerPort = portNumber(Field(port, "port")), portNumber(Field(port, "targetPort"))
	s.Service, _ = Field(o.Object, "spec", "selector", lease.LabelService).(string)
	return s
}

// ServicePortKeys returns the keys of the parts that a Service serves of an address: all its ports, of which ServiceObject has the first.
func ServicePortKeys(o *unstructured.Unstructured) (keys []string) {
	ports, _ := Field(o.Object, "spec", "ports").([]any)
	for _, port := range ports {
		protocol, _ := Field(port, "protocol").(string)
		keys = append(keys, PortKey(cmp.Or(lease.Protocol(protocol), lease.TCP), portNumber(Field(port, "port"))))
	}
	if len(keys) == 0 {
		return []string{PortKey(lease.TCP, 0)} // it uses its addresses all the same
	}
	return keys
}

// PoolObject is an IPAddressPool.
type PoolObject struct {
	Name string
	Ref  ObjectRef
	// Ours is true for a pool that this program created.
	Ours bool
	// Texts are the entries of spec.addresses, Ranges those of them that can be parsed.
	Texts  []string
	Ranges []config.Range
	// Assigned and Available are MetalLB's counts. MetalLB 0.15 and later report them; Counted is false if it does not.
	Assigned, Available int64
	Counted             bool
	// counts are the counts per family.
	counts map[config.Family]poolCount
}

type poolCount struct{ assigned, available int64 }

// Of returns the pool reduced to one family.
func (p PoolObject) Of(f config.Family) PoolObject {
	p.Assigned, p.Available = p.counts[f].assigned, p.counts[f].available
	p.Ranges = slices.DeleteFunc(slices.Clone(p.Ranges), func(r config.Range) bool { return config.FamilyOf(r.First) != f })
	return p
}

// PoolObjectOf reads an IPAddressPool.
func PoolObjectOf(o *unstructured.Unstructured) PoolObject {
	p := PoolObject{Name: o.GetName(), Ours: o.GetLabels()[lease.LabelOurs] == "true", Ref: ObjectRef{
		Kind: "ipaddresspool", Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}}
	p.Texts, _, _ = unstructured.NestedStringSlice(o.Object, "spec", "addresses")
	for _, text := range p.Texts {
		if r, err := config.ParseRange(text); err == nil {
			p.Ranges = append(p.Ranges, r)
		}
	}
	status := Field(o.Object, "status")
	p.counts = map[config.Family]poolCount{}
	for _, family := range []config.Family{config.IPv4, config.IPv6} {
		assigned, isCount := Field(status, "assigned"+string(family)).(int64)
		available, _ := Field(status, "available"+string(family)).(int64)
		p.counts[family] = poolCount{assigned, available}
		p.Counted = p.Counted || isCount
		p.Assigned, p.Available = Saturated(p.Assigned, assigned), Saturated(p.Available, available)
	}
	return p
}

// Saturated returns a+b, or math.MaxInt64 if the sum would overflow.
func Saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// The marks of an object that this program wrote.
const (
	// MarkAnnotation is the annotation with the hash of the definition. An Update of the whole object removes it.
	MarkAnnotation = "annotation " + lease.AnnotationDefinition
	// MarkLabels are the labels that name the lease.
	MarkLabels = "labels of its lease"
	// MarkFields are the managed fields of this program. A restore from a backup removes them. An object that a pipeline
	// has applied never had them.
	MarkFields = "managed fields of " + lease.FieldManager
)

// Ownership is whose an object is and who wrote it. OwnershipOf computes it from the labels, the annotation, the
// managed fields and the namespace of the object, and from nothing else.
type Ownership struct {
	// Lease is the lease that the labels name (Labelled is true), else the lease in the spec of a ProviderHost or
	// ProviderLeasedIP, else the lease of the namespace. HasLease is false if none of them names a lease. What is in a
	// tenant's namespace belongs to that tenant, whatever it says.
	Lease    lease.ID
	HasLease bool
	Labelled bool
	// Ours is true for an object that this program wrote and still manages: it has the annotation, or its managed
	// fields name this program.
	Ours bool
	// Lost are the marks that another client has removed from an object of this program.
	Lost []string
	// Shared is true if Akash's provider or one of its operators has written the object.
	Shared bool
	// Declared is true if Akash's provider created the object.
	Declared bool
	// MovedFrom are the deployment groups for which this program applied the object before Akash's provider wrote it
	// for its present lease.
	MovedFrom []lease.Group
}

// OwnershipOf computes the ownership of an object. namespace is the lease of its namespace, or the zero ID.
//
// An Update takes over only fields whose values it changes, and the label akash.network never changes. So the manager
// that owns this label created the object, whatever others have written since.
func OwnershipOf(o *unstructured.Unstructured, namespace lease.ID) Ownership {
	w := Ownership{}
	w.Lease, w.Labelled = labelledLease(o.GetKind(), o)
	if w.HasLease = w.Labelled; !w.HasLease {
		w.Lease, w.HasLease = leaseOfSpec(o)
	}
	if foreign := w.Lease.Owner != namespace.Owner; namespace != (lease.ID{}) && (!w.HasLease || foreign) {
		w.Labelled = w.Labelled && !foreign
		w.Lease, w.HasLease = namespace, true
	}
	annotated := marked(o, "annotations", lease.AnnotationDefinition) != ""
	applied := w.readWriters(o)
	w.Ours = w.HasLease && len(w.MovedFrom) == 0 && (applied || annotated) && !IsWorkloadService(o)
	if !w.Ours {
		return w
	}
	if !annotated {
		w.Lost = append(w.Lost, MarkAnnotation)
	}
	if !w.Labelled {
		w.Lost = append(w.Lost, MarkLabels)
	}
	if !applied && !isDelivered(o) {
		w.Lost = append(w.Lost, MarkFields)
	}
	return w
}

// labelledLease returns the lease that the labels of an object name. Akash's claim-like objects are beside the leases'
// namespaces; the labels of any other object count only in the namespace of its lease.
func labelledLease(kind string, o metav1.Object) (lease.ID, bool) {
	id, ok := lease.IDFrom(func(label string) string { return marked(o, "labels", label) })
	isClaimLike := slices.ContainsFunc(kinds.ClaimLike, func(k kinds.Kind) bool { return strings.EqualFold(k.Kind, kind) })
	if !ok || !isClaimLike && id.Namespace() != o.GetNamespace() {
		return lease.ID{}, false
	}
	return id, true
}

// marked returns a label or an annotation of an object. The methods of an unstructured object copy all of them each time.
func marked(o metav1.Object, field, name string) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		text, _ := Field(u.Object, "metadata", field, name).(string)
		return text
	}
	if field == "labels" {
		return o.GetLabels()[name]
	}
	return o.GetAnnotations()[name]
}

// isDelivered reports whether another program has applied the rendered object, on the server's side or on its own, as a
// GitOps pipeline does.
func isDelivered(o *unstructured.Unstructured) bool {
	if o.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		return true
	}
	for e := range managed.Of(o) {
		if e.Operation == metav1.ManagedFieldsOperationApply && !e.Ours() && e.Owns("metadata", "annotations", lease.AnnotationDefinition) {
			return true
		}
	}
	return false
}

// IsWorkloadService reports whether the object is a Service of a workload. Such a Service needs no claim; package
// deployed decides about it. The Service of a leased port is different: it is a LoadBalancer, has a label of its own,
// and is applied by this program's manager instead of the lease's.
func IsWorkloadService(o *unstructured.Unstructured) bool {
	if o.GetKind() != "Service" || marked(o, "labels", lease.LabelServiceTarget) != "" ||
		Field(o.Object, "spec", "type") == "LoadBalancer" {
		return false
	}
	_, applied := managed.Applied(o, lease.FieldManager)
	return !applied
}

// readWriters sets the fields that depend on the managed fields. It returns true if this program has applied the
// current content of the object. If this program has applied it for other deployment groups only, Akash's provider has
// moved the object away from them.
func (w *Ownership) readWriters(o *unstructured.Unstructured) (applied bool) {
	if !managed.Names(o, lease.FieldManager) && !managed.Names(o, managed.Akash) && marked(o, "labels", lease.LabelManaged) == "" {
		return false
	}
	var others []lease.Group
	named := true // whether the lease's own manager owns the labels that name it
	for e := range managed.Of(o) {
		switch group, ofGroup := e.Group(); {
		case isAkash(o, e):
			w.Shared = true
			w.Declared = w.Declared || e.Owns("metadata", "labels", lease.LabelManaged)
		case !e.Ours() || !e.Owns("spec") && !e.Owns("metadata", "labels", lease.LabelOwner):
			// A mere annotation on somebody else's object.
		case ofGroup && group != w.Lease.Group():
			others = append(others, group)
		default:
			applied = true
			named = named && (!ofGroup ||
				e.Owns("metadata", "labels", lease.LabelDSeq) && e.Owns("metadata", "labels", lease.LabelGSeq))
		}
	}
	if !named && len(others) > 0 && w.Shared {
		applied = false // leftovers: the object belonged to another group since, and Akash moved it back
	}
	if !applied && w.Shared {
		w.MovedFrom = others
	}
	return applied
}

// isAkash reports whether Akash's provider or one of its operators has written an object under the manager of an entry. A provider that
// was built under another name than usual is known by what it declares: with Update it writes the time of each ProviderHost's last
// deployment, and whole objects, with the label of what is Akash's or with what a ProviderLeasedIP is for; but never the hash of a
// definition, as whoever delivers or restores does what this program has rendered.
func isAkash(o *unstructured.Unstructured, e managed.Entry) bool {
	switch {
	case e.Manager == managed.Akash:
		return true
	case e.Operation != metav1.ManagedFieldsOperationUpdate || managed.IsHand(e.Manager) || e.Ours() || e.Owns("metadata", "annotations", lease.AnnotationDefinition):
		return false
	}
	return e.Owns("metadata", "annotations", lease.AnnotationUpdatedAt) || e.Owns("metadata", "labels", lease.LabelManaged) ||
		o.GetKind() == kinds.ProviderLeasedIP.Kind && e.Owns("spec")
}

// Takes reports whether Akash's provider has given what another lease of the owner holds, by a part of a claim, to the lease of a
// ProviderHost or ProviderLeasedIP: it has moved what this program wrote for the holder, or it declares it for its lease alone, as after
// the holder was closed, or has dropped it. What a transfer has taken from that lease, which is yet to be served elsewhere, stays.
func (w Ownership) Takes(p Part) bool {
	holder := p.Lease.Group()
	switch {
	case !w.HasLease || w.Lease.Owner != holder.Owner || w.Lease.Group() == holder:
		return false
	case slices.Contains(w.MovedFrom, holder):
		return true
	}
	return w.Shared && !w.Ours && p.From != w.Lease.Group().String()
}

// LeaseNamespaceLabels returns the labels that Akash's provider sets on the namespace of a lease.
func LeaseNamespaceLabels(id lease.ID) map[string]string {
	labels := id.Labels()
	labels[lease.LabelNamespace] = id.Namespace()
	return labels
}

// MadeNamespace reports whether this program created the namespace of a lease and Akash's provider has never written
// it. Its name and labels must be those of the lease, and this program must own the labels.
func MadeNamespace(o *unstructured.Unstructured) bool {
	id, labelled := lease.IDFromLabels(o.GetLabels())
	if !labelled || id.Namespace() != o.GetName() {
		return false
	}
	made := false
	for e := range managed.Of(o) {
		if e.Manager == managed.Akash {
			return false
		}
		made = made || e.Manager == lease.FieldManager && e.Owns("metadata", "labels", lease.LabelOwner)
	}
	return made
}

// leaseOfSpec returns the lease in the spec of a ProviderHost or ProviderLeasedIP.
func leaseOfSpec(o *unstructured.Unstructured) (lease.ID, bool) {
	spec := Field(o.Object, "spec")
	switch o.GetKind() {
	case "ProviderHost":
	case "ProviderLeasedIP":
		spec = Field(spec, "lease_id")
	default:
		return lease.ID{}, false
	}
	labels := map[string]string{}
	for label, name := range map[string]string{
		lease.LabelOwner: "owner", lease.LabelDSeq: "dseq", lease.LabelGSeq: "gseq", lease.LabelOSeq: "oseq",
		lease.LabelProvider: "provider",
	} {
		labels[label] = fmt.Sprint(Field(spec, name))
	}
	return lease.IDFromLabels(labels)
}

// Goes reports whether to delete the object when its lease gives up the claim. Objects that this program created are
// deleted. Objects that Akash's provider created stay, and so does what it writes for them: declared is true for a
// route or a Service whose ProviderHost or ProviderLeasedIP Akash's provider created for the same lease.
func (w Ownership) Goes(claimLike, declared bool) bool {
	if claimLike {
		return w.Ours && !w.Declared
	}
	return w.Ours && (!w.Shared || !declared)
}

// SameTenant reports whether an object belongs to the same deployment group as before: a transfer changes the group of
// a ProviderHost, but not its UID.
func SameTenant(before, now *unstructured.Unstructured) bool {
	old, had := lease.IDFromLabels(before.GetLabels())
	id, has := lease.IDFromLabels(now.GetLabels())
	return had == has && old.Group() == id.Group()
}
