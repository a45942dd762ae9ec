package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/graph"
)

// graph of a lease leads from it to the Services and the pool, by the objects in the cluster. What others have is not drawn.
func TestGraph(t *testing.T) {
	t.Parallel()
	subnet, host, other, id := newNet(), newHost("a"), newHost("b"), leaseOf(newOwner(t), 1)
	config, name := configure(t, "ip: {ranges: ["+subnet+"0/29]}"), id.Group().String()
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7777)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, leaseOf(id.Owner, 2), web("web", 8080, other)))
	mustRun(t, 0, "graph", name, "--config", config).Prints(t, "─host/"+host, "─ingress/"+host, "─service/web:80 ", "─address/"+subnet+"0 ", "─port/7777/tcp ",
		"─service/game-ip-7777-tcp", "─pool/", subnet+"0/29: 1 of 8 in use")
	var g graph.Graph
	if err := json.Unmarshal([]byte(mustRun(t, 0, "graph", name, "--config", config, "-o", "json").Stdout), &g); err != nil {
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
	want := []string{
		"lease/" + name + " > host/" + host, "host/" + host + " > ingress/" + host, "ingress/" + host + " > service/web:80",
		"lease/" + name + " > address/" + subnet + "0", "address/" + subnet + "0 > port/7777/tcp", "port/7777/tcp > service/game-ip-7777-tcp", "address/" + subnet + "0 > pool/" + rangePool(subnet, "0-29"),
	}
	slices.Sort(edges)
	slices.Sort(want)
	if !slices.Equal(edges, want) {
		t.Errorf("the graph is\n%s\nwant\n%s", strings.Join(edges, "\n"), strings.Join(want, "\n"))
	}
	gone := leaseOf(newOwner(t), 9)
	for name, subject := range map[string]string{"host/gone." + newDomain(): "hosts", "lease/" + gone.Group().String(): "leases"} {
		mustRun(t, 1, "graph", name).Says(t, "Error: "+name+" is not found")
		mustRun(t, 1, "state", subject, name).Says(t, "Error: "+name+" is not found")
		mustRun(t, 0, "graph", name, "--ignore-not-found")
	}
}
