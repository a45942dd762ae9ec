package view

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// PoolRow is one configured range of addresses, or an administrator's IPAddressPool. Counts are limited to the largest
// int64; a /64 has more addresses.
type PoolRow struct {
	// Name is the name of an IPAddressPool that the cluster has, or will have. For a range in dedicated mode it only names the range.
	Name   string   `json:"name"`
	Ranges []string `json:"ranges"`
	// Mode is range or dedicated for a configured range, pool for an IPAddressPool.
	Mode string `json:"mode"`
	// Addresses counts the addresses that can be leased, without the excluded ones. Used counts those that are claimed,
	// granted or a node's.
	Addresses int64 `json:"addresses"`
	Used      int64 `json:"used"`
	Free      int64 `json:"free"`
	// Pieces are the ranges without the excluded addresses, Nodes the addresses of nodes in them.
	Pieces []config.Range `json:"-"`
	Nodes  []netip.Addr   `json:"-"`
}

func (r PoolRow) key() string { return r.Name }

// Contains reports whether an address is one of the pool.
func (r PoolRow) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(r.Pieces, func(piece config.Range) bool { return piece.Contains(a) })
}

// CountText returns a number of addresses. One that is more than IPv4 has is a power of two, as prefixes count: after "≈" if it differs from
// the power by less than a thousandth, else the next lower one after "≥". A PoolRow counts only to the maximum of int64.
func CountText(n int64) string {
	if n < 1<<32 {
		return strconv.FormatInt(n, 10)
	}
	power := math.Log2(float64(n))
	switch nearest := math.Round(power); {
	case n == math.MaxInt64:
		return "≥2^63"
	case n&(n-1) == 0:
		return fmt.Sprintf("2^%.0f", nearest)
	case math.Abs(float64(n)/math.Exp2(nearest)-1) < 0.001:
		return fmt.Sprintf("≈2^%.0f", nearest)
	}
	return fmt.Sprintf("≥2^%.0f", math.Floor(power))
}

// pools returns the configured ranges in their order, then the other IPAddressPools by name.
func (f *bookBuilder) pools(in Contents) []PoolRow {
	used, objects := UsedAddresses(in.Claims, in.Services), in.Pools
	var nodes []netip.Addr // MetalLB counts only those among used
	for _, u := range state.InRanges(f.cfg, in.NodeUses) {
		if !slices.Contains(used, u.Address) {
			nodes = append(nodes, u.Address)
		}
	}
	rows := []PoolRow{}
	if f.cfg.IP.Mode != config.ModePool {
		for _, r := range f.cfg.IP.Ranges.Include {
			row := PoolRow{Name: f.poolName(r, objects), Ranges: []string{r.Text}, Mode: f.cfg.IP.Mode}
			var assigned int64
			for _, o := range objects {
				if o.Name == row.Name || o.Within(r) {
					assigned = state.Saturated(assigned, o.Assigned)
				}
			}
			row.count(f.cfg.IP.Ranges.Pieces(r), used, nodes, assigned)
			rows = append(rows, row)
		}
	}
	configured := len(rows)
	for _, o := range objects {
		if configured > 0 && f.serves(o) {
			continue
		}
		row := PoolRow{Name: o.Name, Ranges: append([]string{}, o.Texts...), Mode: config.ModePool}
		row.count(o.Ranges, used, nil, o.Assigned)
		if o.Counted {
			row.Addresses = state.Saturated(o.Assigned, o.Available)
			if row.Free = o.Available; row.Free < math.MaxInt64 {
				row.Free = max(0, row.Free-(row.Used-o.Assigned)) // Services may be newer than MetalLB's count
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows[configured:], func(a, b PoolRow) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// poolName returns the name of the pool that the cluster has for a configured range. A range that was widened has its former pool until an
// address needs another one; a range without a pool is called as the pool that it will have.
func (f *bookBuilder) poolName(r config.Range, pools []state.PoolObject) string {
	configured := func(o state.PoolObject) bool {
		return slices.ContainsFunc(f.cfg.IP.Ranges.Include, func(r config.Range) bool { return r.PoolName() == o.Name })
	}
	var former *state.PoolObject
	for i, o := range pools {
		switch {
		case o.Name == r.PoolName() || f.cfg.IP.Mode == config.ModeDedicated: // there it only names the range
			return r.PoolName()
		case !o.Ours || !o.Within(r) || configured(o) || o.Name == config.AddressPoolName(o.Ranges[0].First):
		case former == nil || o.Ranges[0].First.Less(former.Ranges[0].First):
			former = &pools[i]
		}
	}
	if former == nil {
		return r.PoolName()
	}
	return former.Name
}

// Addresses counts the addresses that leases can get, from the configured ranges or the configured pool. An IP endpoint
// needs one address of each configured family, so the family with the fewest free addresses counts. A claimed endpoint
// without an address yet counts as one address in use. The result is nil if leases get no addresses.
func Addresses(cfg *config.ProviderConfig, in Contents) *inventory.Addresses {
	families := cfg.IP.Families
	if cfg.IP.Mode == config.ModePool { // MetalLB grants one address, of the cluster's own family
		families = poolFamilies(in.Pools, cfg.IP.Pool)
	}
	var fewest *inventory.Addresses
	for _, family := range families {
		a := addressesOf(*cfg, in, family)
		if a == nil {
			return nil
		}
		if fewest == nil || a.Free(0) < fewest.Free(0) {
			fewest = a
		}
	}
	return fewest
}

// poolFamilies returns the family that a pool grants to Services that name none: IPv4, or IPv6 if the pool has only
// that.
func poolFamilies(pools []state.PoolObject, name string) []config.Family {
	for _, p := range pools {
		if p.Name == name && len(p.Of(config.IPv4).Ranges) == 0 {
			return []config.Family{config.IPv6}
		}
	}
	return []config.Family{config.IPv4}
}

// addressesOf counts the addresses of one family.
func addressesOf(cfg config.ProviderConfig, in Contents, family config.Family) (sum *inventory.Addresses) {
	otherFamily := func(r config.Range) bool { return config.FamilyOf(r.First) != family }
	cfg.IP.Ranges.Include = slices.DeleteFunc(slices.Clone(cfg.IP.Ranges.Include), otherFamily)
	of := in
	of.Pools = make([]state.PoolObject, len(in.Pools))
	for i, p := range in.Pools {
		of.Pools[i] = p.Of(family)
	}
	f := bookBuilder{cfg: &cfg}
	for _, r := range f.pools(of) {
		if r.Mode == config.ModePool && (cfg.IP.Mode != config.ModePool || r.Name != cfg.IP.Pool) {
			continue
		}
		if sum == nil {
			sum = &inventory.Addresses{}
		}
		sum.Total = inventory.Sum(sum.Total, uint64(max(r.Addresses, 0)))
		sum.InUse = inventory.Sum(sum.InUse, uint64(max(r.Used, 0)))
	}
	if sum != nil && cfg.IP.Mode == config.ModePool {
		sum.InUse = inventory.Sum(sum.InUse, ungranted(in.Claims, in.Services))
	}
	return sum
}

// ungranted counts the claimed IP endpoints without an address.
func ungranted(claims []*state.Claim, services []state.ServiceObject) (n uint64) {
	granted := map[string]bool{}
	for _, s := range services {
		if len(s.Granted) > 0 {
			granted[s.SharingKey] = true
		}
	}
	for _, c := range claims {
		if c.Kind == state.Endpoint && c.Held() && !granted[c.SharingKey] {
			n++
		}
	}
	return n
}

// serves reports whether a pool lies within the configured ranges.
func (f *bookBuilder) serves(o state.PoolObject) bool {
	for _, r := range o.Ranges {
		first, inFirst := f.cfg.IP.Ranges.Find(r.First)
		if !inFirst || !first.Contains(r.Last) {
			return false
		}
	}
	return len(o.Ranges) > 0
}

// UsedAddresses returns the addresses that are claimed or granted, each once, sorted.
func UsedAddresses(claims []*state.Claim, services []state.ServiceObject) []netip.Addr {
	var used []netip.Addr
	for _, c := range claims {
		if c.Kind == state.Address {
			used = append(used, c.Addr())
		}
	}
	for _, s := range services {
		used = append(used, s.Granted...)
	}
	slices.SortFunc(used, netip.Addr.Compare)
	return slices.Compact(used)
}

// count counts the addresses of ranges that do not overlap. MetalLB's count may be higher than used, because Services
// without a lease may use addresses too. It lacks the addresses of nodes.
func (r *PoolRow) count(ranges []config.Range, used, nodes []netip.Addr, assigned int64) {
	within := func(addresses []netip.Addr) (in []netip.Addr) {
		for _, a := range addresses {
			if slices.ContainsFunc(ranges, func(piece config.Range) bool { return piece.Contains(a) }) {
				in = append(in, a)
			}
		}
		return in
	}
	total := new(big.Int)
	for _, piece := range ranges {
		total.Add(total, size(piece))
	}
	r.Pieces, r.Nodes = ranges, within(nodes)
	r.Used = max(int64(len(within(used))), assigned) + int64(len(r.Nodes))
	r.Addresses = toInt64(total)
	r.Free = max(0, toInt64(total.Sub(total, big.NewInt(r.Used))))
}

func size(r config.Range) *big.Int {
	first, last := new(big.Int).SetBytes(r.First.AsSlice()), new(big.Int).SetBytes(r.Last.AsSlice())
	return last.Sub(last, first).Add(last, big.NewInt(1))
}

func toInt64(n *big.Int) int64 {
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

// SubjectResources is the capacity of the cluster. It is shown on request: clusters have many nodes and pods.
const SubjectResources Subject = "resources"

// The scopes of a row of resources.
const (
	OfCluster = "cluster"
	OfNode    = "node"
	OfClass   = "class"
)

// ResourceRow is how much there is of one resource in the cluster, on a node, or of a storage class. Amounts are in
// base units: thousandths of a CPU, bytes, whole GPUs, addresses, node ports.
type ResourceRow struct {
	// Of is cluster, node or class. Name is the name of the node or the class.
	Of   string `json:"of"`
	Name string `json:"name,omitempty"`
	// Resource is cpu, memory, ephemeral-storage, gpu, storage, addresses or node-ports.
	Resource string `json:"resource"`
	// Allocatable is what exists. Committed is how much may be leased in total: Allocatable times the commit level.
	Allocatable uint64 `json:"allocatable"`
	Committed   uint64 `json:"committed"`
	// InUse is what pods and volumes request, Reserved what reservations hold beyond that, and Available the rest.
	Reserved  uint64 `json:"reserved"`
	InUse     uint64 `json:"inUse"`
	Available uint64 `json:"available"`
	// Unlimited is true if the amount is unknown. The amounts are 2^64-1 then.
	Unlimited bool `json:"unlimited,omitempty"`
	// Message says why a node accepts no leases. Nothing of it is available, and it does not count for the cluster.
	Message string `json:"message,omitempty"`
}

// addCapacity adds an object that capacity depends on.
func (c *Contents) addCapacity(o *unstructured.Unstructured) {
	switch o.GroupVersionKind().Group + "/" + o.GetKind() {
	case "/Namespace":
		if id, ok := lease.IDFromLabels(o.GetLabels()); ok {
			c.Capacity.Namespace(o.GetName(), id.Order().String())
		}
	case "/Node":
		addTyped(o, c.Capacity.Node)
	case "/Pod":
		addTyped(o, c.Capacity.Pod)
	case "/Service":
		addTyped(o, func(s *corev1.Service) {
			c.Capacity.Service(s)
			c.Backends.AddService(s)
		})
	case "/PersistentVolume":
		addTyped(o, c.Capacity.Volume)
	case "storage.k8s.io/StorageClass":
		addTyped(o, c.Capacity.StorageClass)
	case "storage.k8s.io/CSIStorageCapacity":
		addTyped(o, c.Capacity.CSICapacity)
	}
}

// addTyped adds an object from a file. It ignores an object that cannot be converted.
func addTyped[T any](o *unstructured.Unstructured, add func(*T)) {
	var typed T
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed) == nil {
		add(&typed)
	}
}

// resources returns the rows of the cluster, its storage classes, then its nodes.
func (f *bookBuilder) resources(c observed.Capacity, addresses *inventory.Addresses) []ResourceRow {
	var total observed.Node
	rows := []ResourceRow{}
	for _, n := range c.Nodes {
		if n.Closed == "" {
			total.Allocatable = total.Allocatable.Plus(n.Allocatable)
			total.InUse, total.Reserved = total.InUse.Plus(n.InUse), total.Reserved.Plus(n.Reserved)
		}
		rows = append(rows, f.node(OfNode, n)...)
	}
	first := f.node(OfCluster, total)
	for i := range first { // free room on one node does not offset overcommitment on another
		first[i].Available = 0
		for _, r := range rows {
			if r.Resource == first[i].Resource {
				first[i].Available = inventory.Sum(first[i].Available, r.Available)
			}
		}
	}
	if a := addresses; a != nil {
		row := ResourceRow{Of: OfCluster, Resource: "addresses", Allocatable: a.Total, InUse: a.InUse, Reserved: c.Reserved}
		first = append(first, row.withTotals(1))
	}
	if p := c.NodePorts; p != nil {
		row := ResourceRow{Of: OfCluster, Resource: "node-ports", Allocatable: p.Total, InUse: p.InUse, Reserved: p.Reserved}
		first = append(first, row.withTotals(1))
	}
	for _, s := range c.Storage {
		row := ResourceRow{
			Of: OfClass, Name: s.Class, Resource: "storage",
			Allocatable: s.Allocatable, InUse: s.InUse, Reserved: s.Reserved, Unlimited: s.Unlimited,
		}
		first = append(first, row.withTotals(f.cfg.CommitLevels.Storage))
	}
	return append(first, rows...)
}

// node returns the rows of a node, or of the cluster. It leaves out GPUs on a node without any.
func (f *bookBuilder) node(of string, n observed.Node) []ResourceRow {
	levels := f.cfg.CommitLevels
	row := func(resource string, level float64, amount func(inventory.Amounts) uint64) ResourceRow {
		r := ResourceRow{
			Of: of, Name: n.Name, Resource: resource,
			Allocatable: amount(n.Allocatable), InUse: amount(n.InUse), Reserved: amount(n.Reserved),
		}
		if n.Closed != "" {
			r.Message = "takes no leases: " + n.Closed
		}
		return r.withTotals(level)
	}
	rows := []ResourceRow{
		row("cpu", levels.CPU, func(a inventory.Amounts) uint64 { return a.CPU }),
		row("memory", levels.Memory, func(a inventory.Amounts) uint64 { return a.Memory }),
		row("ephemeral-storage", levels.Storage, func(a inventory.Amounts) uint64 { return a.EphemeralStorage }),
	}
	gpu := row("gpu", levels.GPU, func(a inventory.Amounts) uint64 { return a.GPU })
	if gpu.Allocatable > 0 || gpu.InUse > 0 || of == OfCluster {
		rows = append(rows, gpu)
	}
	return rows
}

// withTotals computes Committed and Available.
func (r ResourceRow) withTotals(level float64) ResourceRow {
	if r.Unlimited {
		r.Allocatable, r.Committed, r.Available = math.MaxUint64, math.MaxUint64, math.MaxUint64
		return r
	}
	r.Committed = r.Allocatable
	if x := float64(r.Allocatable) * level; level > 1 && x < math.MaxUint64 {
		r.Committed = uint64(x)
	} else if level > 1 {
		r.Committed = math.MaxUint64
	}
	if given := inventory.Sum(r.InUse, r.Reserved); given < r.Allocatable && r.Message == "" {
		r.Available = r.Allocatable - given
	}
	return r
}
