package page

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Resources are the capacity of the cluster, its storage classes and its nodes.
type Resources struct {
	Known   bool
	Cluster []Meter
	Nodes   Section[NodeRow]
}

// NodeRow is a node and what it has left.
type NodeRow struct {
	ID, Name, Message string
	Meters            []Meter
}

// Meter is how much of a resource is in use and reserved. Used and Reserved are the parts in thousandths, together at most 1000.
type Meter struct {
	Name, Text     string
	Used, Reserved int
	// Tone is bad if next to nothing is left.
	Tone string
}

// resources returns the resources, of the nodes those that the query finds.
func resources(q *Query, rows []view.ResourceRow) Resources {
	out := Resources{Known: rows != nil}
	var nodes []NodeRow
	for _, r := range rows {
		switch {
		case r.Of != view.OfNode:
			out.Cluster = append(out.Cluster, meter(&r))
		case len(nodes) > 0 && nodes[len(nodes)-1].Name == r.Name:
			last := &nodes[len(nodes)-1]
			last.Meters = append(last.Meters, meter(&r))
		default:
			nodes = append(nodes, NodeRow{"node/" + r.Name, r.Name, clip(r.Message), []Meter{meter(&r)}})
		}
	}
	out.Nodes = section(q, "resources", nodes, func(n *NodeRow) NodeRow { return *n }, func(n *NodeRow) []string { return []string{n.Name, n.Message} }, nil)
	return out
}

func meter(r *view.ResourceRow) Meter {
	amount := amountText(r.Resource)
	m := Meter{Name: r.Resource}
	if r.Of == view.OfClass {
		m.Name = cmp.Or(r.Name, r.Resource)
	}
	if r.Unlimited {
		m.Text = amount(r.InUse) + " in use, no limit"
		return m
	}
	m.Text = fmt.Sprintf("%s of %s free", amount(r.Available), amount(r.Allocatable))
	if r.Allocatable == 0 {
		return m
	}
	part := func(n uint64) int {
		return int(math.Ceil(float64(min(n, r.Allocatable)) / float64(r.Allocatable) * 1000))
	}
	m.Used = part(r.InUse)
	m.Reserved = min(part(r.Reserved), 1000-m.Used)
	if m.Used+m.Reserved > 900 {
		m.Tone = "bad"
	}
	return m
}

// amountText returns the function that writes amounts of a resource.
func amountText(resource string) func(uint64) string {
	switch resource {
	case "cpu":
		return func(n uint64) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }
	case "memory", "ephemeral-storage", "storage":
		return func(n uint64) string { return inventory.Bytes(n, false) }
	}
	return func(n uint64) string { return strconv.FormatUint(n, 10) }
}
