// Package observedtest has what the tests of packages that decide by a snapshot share: claims, objects of leases, and the
// snapshot that has them.
package observedtest

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Leases of two tenants.
var (
	Shop = statetest.Shop
	// Next is a later deployment of Shop's owner.
	Next = lease.ID{Owner: Shop.Owner, DSeq: Shop.DSeq + 1, GSeq: 1, OSeq: 1, Provider: Shop.Provider}
	// Blog is somebody else's.
	Blog = statetest.Blog
)

// Key is the sharing key of the endpoint "public" of a lease's owner.
func Key(id lease.ID) string { return lease.SharingKey(id.Owner, "public") }

// Host is a claim of a lease on paths of a host, or of a wildcard; on its root where none are named.
func Host(id lease.ID, host string, paths ...string) *state.Claim {
	if len(paths) == 0 {
		paths = []string{"/"}
	}
	var parts []state.Part
	for _, path := range paths {
		parts = append(parts, state.HostWant{Host: host, Path: path, Service: "web", Port: 80}.Hold(id).Parts...)
	}
	hold := state.HostWant{Host: host}.Hold(id)
	c := hold.Claim()
	c.UID, c.Parts = types.UID("uid-"+hold.Name()), parts
	return c
}

// Address is a claim of a lease on ports of an address, for the owner's endpoint "public". No address is a claim on the
// endpoint itself.
func Address(id lease.ID, address string, ports ...uint16) *state.Claim {
	want := state.EndpointWant{Name: "public", SharingKey: Key(id)}
	for _, port := range ports {
		want.Ports = append(want.Ports, state.PortWant{Protocol: lease.TCP, ExternalPort: port, Service: "game", Port: port})
	}
	hold := want.EndpointHold(id)
	if address != "" {
		hold = want.Hold(id, netip.MustParseAddr(address))
	}
	c := hold.Claim()
	c.UID, c.Parts = types.UID("uid-"+hold.Name()), hold.Parts
	return c
}

// HandedOn is a claim of which every part is served by the objects of a former lease since a transfer.
func HandedOn(c *state.Claim, former lease.ID) *state.Claim {
	for i := range c.Parts {
		c.Parts[i].From = former.Group().String()
	}
	return c
}

// Object is an object of a lease with its labels, of which nothing says who wrote it.
func Object(kind kinds.Kind, id lease.ID, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind.GroupVersionKind)
	o.SetNamespace(id.Namespace())
	o.SetName(name)
	o.SetUID(types.UID("uid-" + kind.Singular + "-" + id.Namespace() + "-" + name))
	o.SetLabels(id.Labels())
	return o
}

// Ours is the object as this program marks what it has written.
func Ours(o *unstructured.Unstructured) *unstructured.Unstructured {
	return Annotated(o, lease.AnnotationDefinition, "hash")
}

// Annotated is the object with one more annotation.
func Annotated(o *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	o.SetAnnotations(annotations)
	return o
}

// ByAkash is the object as Akash's provider has made it.
func ByAkash(o *unstructured.Unstructured) *unstructured.Unstructured {
	return entry(o, map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + lease.LabelManaged: map[string]any{}}}})
}

// WrittenByAkash is an object that was there before Akash's provider wrote on it.
func WrittenByAkash(o *unstructured.Unstructured) *unstructured.Unstructured {
	return entry(o, map[string]any{"f:spec": map[string]any{"f:rules": map[string]any{}}})
}

func entry(o *unstructured.Unstructured, fields map[string]any) *unstructured.Unstructured {
	entries := []any{map[string]any{"manager": managed.Akash, "operation": "Update", "fieldsV1": fields}}
	o.Object["metadata"].(map[string]any)["managedFields"] = entries
	return o
}

// Ingress leads a path of a host to a service.
func Ingress(id lease.ID, host, path string) *unstructured.Unstructured {
	backend := map[string]any{"service": map[string]any{"name": "web", "port": map[string]any{"number": int64(80)}}}
	return Object(kinds.Ingress, id, lease.RouteName(host, path), map[string]any{"rules": []any{map[string]any{
		"host": host, "http": map[string]any{"paths": []any{map[string]any{"path": path, "backend": backend}}},
	}}})
}

// HTTPRoute leads a path of a host to a service.
func HTTPRoute(id lease.ID, host, path string) *unstructured.Unstructured {
	return Object(kinds.HTTPRoute, id, lease.RouteName(host, path), map[string]any{"hostnames": []any{host}, "rules": []any{map[string]any{
		"matches":     []any{map[string]any{"path": map[string]any{"value": path}}},
		"backendRefs": []any{map[string]any{"name": "web", "port": int64(80)}},
	}}})
}

// Redirect sends requests for a host without TLS on to its route.
func Redirect(id lease.ID, host string) *unstructured.Unstructured {
	return Object(kinds.HTTPRoute, id, lease.RedirectName(host), map[string]any{"hostnames": []any{host}, "rules": []any{map[string]any{}}})
}

// ProviderHost stands for a host at Akash.
func ProviderHost(id lease.ID, host string) *unstructured.Unstructured {
	return Object(kinds.ProviderHost, id, host, map[string]any{"hostname": host, "service_name": "web", "external_port": int64(80)})
}

// ProviderLeasedIP stands for a TCP port of the endpoint "public" at Akash.
func ProviderLeasedIP(id lease.ID, port uint16) *unstructured.Unstructured {
	return Object(kinds.ProviderLeasedIP, id, lease.LeasedIPName(Key(id), lease.TCP, port), map[string]any{"sharing_key": Key(id), "external_port": int64(port), "protocol": "TCP"})
}

// Service has a TCP port of the endpoint "public"; asked are the addresses that it asks for, separated by commas.
func Service(id lease.ID, port uint16, asked string, granted ...string) *unstructured.Unstructured {
	name := strings.Join([]string{"game", "ip", asked}, "-")
	o := statetest.Service(id, name, "public", "TCP", int64(port), asked, granted...)
	o.SetAPIVersion("v1")
	o.SetUID(types.UID("uid-service-" + name))
	labels := o.GetLabels()
	labels[lease.LabelServiceTarget] = lease.ServiceTargetMetalLB
	o.SetLabels(labels)
	return o
}

// DNSRecord is a record of a host.
func DNSRecord(id lease.ID, host string) *unstructured.Unstructured {
	return Annotated(Object(kinds.DNSRecord, id, host, map[string]any{}), lease.AnnotationHost, host)
}

// Owned is an object as the group of its labels has it.
func Owned(o *unstructured.Unstructured) observed.Object {
	id, _ := lease.IDFromLabels(o.GetLabels())
	return observed.Object{Kind: kinds.Of(o.GetKind()), Live: o, Group: id.Group()}
}

// Snapshot is what a run has read where these claims and objects are in the cluster.
func Snapshot(claims []*state.Claim, objects ...*unstructured.Unstructured) *observed.Snapshot {
	s := observed.NewSnapshot()
	s.AddClaims(claims)
	lists := map[string][]*listed.Object{}
	for _, o := range objects {
		plural := kinds.Of(o.GetKind()).Plural
		lists[plural] = append(lists[plural], listed.New("", o))
	}
	s.Index(lists)
	return s
}

// WordLease is a lease by its word: shop, next and blog, and again, which is Shop's next order.
func WordLease(t testing.TB, word string) lease.ID {
	t.Helper()
	again := Shop
	again.OSeq++
	id, known := map[string]lease.ID{"shop": Shop, "next": Next, "blog": Blog, "again": again}[word]
	if !known {
		t.Fatalf("there is no lease %q", word)
	}
	return id
}

// WordClaims parses claims, separated by semicolons; "-" is none. A claim is
//
//	host LEASE HOST [PATH...] [& LEASE PATH...] [bound] [from=LEASE]
//	address LEASE ADDRESS PORT...
//	endpoint LEASE PORT...
func WordClaims(t testing.TB, text string) (claims []*state.Claim) {
	t.Helper()
	for _, one := range strings.Split(text, ";") {
		words := strings.Fields(one)
		if len(words) < 2 {
			continue
		}
		id, rest := WordLease(t, words[1]), words[2:]
		c := &state.Claim{}
		if words[0] == "host" {
			first, others, _ := strings.Cut(strings.Join(rest, " "), " & ")
			paths := map[bool][]string{}
			for _, word := range strings.Fields(first) {
				paths[word[0] == '/'] = append(paths[word[0] == '/'], word)
			}
			c = Host(id, rest[0], paths[true]...)
			if holder := strings.Fields(others); len(holder) > 0 {
				c.Parts = append(c.Parts, Host(WordLease(t, holder[0]), rest[0], holder[1:]...).Parts...)
			}
		} else {
			address := ""
			if words[0] == "address" {
				address, rest = rest[0], rest[1:]
			}
			var ports []uint16
			for _, word := range rest {
				ports = append(ports, wordPort(t, word))
			}
			c = Address(id, address, ports...)
		}
		for i := range c.Parts {
			c.Parts[i].Bound = words[len(words)-1] == "bound"
		}
		if from, handed := strings.CutPrefix(words[len(words)-1], "from="); handed {
			c = HandedOn(c, WordLease(t, from))
		}
		claims = append(claims, c)
	}
	return claims
}

func wordPort(t testing.TB, word string) uint16 {
	t.Helper()
	n, err := strconv.ParseUint(word, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(n)
}

// WordObjects parses objects, separated by semicolons; "-" is none. An object is a KIND (in the singular), a LEASE, and a host with its
// path, a port, or a name, then any of
//
//	asks=ADDRESSES has=ADDRESS      of a service; also=PORT is one more port
//	ours, akash, wrote              who has made it, or written on it
//	unlabelled, unmanaged, unshared, udp, deleted, label=NAME=VALUE, selects=SERVICE, key=ENDPOINT
func WordObjects(t testing.TB, text string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for _, one := range strings.Split(text, ";") {
		words := strings.Fields(one)
		if len(words) < 3 {
			continue
		}
		id, name, asks, has := WordLease(t, words[1]), words[2], "", []string(nil)
		for _, word := range words[3:] {
			if a, ok := strings.CutPrefix(word, "asks="); ok {
				asks = a
			} else if a, ok := strings.CutPrefix(word, "has="); ok {
				has = append(has, a)
			}
		}
		host, path, _ := strings.Cut(name, "/")
		var o *unstructured.Unstructured
		switch words[0] {
		case "ingress":
			o = Ingress(id, host, "/"+path)
		case "httproute":
			o = HTTPRoute(id, host, "/"+path)
		case "redirect":
			o = Redirect(id, host)
		case "providerhost":
			o = ProviderHost(id, host)
		case "dnsrecord":
			o = DNSRecord(id, host)
		case "providerleasedip":
			o = ProviderLeasedIP(id, wordPort(t, name))
		case "service":
			o = Service(id, wordPort(t, name), asks, has...)
		default:
			o = Object(wordKind(t, words[0]), id, lease.RouteName(host, "/"+path), map[string]any{})
		}
		for _, word := range words[3:] {
			wordMark(t, id, o, word)
		}
		objects = append(objects, o)
	}
	return objects
}

func wordKind(t testing.TB, word string) kinds.Kind {
	t.Helper()
	for _, k := range kinds.OfLease {
		if k.Singular == word {
			return k
		}
	}
	t.Fatalf("there is no kind %q", word)
	return kinds.Kind{}
}

func wordMark(t testing.TB, id lease.ID, o *unstructured.Unstructured, word string) {
	t.Helper()
	name, value, _ := strings.Cut(word, "=")
	spec, _ := o.Object["spec"].(map[string]any)
	switch name {
	case "asks", "has":
	case "ours":
		Ours(o)
	case "akash":
		ByAkash(o)
	case "wrote":
		WrittenByAkash(o)
	case "unlabelled":
		o.SetLabels(nil)
	case "unmanaged":
		labels := o.GetLabels()
		delete(labels, lease.LabelManaged)
		o.SetLabels(labels)
	case "unshared":
		o.SetAnnotations(nil)
	case "also":
		ports, _ := spec["ports"].([]any)
		spec["ports"] = append(ports, map[string]any{"protocol": "TCP", "port": int64(wordPort(t, value))})
	case "udp":
		spec["ports"] = []any{map[string]any{"protocol": "UDP", "port": int64(443)}}
	case "deleted":
		o.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-01T12:00:00Z" //nolint:forcetypeassert // a panic fails the test
	case "label":
		labels := o.GetLabels()
		name, value, _ = strings.Cut(value, "=")
		labels[name] = value
		o.SetLabels(labels)
	case "selects":
		spec["selector"] = map[string]any{lease.LabelService: value}
	case "key":
		Annotated(o, "metallb.universe.tf/allow-shared-ip", lease.SharingKey(id.Owner, value))
	default:
		t.Fatalf("there is no mark %q", word)
	}
}
