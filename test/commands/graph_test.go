package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// graph of a lease leads from it to the Services and the pool, by the objects in the cluster. What others have is not drawn: neither
// another lease of the owner, nor a route that somebody has put into the lease's namespace.
func TestGraph(t *testing.T) {
	t.Parallel()
	owner, subnet, host, other, stranger := newOwner(), newNet(), harness.NewHost("a"), harness.NewHost("b"), harness.NewHost("c")
	id, beside := leaseOf(owner, 1), leaseOf(owner, 2)
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7777)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, beside, web("web", 8080, other)))
	service := lease.IPServiceName("game", 7777, lease.TCP)
	grants(t, id, service, subnet+"0")
	copied := need(t, ingresses, id.Namespace(), host)
	for _, field := range []string{"uid", "resourceVersion", "managedFields"} {
		unstructured.RemoveNestedField(copied.Object, "metadata", field)
	}
	copied.SetLabels(need(t, ingresses, beside.Namespace(), other).GetLabels())
	harness.Create(t, "somebody", ingresses, strings.ReplaceAll(toText(t, copied.Object), host, stranger))
	removeLater(t, ingresses, id.Namespace(), stranger)

	name := id.Group().String()
	mustRun(t, 0, "graph", name, "--config", config).Prints(t, "─host/"+host, "─ingress/"+host, "─service/web:80 ", "─address/"+subnet+"0 ", "─port/7777/tcp ",
		"─service/"+service, "─pool/", subnet+"0/29: 1 of 8 in use")

	r := mustRun(t, 0, "graph", name, "--config", config, "-o", "json")
	var g graph.Graph
	if err := json.Unmarshal([]byte(r.Stdout), &g); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, n := range g.Nodes {
		labels[n.ID] = n.Label()
	}
	var edges []string
	for _, e := range g.Edges {
		edges = append(edges, labels[e.From]+" > "+labels[e.To])
	}
	pool := "pool/akash-net-" + strings.ReplaceAll(subnet, ".", "-") + "0-29"
	for _, want := range []string{
		"lease/" + name + " > host/" + host, "host/" + host + " > ingress/" + host, "ingress/" + host + " > service/web:80",
		"lease/" + name + " > address/" + subnet + "0", "address/" + subnet + "0 > port/7777/tcp", "port/7777/tcp > service/" + service, "address/" + subnet + "0 > " + pool,
	} {
		if !slices.Contains(edges, want) {
			t.Errorf("nothing leads %s: %q", want, edges)
		}
	}
	if len(edges) != 7 || strings.Contains(r.Stdout, other) || strings.Contains(r.Stdout, stranger) {
		t.Errorf("the graph has what is not the lease's: %q", edges)
	}
	mustRun(t, 0, "graph", other).Prints(t, "lease/", "─host/"+other)

	gone := leaseOf(newOwner(), 9)
	for _, name := range []string{"host/gone." + newDomain(), "lease/" + gone.Group().String()} {
		subject := "hosts"
		if strings.HasPrefix(name, "lease/") {
			subject = "leases"
		}
		for _, args := range [][]string{{"graph", name}, {"state", subject, name}} {
			mustRun(t, 1, args...).Says(t, "Error: "+name+" is not found")
		}
		mustRun(t, 0, "graph", name, "--ignore-not-found")
	}
}
