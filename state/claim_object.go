package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// ReadClaim reads a claim from the metadata of a Lease object. It takes the holders from the annotations and never from
// managedFields. ok is false for an object that is not a claim.
func ReadClaim(meta *metav1.ObjectMeta) (c Claim, ok bool) {
	version, isClaim := meta.Annotations[AnnotationLedger]
	if !isClaim && meta.Labels[LabelKind] == "" || IsAnnouncement(meta.Name) || IsReservation(meta.Name) {
		return Claim{}, false
	}
	c = Claim{
		Owner:           intern(meta.Labels[LabelOwner]),
		SharingKey:      meta.Annotations[AnnotationSharingKey],
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Created:         meta.CreationTimestamp.Time,
		Updated:         lastWritten(meta),
		Deleting:        meta.DeletionTimestamp != nil,
		Finalizers:      meta.Finalizers,
	}
	c.setThing(meta.Name, Kind(meta.Labels[LabelKind]))
	if version != LedgerVersion {
		c.Unreadable = fmt.Sprintf("it was written for version %q of the ledger, which this program does not know", version)
		return c, true
	}
	// Sort, so that Parts are sorted and the last of several faults is reported.
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		if !strings.HasPrefix(key, routePrefix) && !strings.HasPrefix(key, PortPrefix) && !strings.HasPrefix(key, waitPrefix) {
			continue
		}
		part, err := readPart(key, meta.Annotations[key])
		if err != nil {
			c.Unreadable = err.Error()
			continue
		}
		if c.Unreadable == "" {
			c.Unreadable = c.Kind.checkPart(part)
		}
		if part.Lease.Owner != c.Owner {
			c.Unreadable = fmt.Sprintf("annotation %s names an owner who is not the claim's", key)
		}
		if strings.HasPrefix(key, waitPrefix) {
			c.Waits = append(c.Waits, part)
		} else {
			c.Parts = append(c.Parts, part)
		}
	}
	for _, p := range c.Parts {
		if g := p.Lease.Group(); !managed.AppliedBy(meta, g) && !slices.Contains(c.Unmanaged, g) {
			c.Unmanaged = append(c.Unmanaged, g)
		}
	}
	for e := range managed.Of(meta) {
		if g, ours := e.Group(); ours && len(c.Entries(g)) == 0 && !slices.Contains(c.Former, g) {
			c.Former = append(c.Former, g)
		}
	}
	return c, true
}

// checkPart returns why a claim of the kind cannot have the part, or "". The parts of a host are paths and their keys
// are hashes of them; the parts of an address are TCP or UDP ports. Parts that are waited for are not checked.
func (k Kind) checkPart(p Part) string {
	isPort := strings.HasPrefix(p.Key, PortPrefix)
	switch {
	case strings.HasPrefix(p.Key, waitPrefix):
	case k.HasPorts() != isPort:
		return fmt.Sprintf("annotation %s is no part of a claim of kind %s", p.Key, k)
	case isPort && !p.namesPort():
		return fmt.Sprintf("annotation %s names no port", p.Key)
	case !isPort && p.Path != "" && RouteKey(p.Path) != p.Key:
		return fmt.Sprintf("annotation %s has a path that is not the one of its name", p.Key)
	}
	return ""
}

// setThing sets the kind and the thing of the claim. Only the name decides, because the name makes a claim exclusive: a
// name that no other kind uses is a host. A claim whose label names another kind is unreadable.
func (c *Claim) setThing(name string, label Kind) {
	c.Kind, c.Thing = Host, name
	domain, isWildcard := strings.CutPrefix(name, wildcardLabel+".")
	isEndpoint := strings.HasPrefix(name, endpointPrefix)
	switch a, isAddress := parseAddressName(name); {
	case isAddress:
		c.Kind, c.Thing = Address, a.String()
	case isEndpoint && name == EndpointName(c.SharingKey):
		c.Kind, c.Thing = Endpoint, c.SharingKey
	case isWildcard:
		c.Kind, c.Thing = Wildcard, "*."+domain
	}
	switch {
	case isEndpoint && c.Kind != Endpoint:
		c.Unreadable = "its name is not that of its sharing key"
	case label != "" && label != c.Kind:
		c.Unreadable = fmt.Sprintf("its label says that it is of kind %s, and its name is that of kind %s", label, c.Kind)
	}
	if !c.Kind.HasPorts() {
		c.SharingKey = "" // the annotation has no meaning on a host
	}
}

// lastWritten returns the time of the last write according to the managed fields.
func lastWritten(meta *metav1.ObjectMeta) time.Time {
	if at := managed.LastWritten(meta); at.After(meta.CreationTimestamp.Time) {
		return at
	}
	return meta.CreationTimestamp.Time
}

// readPart parses the annotation of a part. It rejects duplicate keys and keys in another case, which other parsers
// might read differently.
func readPart(key, value string) (Part, error) {
	p := Part{Key: key}
	twice, err := strictjson.UnmarshalStrict([]byte(value), &p, strictjson.DisallowDuplicateFields)
	if err != nil {
		return p, fmt.Errorf("annotation %s is not JSON", key)
	}
	if len(twice) > 0 {
		return p, fmt.Errorf("annotation %s: %w", key, twice[0])
	}
	id, err := lease.ParseID(p.LeaseText)
	if err != nil {
		return p, fmt.Errorf("annotation %s: %w", key, err)
	}
	// Thousands of claims name the same owners, providers, services and paths: store each string once.
	id.Owner, id.Provider = intern(id.Owner), intern(id.Provider)
	p.Key, p.Path, p.Service = intern(p.Key), intern(p.Path), intern(p.Service)
	p.Lease, p.LeaseText = id, "" // value computes the text from Lease
	p.Run, p.Held = readMark(p.Run)
	return p, nil
}

func intern(s string) string { return unique.Make(s).Value() }

// value returns the value of the part's annotation.
func (p Part) value() string {
	p.LeaseText = p.Lease.String()
	if p.Held {
		p.Run = touchMark(p.Run)
	}
	out, _ := json.Marshal(p) // cannot fail: the struct has only strings, numbers and booleans
	return string(out)
}

// Configuration returns what a deployment group applies to hold exactly these parts of the claim. It is pinned to the
// UID and resource version of the object that was read. A new claim has neither.
func (c *Claim) Configuration(namespace string, parts []Part) *coordinationv1.LeaseApplyConfiguration {
	ac := c.pinned(namespace).
		WithLabels(map[string]string{LabelKind: string(c.Kind), LabelOwner: c.Owner}).
		WithAnnotations(map[string]string{AnnotationLedger: LedgerVersion}).
		WithSpec(coordinationv1.LeaseSpec().WithHolderIdentity(c.Owner))
	if c.Kind.HasPorts() {
		ac.WithAnnotations(map[string]string{AnnotationSharingKey: c.SharingKey})
	}
	for _, p := range parts {
		ac.WithAnnotations(map[string]string{p.Key: p.value()})
	}
	return ac
}

// Withdrawal returns what a deployment group applies to give up its parts of the claim while other groups keep theirs.
func (c *Claim) Withdrawal(namespace string) *coordinationv1.LeaseApplyConfiguration {
	return c.pinned(namespace)
}

func (c *Claim) pinned(namespace string) *coordinationv1.LeaseApplyConfiguration {
	ac := coordinationv1.Lease(c.Name(), namespace)
	if c.UID != "" {
		ac.WithUID(c.UID).WithResourceVersion(c.ResourceVersion)
	}
	return ac
}
