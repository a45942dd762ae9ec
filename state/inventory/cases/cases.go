// Package cases reads cases, which ask whether groups fit a cluster, as one JSON object per line, and answers them.
// docs/orders.md has the format.
package cases

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/akash-net/kubectl-akash-net/lease"
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
	Lack            *inventory.Lack                   `json:"lack,omitempty"`
	Nodes           []inventory.NodeLack              `json:"nodes,omitempty"`
	Placement       map[uint32][]string               `json:"placement,omitempty"`
	SchedulerParams map[uint32]*lease.SchedulerParams `json:"scheduler_params,omitempty"`
	Allocated       []inventory.Granted               `json:"allocated,omitempty"`
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

// Lines describes the results to people, one line per request.
func (a Answer) Lines(c Case) []string {
	lines := make([]string, len(a.Results))
	for i, r := range a.Results {
		group := cmp.Or(c.Requests[i].Name, fmt.Sprintf("request %d", i+1))
		lines[i] = cmp.Or(c.Name, "the case") + ": " + group + " " + r.String()
	}
	return lines
}

// String describes the result to people.
func (r Result) String() string {
	if !r.Fits {
		return "does not fit: " + r.Message
	}
	var where []string
	for _, id := range slices.Sorted(maps.Keys(r.Placement)) {
		text := fmt.Sprintf("%d on %s", id, nodes(r.Placement[id]))
		if p := r.SchedulerParams[id]; p != nil {
			text += fmt.Sprintf(" (%s/%s)", p.GPU().Vendor, p.GPU().Model)
		}
		where = append(where, text)
	}
	if len(where) == 0 {
		return "fits"
	}
	return "fits: " + strings.Join(where, ", ")
}

// maxNodesNamed limits the nodes of a resource that a line names.
const maxNodesNamed = 10

// nodes lists nodes in the order of placement, each with its number of replicas.
func nodes(placed []string) string {
	var order []string
	count := map[string]int{}
	for _, n := range placed {
		if count[n]++; count[n] == 1 {
			order = append(order, n)
		}
	}
	var texts []string
	for _, n := range order[:min(len(order), maxNodesNamed)] {
		if count[n] > 1 {
			n = fmt.Sprintf("%s ×%d", n, count[n])
		}
		texts = append(texts, n)
	}
	if more := len(order) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, " ")
}

// Limits of a case. They are far above what providers need and bound the size of an answer.
const (
	maxReplicas   = 100_000
	maxName       = 253
	maxAttributes = 1000
)

// Read yields the cases of an input with one JSON object per line. It skips empty lines. A line has at most size bytes.
// Read stops after the first error, which is a lease.Problems if the input is invalid.
func Read(r io.Reader, file string, size int64) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for number := 1; ; number++ {
			line, err := readLine(in, size)
			at := lease.Place{File: file, Line: number, Column: 1}
			switch {
			case errors.Is(err, errTooLong):
				yield(Case{}, problem(at, "the line is longer than %d bytes, the largest that is read", size))
				return
			case err != nil && !errors.Is(err, io.EOF):
				yield(Case{}, err)
				return
			}
			if text := bytes.TrimSpace(line); len(text) > 0 {
				c, problem := parse(line, at)
				if !yield(c, problem) || problem != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

var errTooLong = errors.New("the line is too long")

// readLine reads to the end of the line. At the end of the input it returns the rest and io.EOF.
func readLine(in *bufio.Reader, size int64) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if int64(len(line)+len(part)) > size {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func problem(at lease.Place, format string, args ...any) error {
	var ps lease.Problems
	ps.Add(at, format, args...)
	return ps
}

// parse parses a case strictly.
func parse(line []byte, at lease.Place) (Case, error) {
	var c Case
	strict, err := strictjson.UnmarshalStrict(line, &c)
	if err != nil {
		if ok, offset := strictjson.SyntaxErrorOffset(err); ok {
			at.Column = int(offset)
		}
		return Case{}, problem(at, "this is no case: %s", err.Error())
	}
	if len(strict) > 0 {
		return Case{}, problem(at, "%s", strict[0].Error())
	}
	if wrong := c.check(); wrong != "" {
		return Case{}, problem(at, "%s", wrong)
	}
	return c, nil
}

// check returns what is wrong with a case, or "".
func (c Case) check() string {
	switch {
	case c.Cluster.Nodes == nil:
		return "cluster.nodes is missing"
	case c.Requests == nil:
		return "requests is missing"
	}
	for i, n := range c.Cluster.Nodes {
		at := fmt.Sprintf("cluster.nodes[%d]", i)
		if n.Name == "" || len(n.Name) > maxName {
			return fmt.Sprintf("%s: the name has %d bytes; 1 to %d are possible", at, len(n.Name), maxName)
		}
		for _, a := range []struct {
			what string
			inventory.Amount
		}{{"cpu", n.CPU}, {"memory", n.Memory}, {"ephemeral_storage", n.EphemeralStorage}, {"gpu", n.GPU}} {
			if wrong := checkAmount(a.Amount); wrong != "" {
				return at + "." + a.what + wrong
			}
		}
	}
	if p := c.Cluster.NodePorts; p != nil {
		if wrong := checkAmount(*p); wrong != "" {
			return "cluster.node_ports" + wrong
		}
	}
	for i, s := range c.Cluster.Storage {
		if wrong := checkAmount(s.Amount); wrong != "" {
			return fmt.Sprintf("cluster.storage[%d]%s", i, wrong)
		}
	}
	replicas := uint64(0)
	for i, r := range c.Reservations {
		if r.State != inventory.Pending && r.State != inventory.Active {
			return fmt.Sprintf("reservations[%d].state: %q is no state; %s and %s are known",
				i, lease.Clip(string(r.State)), inventory.Pending, inventory.Active)
		}
		if wrong := checkGroup(r.Group, &replicas); wrong != "" {
			return fmt.Sprintf("reservations[%d].group%s", i, wrong)
		}
	}
	for i, g := range c.Requests {
		if wrong := checkGroup(g, &replicas); wrong != "" {
			return fmt.Sprintf("requests[%d]%s", i, wrong)
		}
	}
	return ""
}

func checkAmount(a inventory.Amount) string {
	switch {
	case a.Allocatable < inventory.Unlimited:
		return fmt.Sprintf(".allocatable: %d is negative; only -1, without limit, may be", a.Allocatable)
	case a.Allocated < 0:
		return fmt.Sprintf(".allocated: %d is negative", a.Allocated)
	}
	return ""
}

// checkGroup returns what is wrong with a group, or "". It adds the group's replicas to those of the case.
func checkGroup(g inventory.Group, replicas *uint64) string {
	for i, r := range g.Resources {
		if *replicas += uint64(r.Count); *replicas > maxReplicas {
			return fmt.Sprintf(".resources[%d].count: the case has more than %d replicas", i, maxReplicas)
		}
		if len(r.GPU.Attributes) > maxAttributes {
			return fmt.Sprintf(".resources[%d].gpu.attributes: there are %d; at most %d are read",
				i, len(r.GPU.Attributes), maxAttributes)
		}
		for k, e := range r.Endpoints {
			switch e.Kind {
			case inventory.SharedHTTP, inventory.RandomPort, inventory.LeasedIP:
			default:
				return fmt.Sprintf(".resources[%d].endpoints[%d].kind: %q is no kind; %s, %s and %s are known", i, k,
					lease.Clip(string(e.Kind)), inventory.SharedHTTP, inventory.RandomPort, inventory.LeasedIP)
			}
		}
	}
	return ""
}
