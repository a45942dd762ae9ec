package akash_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
)

// The audit reads what an owner has by a reading of its own: it shares no rule with the program.

// part is who holds a path of a host, or a port of an endpoint, and where it leads to.
type part struct {
	group, backend string
	stands         bool
}

// finding is one thing that is not as it should be. A port has no name of its own: the problem may be
// about its endpoint or about its address.
type finding struct {
	things []string
	what   string
}

func (f finding) String() string { return strings.Join(f.things, "|") + ": " + f.what }

type audit struct {
	// hosts are the parts by host, ports by sharing key, protocol and port.
	hosts, ports map[string]*part
	// keys are the things that claims on a sharing key are about.
	keys map[string][]string
	// runs are the nonces of commands that have not ended, each with whether a claim carries its mark.
	runs  map[string]bool
	found []finding
}

func (a *audit) find(what string, things ...string) { a.found = append(a.found, finding{things, what}) }

func group(labels map[string]string) string {
	return labels[lease.LabelOwner] + "/" + labels[lease.LabelDSeq] + "/" + labels[lease.LabelGSeq]
}

// readAudit audits what an owner has.
func readAudit(t *testing.T, owner string) *audit {
	t.Helper()
	a := &audit{hosts: map[string]*part{}, ports: map[string]*part{}, keys: map[string][]string{}, runs: map[string]bool{}}
	for _, o := range list(t, claims, "net.akash.network/kind=run") {
		if strings.Contains(o.GetAnnotations()["net.akash.network/groups"], owner+"/") {
			a.runs[strings.TrimPrefix(o.GetName(), "run--")] = false
		}
	}
	for _, c := range list(t, claims, "net.akash.network/owner="+owner) {
		a.claim(&c)
	}
	for nonce, carried := range a.runs {
		if !carried {
			a.find("a command that has not ended", "run--"+nonce)
		}
	}
	of := lease.LabelOwner + "=" + owner
	declared, served := map[string]string{}, map[string]bool{}
	for _, o := range list(t, operators.Hosts, of) {
		spec := o.Object["spec"].(map[string]any)
		declared[o.GetName()] = group(o.GetLabels())
		a.holds(a.hosts[o.GetName()], "providerhost", declared[o.GetName()], fmt.Sprintf("%v:%v", spec["service_name"], spec["external_port"]), o.GetName())
	}
	for _, o := range slices.Concat(list(t, operators.Ingresses, of), list(t, operators.HTTPRoutes, of)) {
		if served[o.GetName()] {
			a.find("two routes", o.GetName())
		}
		served[o.GetName()] = true
		a.holds(a.hosts[o.GetName()], "route", group(o.GetLabels()), leadsTo(&o), o.GetName())
		if declared[o.GetName()] != group(o.GetLabels()) {
			a.find("a route without ProviderHost", o.GetName())
		}
	}
	for host := range declared {
		if !served[host] {
			a.find("no route", host)
		}
	}
	for _, r := range []schema.GroupVersionResource{operators.Hosts, operators.LeasedIPs, operators.Ingresses, operators.HTTPRoutes, operators.Services} {
		for _, o := range list(t, r, of) {
			if applied(&o) && o.GetAnnotations()["net.akash.network/definition"] == "" {
				a.find("the annotation of this program is lost", strings.ToLower(o.GetKind())+"/"+o.GetName())
			}
		}
	}
	leased, served := map[string]string{}, map[string]bool{}
	for _, o := range list(t, operators.LeasedIPs, of) {
		spec := o.Object["spec"].(map[string]any)
		key := fmt.Sprintf("%v %v %v", spec["sharing_key"], spec["protocol"], spec["external_port"])
		leased[key] = group(o.GetLabels())
		a.port("providerleasedip", key, nil, group(o.GetLabels()), fmt.Sprintf("%v:%v", spec["service_name"], spec["port"]))
	}
	for _, o := range list(t, operators.Services, of+",akash.network/service-target=metal-lb") {
		a.service(&o, leased, served)
	}
	for key := range leased {
		if !served[key] {
			a.find("no Service", a.keys[strings.Fields(key)[0]]...)
		}
	}
	for host, p := range a.hosts {
		if !p.stands {
			a.find("nothing stands for the claim", host)
		}
	}
	for key, p := range a.ports {
		if !p.stands {
			a.find("nothing stands for the port", a.keys[strings.Fields(key)[0]]...)
		}
	}
	return a
}

// applied is true for an object of which the program owns what its operators do not write.
func applied(o *unstructured.Unstructured) bool {
	id, _ := lease.IDFromLabels(o.GetLabels())
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return (m.Manager == "akash-net" || m.Manager == "akash-net/"+id.Group().String()) && m.Operation == metav1.ManagedFieldsOperationApply
	})
}

func (a *audit) claim(c *unstructured.Unstructured) {
	key := c.GetAnnotations()["net.akash.network/sharing-key"]
	thing := c.GetName()
	if key != "" {
		if strings.HasPrefix(thing, "ip--") {
			thing = strings.ReplaceAll(strings.TrimPrefix(thing, "ip--"), "-", ".")
		} else {
			thing = key
		}
		a.keys[key] = append(a.keys[key], thing, key)
	}
	for name, value := range c.GetAnnotations() {
		kind, name, _ := strings.Cut(name, ".net.akash.network/")
		if kind != "route" && kind != "port" {
			continue
		}
		var v struct {
			Lease, Service, Run string
			Port                int
		}
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			a.find("a part that cannot be read", thing)
			continue
		}
		p := &part{group: strings.Join(strings.Split(v.Lease, "/")[:3], "/"), backend: fmt.Sprintf("%s:%d", v.Service, v.Port)}
		nonce, _, _ := strings.Cut(v.Run, "-")
		if _, there := a.runs[nonce]; there {
			a.runs[nonce] = true
			a.find("the mark of a command that has not ended", thing)
		}
		if kind == "route" {
			a.hosts[thing] = p
			continue
		}
		protocol, port, _ := strings.Cut(name, "-")
		a.ports[fmt.Sprintf("%s %s %s", key, strings.ToUpper(protocol), port)] = p
	}
}

// holds compares an object with the claim on what it serves.
func (a *audit) holds(p *part, kind, group, backend string, things ...string) {
	switch {
	case p == nil:
		a.find(kind+" without claim", things...)
	case p.group != group:
		a.find(kind+" of another than the holder", things...)
	default:
		if p.stands = true; p.backend != backend {
			a.find(fmt.Sprintf("%s leads to %s, the claim says %s", kind, backend, p.backend), things...)
		}
	}
}

func (a *audit) port(kind, key string, addresses []string, group, backend string) {
	sharing := strings.Fields(key)[0]
	a.holds(a.ports[key], kind, group, backend, slices.Concat(addresses, a.keys[sharing], []string{sharing})...)
}

func (a *audit) service(o *unstructured.Unstructured, leased map[string]string, served map[string]bool) {
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	port := ports[0].(map[string]any)
	sharing := o.GetAnnotations()["metallb.universe.tf/allow-shared-ip"]
	key := fmt.Sprintf("%s %v %v", sharing, port["protocol"], port["port"])
	granted, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
	var addresses []string
	for _, g := range granted {
		addresses = append(addresses, fmt.Sprint(g.(map[string]any)["ip"]))
	}
	selector, _, _ := unstructured.NestedString(o.Object, "spec", "selector", lease.LabelService)
	a.port("service", key, addresses, group(o.GetLabels()), fmt.Sprintf("%s:%v", selector, port["targetPort"]))
	things := append(addresses, append(a.keys[sharing], sharing)...)
	if served[key] {
		a.find("two Services", things...)
	}
	served[key] = true
	if leased[key] != group(o.GetLabels()) {
		a.find("a Service without ProviderLeasedIP", things...)
	}
	if len(addresses) == 0 {
		a.find("a Service without address", things...)
	}
	claimed := a.keys[sharing]
	if len(claimed) > 0 && claimed[0] != sharing && o.GetAnnotations()["metallb.universe.tf/loadBalancerIPs"] != claimed[0] {
		a.find("a Service that does not ask for its address", things...)
	}
}

// leadsTo is the backend of a route.
func leadsTo(o *unstructured.Unstructured) string {
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	rule := rules[0].(map[string]any)
	if o.GetKind() == "HTTPRoute" {
		refs := rule["backendRefs"].([]any)[0].(map[string]any)
		return fmt.Sprintf("%v:%v", refs["name"], refs["port"])
	}
	paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
	service, _, _ := unstructured.NestedMap(paths[0].(map[string]any), "backend", "service")
	return fmt.Sprintf("%v:%v", service["name"], service["port"].(map[string]any)["number"])
}
