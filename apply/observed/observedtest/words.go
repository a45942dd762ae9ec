package observedtest

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

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
//	asks=ADDRESSES has=ADDRESS      of a service
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
