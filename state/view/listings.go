package view

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

func hostListing() Listing {
	return &subject[HostRow]{
		about:  About{Subject: SubjectHosts, Words: []string{"host"}, Kinds: []thing.Kind{thing.Host}, Empty: "No hosts held."},
		rows:   func(b *Book) *[]HostRow { return &b.Hosts },
		narrow: []string{"Host", "Owner", "DSeq", "Service", "Routed", "Answers", "State", "Age"},
		wide:   []string{"Target", "GSeq", "OSeq", "Provider", "Namespace", "Since", "Expires", "Claimed"},
		cells: func(r *HostRow, look Look) []string {
			return []string{
				r.Host + r.Path, look.owner(r.Owner), number(r.DSeq), Backend(r.Service, r.Port), r.RoutedBy(), r.Answers(), r.State, look.age(r.Since),
				r.Target, number(r.GSeq), number(r.OSeq), r.Provider, r.Namespace, moment(r.Since), r.Expires, strconv.FormatBool(r.Claimed),
			}
		},
		message: func(r *HostRow, _ Look) string { return sentences(r.Message, r.Silent()) },
		label:   func(r *HostRow) string { return string(thing.Host) + "/" + lease.HostPath(r.Host, r.Path) },
		key:     HostRow.key, release: (*HostRow).release, is: HostRow.Is,
		tenant:  func(r *HostRow) *Tenant { return r.Tenant },
		expires: func(r *HostRow) string { return r.Expires },
	}
}

func ipListing() Listing {
	return &subject[IPRow]{
		about:  About{Subject: SubjectIPs, Words: []string{"ip"}, Kinds: []thing.Kind{thing.Address, thing.Endpoint}, Empty: "No addresses leased."},
		rows:   func(b *Book) *[]IPRow { return &b.IPs },
		narrow: []string{"IP", "Owner", "DSeq", "Port", "Service", "State", "Age"},
		wide:   []string{"Pool", "Answers", "GSeq", "OSeq", "Provider", "Namespace", "Sharing-Key", "Since", "Expires", "Claimed"},
		cells: func(r *IPRow, look Look) []string {
			address := ""
			switch {
			case r.Address.IsValid():
				address = r.Address.String()
			case r.State == StatePending:
				address = "<pending>"
			}
			return []string{
				address, look.owner(r.Owner), number(r.DSeq), r.PortText(), Backend(r.Service, r.ContainerPort), r.State, look.age(r.Since),
				r.Pool, answers(r.Endpoints, r.Routed()), number(r.GSeq), number(r.OSeq), r.Provider, r.Namespace, r.SharingKey, moment(r.Since), r.Expires,
				strconv.FormatBool(r.Claimed),
			}
		},
		message: func(r *IPRow, _ Look) string { return sentences(r.Message, r.Silent()) },
		label: func(r *IPRow) string {
			if !r.Address.IsValid() {
				return ""
			}
			return string(thing.Address) + "/" + r.Address.String()
		},
		key: IPRow.key, release: func(r *IPRow) { r.State, r.Endpoints = StateReleased, nil }, is: IPRow.Is,
		tenant:  func(r *IPRow) *Tenant { return r.Tenant },
		expires: func(r *IPRow) string { return r.Expires },
	}
}

func leaseListing() Listing {
	return &subject[LeaseRow]{
		about:  About{Subject: SubjectLeases, Words: []string{"lease"}, Kinds: []thing.Kind{thing.Lease}, Empty: "No leases hold anything."},
		rows:   func(b *Book) *[]LeaseRow { return &b.Leases },
		narrow: []string{"Owner", "DSeq", "GSeq", "OSeq", "Hosts", "Addresses", "State", "Age", "Workloads", "Ready"},
		wide:   []string{"Provider", "Namespace", "Since", "Host-Names"},
		cells: func(r *LeaseRow, look Look) []string {
			runs, ready := "", ""
			if w := r.Workloads; w != nil {
				runs, ready = string(w.State), fmt.Sprintf("%d/%d", w.Ready, w.Total)
			}
			return []string{
				look.owner(r.Owner), number(r.DSeq), number(r.GSeq), number(r.OSeq), strconv.Itoa(len(r.Hosts)), some(r.Addresses), r.State, look.age(r.Since),
				runs, ready, r.Provider, r.Namespace, moment(r.Since), some(r.Hosts),
			}
		},
		without: func(b *Book) []string {
			if b.WithWorkloads {
				return nil
			}
			return []string{"Workloads", "Ready"}
		},
		message: func(r *LeaseRow, _ Look) string {
			reason, suspended := "", ""
			if r.Workloads != nil {
				reason = r.Workloads.Reason
			}
			if r.Suspended {
				suspended = "suspended: the reconciler does nothing for it"
			}
			return sentences(reason, suspended)
		},
		label: func(r *LeaseRow) string { return string(thing.Lease) + "/" + r.Lease },
		key:   LeaseRow.key, release: func(r *LeaseRow) { r.State = StateReleased }, is: func(r LeaseRow, t thing.Thing) bool { return r.IsOf(t) },
		tenant: func(r *LeaseRow) *Tenant { return r.Tenant },
	}
}

func poolListing() Listing {
	return &subject[PoolRow]{
		about:  About{Subject: SubjectPools, Words: []string{"pool"}, Empty: "No pools.", NoLease: true},
		rows:   func(b *Book) *[]PoolRow { return &b.Pools },
		narrow: []string{"Range", "Addresses", "Used", "Free", ""},
		wide:   []string{"Pool", "Mode"},
		cells: func(r *PoolRow, _ Look) []string {
			return []string{some(r.Ranges), CountText(r.Addresses), strconv.FormatInt(r.Used, 10), CountText(r.Free), r.bar(), r.Name, r.Mode}
		},
		label: func(r *PoolRow) string { return "pool/" + r.Name },
		key:   PoolRow.key,
	}
}

func routeListing() Listing {
	return &subject[RouteRow]{
		about:  About{Subject: SubjectRoutes, Words: []string{"route"}, Kinds: []thing.Kind{thing.Host}, Empty: "No routes."},
		rows:   func(b *Book) *[]RouteRow { return &b.Routes },
		narrow: []string{"Shard", "Host", "Kind", "Namespace", "Name", "Admitted", "Reason", "Age"},
		wide:   []string{"Owner", "Lease", "Since"},
		cells: func(r *RouteRow, look Look) []string {
			return []string{
				r.Shard, r.Pattern(), r.Kind, r.Namespace, r.Name, strconv.FormatBool(r.Admitted), r.Reason, look.age(r.Since), r.Owner, r.Lease, moment(r.Since),
			}
		},
		without: func(b *Book) []string {
			if slices.ContainsFunc(b.Routes, func(r RouteRow) bool { return r.Shard != "" }) {
				return nil
			}
			return []string{"Shard"}
		},
		message: func(r *RouteRow, _ Look) string { return r.Message },
		label:   func(r *RouteRow) string { return strings.ToLower(r.Kind) + "/" + r.Namespace + "/" + r.Name },
		key:     RouteRow.key, release: (*RouteRow).release, is: RouteRow.Is,
		labels: func(r *RouteRow) (map[string]string, string) { return r.labels, r.Namespace },
	}
}

func recordListing() Listing {
	return &subject[DNSRow]{
		about:  About{Subject: SubjectDNS, Words: []string{"dns"}, Kinds: []thing.Kind{thing.Host}, Empty: "No DNS records."},
		rows:   func(b *Book) *[]DNSRow { return &b.DNS },
		narrow: []string{"Host", "Type", "Values", "TTL", "Zone", "Last-Operation", "State", "Age"},
		wide:   []string{"Name", "Owner", "DSeq", "Namespace", "Object", "Since"},
		cells: func(r *DNSRow, look Look) []string {
			return []string{
				r.Host, string(r.Type), some(r.Values), number(max(r.TTL, 0)), r.Zone, r.LastOperation, r.State, look.age(r.Since),
				r.Name, r.Owner, number(r.DSeq), r.Namespace, r.Kind + "/" + r.Object, moment(r.Since),
			}
		},
		message: func(r *DNSRow, _ Look) string { return r.Message },
		label:   func(r *DNSRow) string { return "dns/" + r.Name + "/" + string(r.Type) },
		key:     DNSRow.key, release: func(r *DNSRow) { r.State = StateReleased }, is: func(r DNSRow, t thing.Thing) bool { return isHost(t, r.Host, "") },
		tenant: func(r *DNSRow) *Tenant { return r.Tenant },
	}
}

func resourceListing() Listing {
	return &subject[ResourceRow]{
		about:  About{Subject: SubjectResources, Words: []string{"resource"}, Empty: "No resources.", NoLease: true},
		rows:   func(b *Book) *[]ResourceRow { return &b.Resources },
		narrow: []string{"Of", "Resource", "Allocatable", "Committed", "Reserved", "In-Use", "Available", ""},
		cells: func(r *ResourceRow, _ Look) []string {
			all, committed, available := r.Amount(r.Allocatable), r.Amount(r.Committed), r.Amount(r.Available)
			if r.Unlimited {
				all, committed, available = "unlimited", "unlimited", "unlimited"
			}
			return []string{
				strings.TrimSuffix(r.Of+"/"+r.Name, "/"), r.Resource, all, committed, r.Amount(r.Reserved), r.Amount(r.InUse), available, cmp.Or(r.Message, r.bar()),
			}
		},
		label: func(r *ResourceRow) string { return r.Of + "/" + strings.TrimPrefix(r.Name+"/"+r.Resource, "/") },
	}
}

func orderListing() Listing {
	return &subject[OrderRow]{
		about:  About{Subject: SubjectOrders, Words: []string{"order"}, Kinds: []thing.Kind{thing.Lease, thing.Order}, Empty: "No orders have reserved anything."},
		rows:   func(b *Book) *[]OrderRow { return &b.Orders },
		narrow: []string{"Owner", "DSeq", "GSeq", "OSeq", "Holds", "Nodes", "State", "Expires", "Age"},
		wide:   []string{"Provider", "By", "Since", "Claim"},
		cells: func(r *OrderRow, look Look) []string {
			return []string{
				look.owner(r.Owner), number(r.DSeq), number(r.GSeq), number(r.OSeq), r.Holds(), r.NodesText(), r.State, r.Expires, look.age(r.Since),
				r.Provider, r.By, moment(r.Since), r.Claim,
			}
		},
		message: func(r *OrderRow, _ Look) string { return r.Message },
		label:   func(r *OrderRow) string { return "order/" + cmp.Or(r.Order, r.Claim) },
		key:     OrderRow.key, release: func(r *OrderRow) { r.State = StateReleased }, is: OrderRow.Is,
		tenant:  func(r *OrderRow) *Tenant { return r.Tenant },
		expires: func(r *OrderRow) string { return r.Expires },
	}
}

func problemListing() Listing {
	return &subject[state.Problem]{
		about:  About{Subject: SubjectProblems},
		rows:   func(b *Book) *[]state.Problem { return &b.Problems },
		narrow: []string{"Problem", "Thing", "Message", "Repair"},
		wide:   []string{"Lease", "Namespace", "Since"},
		cells: func(r *state.Problem, look Look) []string {
			plan := r.Plan
			if command := r.Repair(); command != "" {
				plan += ": " + command
			}
			return []string{r.Problem, r.Thing, look.sentence(r.Message), look.sentence(plan), r.Lease, r.Namespace, moment(r.Since)}
		},
		label: func(r *state.Problem) string { return "problem/" + r.Problem + "/" + r.Thing },
	}
}

// Look is how cells look.
type Look struct {
	// Whole is true for wallets in full, Short for sentences in which the names of leases are short.
	Whole, Short bool
	Now          time.Time
}

func (l Look) owner(wallet string) string {
	if l.Whole {
		return wallet
	}
	return thing.ShortWallet(wallet)
}

func (l Look) sentence(text string) string {
	if l.Short {
		return thing.ShortenLeases(text)
	}
	return text
}

func (l Look) age(since metav1.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(l.Now.Sub(since.Time))
}

func moment(since metav1.Time) string {
	if since.IsZero() {
		return ""
	}
	return since.UTC().Format(time.RFC3339)
}

// number returns a positive number, or "" for 0.
func number[N uint32 | uint64 | int64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(n), 10)
}

// Backend returns SERVICE:PORT, or only the service if the port is 0.
func Backend(service string, port uint16) string {
	if service == "" || port == 0 {
		return service
	}
	return fmt.Sprintf("%s:%d", service, port)
}

// target returns the kind of the route of the holder. Of a host that is handed over or gone the route is another's, or gone.
func (r *HostRow) target() string {
	if r.State == StateTransferring || r.State == StateReleased {
		return ""
	}
	return r.Target
}

// RoutedBy returns the kind of the route that leads the host to its Service, "no" for one that does not, or "" where there is no route.
func (r *HostRow) RoutedBy() string {
	if r.target() != "" && !r.Routed {
		return "no"
	}
	return r.target()
}

// Answers returns how many endpoints answer, as IPRow and HostRow show it.
func (r *HostRow) Answers() string { return answers(r.Endpoints, r.target() != "" && r.Service != "") }

// answers returns READY/TOTAL, what is missing, or "" where nothing leads to a Service.
func answers(e *Endpoints, leads bool) string {
	switch {
	case !leads:
		return ""
	case e == nil:
		return "<unknown>"
	}
	return e.Text()
}

// Text returns READY/TOTAL, or what is missing.
func (e *Endpoints) Text() string {
	if e.Missing != "" {
		return "no " + e.Missing
	}
	return fmt.Sprintf("%d/%d", e.Ready, e.Total)
}

// sentences joins two sentences, either of which may be "".
func sentences(one, other string) string {
	if one == "" || other == "" {
		return one + other
	}
	return one + "; " + other
}

// PortText returns PORT/PROTOCOL, or "" without a port.
func (r *IPRow) PortText() string {
	if r.Port == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
}

// some returns the first three items of a list and the number of the others, in the form that kubectl uses.
func some(list []string) string {
	const shown = 3
	if len(list) > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:shown], ","), len(list)-shown)
	}
	return strings.Join(list, ",")
}

// Holds returns the amounts that an order has reserved: 2 CPU, 4Gi memory, 1 nvidia/a100.
func (r *OrderRow) Holds() string { return r.Words(r.Models) }

// NodesText returns the first nodes of a reservation, in alphabetical order.
func (r *OrderRow) NodesText() string { return some(slices.Sorted(maps.Keys(r.Nodes))) }

// Amount formats an amount of the resource.
func (r *ResourceRow) Amount(n uint64) string {
	switch r.Resource {
	case "cpu":
		return inventory.CPUs(n)
	case "memory", "ephemeral-storage", "storage":
		return inventory.Bytes(n, false)
	}
	return strconv.FormatUint(n, 10)
}

// barSquares is the length of a bar.
const barSquares = 20

// bar draws the usage of a pool: a square for each address, or 20 squares for a larger pool. It always shows at least one used
// and one free square if there are any.
func (r *PoolRow) bar() string {
	all, used, end := r.Addresses, r.Used, ""
	if all > barSquares {
		used = int64(float64(r.Used) / float64(r.Addresses) * barSquares)
		if r.Used > 0 {
			used = max(used, 1)
		}
		if r.Free > 0 {
			used = min(used, barSquares-1)
		}
		all, end = barSquares, "…"
	}
	used = min(used, all)
	return strings.Repeat("■", int(used)) + strings.Repeat("□", int(all-used)) + end
}

// bar draws the parts of a resource that are in use (■), reserved (▣) and available (□). A part that is in use or
// reserved has at least one square, if the bar has room for it.
func (r *ResourceRow) bar() string {
	if r.Unlimited || r.Allocatable == 0 {
		return ""
	}
	used := squares(r.InUse, r.Allocatable)
	held := min(squares(r.Reserved, r.Allocatable), barSquares-used)
	return strings.Repeat("■", used) + strings.Repeat("▣", held) + strings.Repeat("□", barSquares-used-held)
}

// squares returns the number of squares for a part of all, rounded up.
func squares(part, all uint64) int {
	high, low := bits.Mul64(min(part, all), barSquares)
	n, rest := bits.Div64(high, low, all)
	if rest > 0 {
		n++
	}
	return int(n)
}
