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
	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// ReadClaim understands an object of kind Lease in the ledger's namespace by its metadata alone.
// Holders are computed from values, never from managedFields. ok is false for an object that has
// nothing to do with the ledger.
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
	c.named(meta.Name, Kind(meta.Labels[LabelKind]))
	if version != ledgerVersion {
		c.Unreadable = fmt.Sprintf("it was written for version %q of the ledger, which this program does not know", version)
		return c, true
	}
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) { // so the parts are sorted, and of two faults always the same is told
		if !strings.HasPrefix(key, routePrefix) && !strings.HasPrefix(key, PortPrefix) && !strings.HasPrefix(key, waitPrefix) {
			continue
		}
		part, err := readPart(key, meta.Annotations[key])
		if err != nil {
			c.Unreadable = err.Error()
			continue
		}
		if c.Unreadable == "" {
			c.Unreadable = c.Kind.misplaced(part)
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
	return c, true
}

// misplaced says why a claim of the kind cannot have the part: a host has paths, whose hashes are their keys, and an
// address has ports of TCP or UDP. It is empty for a part that fits, and for what is waited for, which nobody holds.
func (k Kind) misplaced(p Part) string {
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

// named says what an object of the name claims. The name alone decides, for it is what makes a claim exclusive:
// what is not the name of another kind is a host. A claim whose label says otherwise is unreadable.
func (c *Claim) named(name string, label Kind) {
	c.Kind, c.Thing = Host, name
	domain, isWildcard := strings.CutPrefix(name, wildcardLabel+".")
	isEndpoint := strings.HasPrefix(name, startOfEndpoint)
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
		c.SharingKey = "" // whatever stands in the annotation
	}
}

// lastWritten is when an object was last written, by the times of its field managers.
func lastWritten(meta *metav1.ObjectMeta) time.Time {
	if at := managed.LastWritten(meta); at.After(meta.CreationTimestamp.Time) {
		return at
	}
	return meta.CreationTimestamp.Time
}

// readPart is strict: of a key that stands twice, or in other letters, others could read something else.
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
	// Thousands of claims name the same owners, providers, services and paths: each is kept once.
	id.Owner, id.Provider = intern(id.Owner), intern(id.Provider)
	p.Key, p.Path, p.Service = intern(p.Key), intern(p.Path), intern(p.Service)
	p.Lease, p.LeaseText = id, "" // the text is made of Lease when the part is written
	return p, nil
}

func intern(s string) string { return unique.Make(s).Value() }

// value is the annotation that holds the part.
func (p Part) value() string {
	p.LeaseText = p.Lease.String()
	out, _ := json.Marshal(p) // a struct of strings and a number
	return string(out)
}
