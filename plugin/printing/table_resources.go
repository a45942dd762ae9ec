package printing

import (
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

func (t *tables) resources(rows []view.ResourceRow) *TableBuilder {
	table := NewTable("Of", "Resource", "Allocatable", "Committed", "Reserved", "In-Use", "Available", "")
	for _, r := range rows {
		of := r.Of
		if r.Name != "" {
			of += "/" + r.Name
		}
		amount := amountText(r.Resource)
		all, committed, available := amount(r.Allocatable), amount(r.Committed), amount(r.Available)
		if r.Unlimited {
			all, committed, available = "unlimited", "unlimited", "unlimited"
		}
		last := resourceBar(r)
		if r.Message != "" {
			last = r.Message
		}
		table.Row("", of, r.Resource, all, committed, amount(r.Reserved), amount(r.InUse), available, last)
	}
	return table
}

// amountText returns the function that formats amounts of a resource.
func amountText(resource string) func(uint64) string {
	switch resource {
	case "cpu":
		return inventory.CPUs
	case "memory", "ephemeral-storage", "storage":
		return func(n uint64) string { return inventory.Bytes(n, false) }
	}
	return func(n uint64) string { return strconv.FormatUint(n, 10) }
}

func (t *tables) orders(rows []view.OrderRow) *TableBuilder {
	table := NewTable("Owner", "DSeq", "GSeq", "OSeq", "Holds", "Nodes", "State", "Expires", "Age").
		Wide("Provider", "By", "Since", "Claim")
	for _, r := range rows {
		table.Row(r.Message,
			t.owner(r.Owner), number(r.DSeq), number(r.GSeq), number(r.OSeq), HoldText(r), NodesText(r.Nodes), r.State,
			terminal.Dash(r.Expires), t.age(r.Since), terminal.Dash(r.Provider), terminal.Dash(r.By), moment(r.Since), r.Claim)
	}
	return table
}

// NodesText returns the first nodes of a reservation, in alphabetical order.
func NodesText(nodes map[string]inventory.Amounts) string {
	return some(slices.Sorted(maps.Keys(nodes)))
}

// HoldText returns the amounts that an order has reserved: 2 CPU, 4Gi memory, 1 nvidia/a100.
func HoldText(r view.OrderRow) string { return terminal.Dash(r.Words(r.Models)) }

// resourceSquares is the length of a bar.
const resourceSquares = 20

// resourceBar draws the parts of a resource that are in use (■), reserved (▣) and available (□). A part that is in use or
// reserved has at least one square, if the bar has room for it.
func resourceBar(r view.ResourceRow) string {
	if r.Unlimited || r.Allocatable == 0 {
		return ""
	}
	used := squares(r.InUse, r.Allocatable)
	reserved := min(squares(r.Reserved, r.Allocatable), resourceSquares-used)
	return strings.Repeat("■", used) + strings.Repeat("▣", reserved) + strings.Repeat("□", resourceSquares-used-reserved)
}

// squares returns the number of squares for a part of all, rounded up.
func squares(part, all uint64) int {
	part = min(part, all)
	high, low := bits.Mul64(part, resourceSquares)
	n, rest := bits.Div64(high, low, all)
	if rest > 0 {
		n++
	}
	return int(n)
}
