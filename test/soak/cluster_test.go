package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	// ofLeases are the kinds of object that a lease may have.
	ofLeases = []schema.GroupVersionResource{
		{Group: "akash.network", Version: "v2beta2", Resource: "providerhosts"},
		{Group: "akash.network", Version: "v2beta2", Resource: "providerleasedips"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
		{Version: "v1", Resource: "services"},
	}
)

func list(t *testing.T, resource schema.GroupVersionResource, namespace string) []unstructured.Unstructured {
	t.Helper()
	all, err := harness.Objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// revision is what the cluster's last write has; zero once the test is over.
func revision(t *testing.T) (n uint64) {
	t.Helper()
	all, err := harness.Objects.Resource(leases).Namespace("akash-net").List(t.Context(), metav1.ListOptions{Limit: 1})
	if err == nil {
		n, err = strconv.ParseUint(all.GetResourceVersion(), 10, 64)
	}
	if err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
	return n
}

// readLedger reads the claims, all of one moment.
func readLedger(t *testing.T) *audit {
	t.Helper()
	a := &audit{now: harness.ServerTime(t), claims: map[string]claim{}, runs: map[string]bool{}}
	for _, o := range list(t, leases, "akash-net") {
		if !a.announced(&o) && !isNoClaim(o.GetName()) {
			a.readClaim(&o)
		}
	}
	return a
}

// isNoClaim is true for the definition of a lease, and for the Leases by which reconcilers elect one and record which leases fail.
func isNoClaim(name string) bool {
	return strings.HasPrefix(name, "df--") || strings.HasPrefix(name, "el--") || strings.HasPrefix(name, "fl--")
}

// auditAll reads everything and judges it. Nothing may be under way.
func auditAll(t *testing.T) *audit {
	t.Helper()
	a := readLedger(t)
	for _, resource := range ofLeases {
		for _, o := range list(t, resource, "") {
			a.routes = append(a.routes, readRoutes(&o)...)
		}
	}
	slices.SortFunc(a.routes, func(x, y route) int { return cmp.Compare(x.String(), y.String()) })
	a.judgeClaims()
	a.judgeRoutes()
	slices.SortFunc(a.found, func(x, y finding) int { return cmp.Compare(x.String(), y.String()) })
	return a
}

// readRoutes is what an object of the program's, or of Akash's operators, serves or stands for; nothing for
// others' objects.
func readRoutes(o *unstructured.Unstructured) []route {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	label := func(name string) string { return labels["akash.network/lease.id."+name] }
	r := route{kind: o.GetKind(), namespace: o.GetNamespace(), name: o.GetName(), owner: label("owner"), definition: annotations[domainName+"definition"]}
	if r.definition == "" && labels["akash.network"] != "true" {
		return nil
	}
	r.group = label("owner") + "/" + label("dseq") + "/" + label("gseq")
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	text := func(v any, path ...string) string { return fmt.Sprint(cmp.Or(at(v, path...), any(""))) }
	switch r.kind {
	case "ProviderHost":
		r.thing, r.key = text(spec, "hostname"), "/"
	case "Ingress":
		path := at(spec, "rules", "0", "http", "paths", "0")
		r.thing, r.key, r.service = text(spec, "rules", "0", "host"), text(path, "path"), text(path, "backend", "service", "name")
		r.port, _ = at(path, "backend", "service", "port", "number").(int64)
	case "HTTPRoute":
		rule := at(spec, "rules", "0")
		r.thing, r.key, r.service = text(spec, "hostnames", "0"), text(rule, "matches", "0", "path", "value"), text(rule, "backendRefs", "0", "name")
		r.port, _ = at(rule, "backendRefs", "0", "port").(int64)
	case "ProviderLeasedIP":
		r.thing, r.sharingKey = "providerleasedip/"+r.name, text(spec, "sharing_key")
		r.key = strings.ToLower(text(spec, "protocol")) + "-" + text(spec, "external_port")
	case "Service":
		return serviceRoutes(r, spec, labels, annotations)
	}
	return []route{r}
}

// serviceRoutes are the ports of the addresses that a Service asks for.
func serviceRoutes(r route, spec map[string]any, labels, annotations map[string]string) (out []route) {
	r.sharingKey = annotations["metallb.universe.tf/allow-shared-ip"]
	r.service = fmt.Sprint(at(spec, "selector", "akash.network/manifest-service"))
	port := at(spec, "ports", "0")
	r.key = strings.ToLower(fmt.Sprint(at(port, "protocol"))) + "-" + fmt.Sprint(at(port, "port"))
	r.port, _ = at(port, "targetPort").(int64)
	if labels["akash.network/service-target"] != "metal-lb" {
		return nil
	}
	for _, address := range strings.Split(annotations["metallb.universe.tf/loadBalancerIPs"], ",") {
		if r.thing = strings.TrimSpace(address); r.thing == "" {
			r.thing = r.sharingKey // MetalLB chooses the address
		}
		out = append(out, r)
	}
	return out
}

// at walks into maps and lists; it is nil where the path ends early.
func at(v any, path ...string) any {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(x) {
				return nil
			}
			v = x[n]
		default:
			return nil
		}
	}
	return v
}

// holdsOver waits until no hold ends soon, so that all readings see the same.
func holdsOver(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "holds end", func(context.Context) (bool, error) {
		a := readLedger(t)
		for _, c := range a.claims {
			if c.any(func(p part) bool {
				at, err := time.Parse(time.RFC3339, p.Expires)
				return err == nil && !a.ended(p) && at.Before(a.now.Add(time.Hour))
			}) {
				return false, nil
			}
		}
		return true, nil
	})
}
