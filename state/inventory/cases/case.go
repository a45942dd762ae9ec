package cases

import (
	"strconv"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Case is a cluster, what is reserved of it, and groups to reserve one after the other.
type Case struct {
	Name    string               `json:"name"`
	Commit  inventory.Levels     `json:"commit"`
	Cluster inventory.Cluster    `json:"cluster"`
	IP      *inventory.Addresses `json:"ip"`
	// Reservations were made earlier, oldest first.
	Reservations []inventory.Reservation `json:"reservations,omitempty"`
	Requests     []inventory.Group       `json:"requests"`
}

// Answer is whether each request of a case fits, and what is left after all of them.
type Answer struct {
	Name     string   `json:"name"`
	Existing []Result `json:"existing,omitempty"`
	Results  []Result `json:"results"`
	After    After    `json:"after"`
}

// Result is the answer to one request.
type Result struct {
	Fits   bool             `json:"fits"`
	Reason inventory.Reason `json:"reason,omitempty"`
	// Message says why the request does not fit.
	Message string `json:"message,omitempty"`
	// Lack is what the whole cluster lacks, Nodes what individual nodes lack.
	Lack            *inventory.Lack                       `json:"lack,omitempty"`
	Nodes           []inventory.NodeLack                  `json:"nodes,omitempty"`
	Placement       map[uint32][]string                   `json:"placement,omitempty"`
	SchedulerParams map[uint32]*inventory.SchedulerParams `json:"scheduler_params,omitempty"`
	Allocated       []inventory.Granted                   `json:"allocated,omitempty"`
}

// notCounted is the reason that Akash's provider gives for active reservations, whose pods are in the cluster's amounts
// already.
const notCounted inventory.Reason = "active-not-counted"

// After is what is left after the last request.
type After struct {
	Nodes            []inventory.NodeRoom `json:"nodes"`
	TotalAllocatable inventory.Totals     `json:"total_allocatable"`
	TotalAvailable   inventory.Totals     `json:"total_available"`
	IPsReserved      uint64               `json:"ips_reserved"`
	LeasedIP         LeasedIP             `json:"leased_ip"`
	Pending          int                  `json:"pending"`
	Active           int                  `json:"active"`
}

// LeasedIP is what is left of the addresses, as quantities.
type LeasedIP struct {
	Allocatable string `json:"allocatable"`
	Allocated   string `json:"allocated"`
	Available   string `json:"available"`
	Capacity    string `json:"capacity"`
}

// Answer answers the requests with an inventory of the case's cluster.
func (c Case) Answer() Answer {
	inv := inventory.New(c.Cluster, c.IP, c.Commit)
	a := Answer{Name: c.Name, Results: []Result{}}
	for _, r := range c.Reservations {
		result := NewResult(inv.Count(r))
		if r.State == inventory.Active {
			result.Reason = notCounted
		}
		result.SchedulerParams, result.Allocated = nil, nil
		a.Existing = append(a.Existing, result)
	}
	for _, g := range c.Requests {
		a.Results = append(a.Results, NewResult(inv.Reserve(g)))
	}
	a.After = NewAfter(inv.Room())
	return a
}

// Refused counts the requests that do not fit.
func (a Answer) Refused() int {
	n := 0
	for _, r := range a.Results {
		if !r.Fits {
			n++
		}
	}
	return n
}

// NewResult converts what an inventory returned for a request.
func NewResult(g inventory.Grant, refusal *inventory.Refusal) Result {
	if refusal == nil {
		return Result{Fits: true, Placement: g.Placement(), SchedulerParams: g.SchedulerParams(), Allocated: g.Resources}
	}
	r := Result{Reason: refusal.Reason, Message: refusal.String(), Nodes: refusal.Nodes}
	if refusal.Lack.What != "" {
		r.Lack = &refusal.Lack
	}
	return r
}

// NewAfter converts what is left of an inventory.
func NewAfter(r inventory.Room) After {
	text := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return After{
		Nodes: r.Nodes, TotalAllocatable: r.Allocatable, TotalAvailable: r.Available, IPsReserved: r.Reserved,
		LeasedIP: LeasedIP{Allocatable: text(r.Addresses.Capacity), Allocated: text(r.Addresses.Allocated),
			Available: text(r.Addresses.Available), Capacity: text(r.Addresses.Capacity)},
		Pending: r.Pending, Active: r.Active,
	}
}
