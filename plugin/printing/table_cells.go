package printing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fvbommel/sortorder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// owner returns the address of an owner, shortened unless the table is wide.
func (t *tables) owner(wallet string) string {
	if t.wide {
		return terminal.Dash(wallet)
	}
	return terminal.Dash(thing.ShortWallet(wallet))
}

// sentence returns a text, in which the names of leases are short on a terminal.
func (t *tables) sentence(text string) string {
	if t.short {
		return thing.ShortenLeases(text)
	}
	return text
}

// number returns a positive number, or a dash for 0.
func number[N uint32 | uint64](n N) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatUint(uint64(n), 10)
}

// backend returns SERVICE:PORT, or only the service if the port is 0.
func backend(service string, port uint16) string {
	if service == "" || port == 0 {
		return terminal.Dash(service)
	}
	return fmt.Sprintf("%s:%d", service, port)
}

// routed returns the kind of the route that leads a host to its Service, "no" for one that does not, or a dash where there is no route.
func routed(target string, routed bool) string {
	if target != "" && !routed {
		return "no"
	}
	return terminal.Dash(target)
}

// answers returns READY/TOTAL, what is missing, or a dash where nothing leads to a Service.
func answers(e *view.Endpoints, leads bool) string {
	switch {
	case !leads:
		return "-"
	case e == nil:
		return "<unknown>"
	case e.Missing != "":
		return "no " + e.Missing
	}
	return fmt.Sprintf("%d/%d", e.Ready, e.Total)
}

// withSilence adds to the message of a row why nothing answers.
func withSilence(message, silence string) string {
	if message == "" || silence == "" {
		return message + silence
	}
	return message + "; " + silence
}

func portText(r view.IPRow) string {
	if r.Port == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
}

// some returns the first three items of a list and the number of the others, in the form that kubectl uses.
func some(list []string) string {
	const shown = 3
	if len(list) > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:shown], ","), len(list)-shown)
	}
	return terminal.Dash(strings.Join(list, ","))
}

func (t *tables) age(since metav1.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(t.now().Sub(since.Time))
}

func moment(since metav1.Time) string {
	if since.IsZero() {
		return "-"
	}
	return since.UTC().Format(time.RFC3339)
}

// bar draws the usage of a pool: a square for each address, or 20 squares for a larger pool. It always shows at least one used
// and one free square if there are any.
func bar(r view.PoolRow) string {
	const width = 20
	squares, used, end := r.Addresses, r.Used, ""
	if squares > width {
		used = int64(float64(r.Used) / float64(r.Addresses) * width)
		if r.Used > 0 {
			used = max(used, 1)
		}
		if r.Free > 0 {
			used = min(used, width-1)
		}
		squares, end = width, "…"
	}
	used = min(used, squares)
	return strings.Repeat("■", int(used)) + strings.Repeat("□", int(squares-used)) + end
}

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

// parsePath parses a JSONPath expression for a row, with or without braces and a leading dot. flag begins its errors.
func parsePath(flag, path string) (*jsonpath.JSONPath, error) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	p := jsonpath.New(flag).AllowMissingKeys(true)
	if err := p.Parse("{." + strings.TrimPrefix(path, ".") + "}"); err != nil {
		return nil, usage.Errorf("%s: %w", flag, err)
	}
	return p, nil
}

// sortBook sorts the rows of each subject by the first value of a path, as "kubectl get --sort-by" does: rows without one come first, and
// it is an error if no row has one.
func sortBook(b *view.Book, path *jsonpath.JSONPath, typed string) error {
	sorting := sorting{path: path}
	b.Hosts = sorted(&sorting, b.Hosts)
	b.IPs = sorted(&sorting, b.IPs)
	b.Leases = sorted(&sorting, b.Leases)
	b.Pools = sorted(&sorting, b.Pools)
	b.Routes = sorted(&sorting, b.Routes)
	b.DNS = sorted(&sorting, b.DNS)
	b.Resources = sorted(&sorting, b.Resources)
	b.Orders = sorted(&sorting, b.Orders)
	b.Problems = sorted(&sorting, b.Problems)
	if sorting.err == nil && sorting.rows > 0 && !sorting.found {
		return usage.Errorf("--sort-by: no row has a field %q; -o json shows the fields", typed)
	}
	return sorting.err
}

// sorting is what is known while the rows of several subjects are sorted.
type sorting struct {
	path  *jsonpath.JSONPath
	rows  int
	found bool
	err   error
}

// sorted returns rows in the order of their values.
func sorted[R any](s *sorting, rows []R) []R {
	type valued struct {
		row   R
		value any
	}
	all := make([]valued, len(rows))
	for i, row := range rows {
		all[i] = valued{row, s.value(row)}
	}
	slices.SortStableFunc(all, func(a, b valued) int { return compareValues(a.value, b.value) })
	out := slices.Clone(rows) // nil stays nil
	for i, v := range all {
		out[i] = v.row
	}
	return out
}

// value returns the first value of the path in a row, nil if there is none.
func (s *sorting) value(row any) any {
	s.rows++
	text, err := json.Marshal(row)
	var fields map[string]any
	if err == nil {
		err = utiljson.Unmarshal(text, &fields)
	}
	if err != nil {
		s.err = err
		return nil
	}
	results, err := s.path.FindResults(fields)
	if err != nil {
		s.err = usage.Errorf("--sort-by: %w", err)
		return nil
	}
	for _, values := range results {
		for _, v := range values {
			if v.IsValid() && v.CanInterface() && v.Interface() != nil {
				s.found = true
				return v.Interface()
			}
		}
	}
	return nil
}

// compareValues compares numbers and addresses by their value, and texts as people do: node9 before node10. Values of different kinds are
// compared as texts, and nil is less than all.
func compareValues(a, b any) int {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return -1
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	}
	if b == nil {
		return 1
	}
	left, right := fmt.Sprint(a), fmt.Sprint(b)
	if one, err := netip.ParseAddr(left); err == nil {
		if other, err := netip.ParseAddr(right); err == nil {
			return one.Compare(other)
		}
	}
	switch {
	case left == right:
		return 0
	case sortorder.NaturalLess(left, right):
		return -1
	}
	return 1
}
