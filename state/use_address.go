package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// ServiceUses returns all addresses that a Service uses: those of AddressUses and its external IPs, which nodes route
// to it without MetalLB.
func ServiceUses(o *unstructured.Unstructured) []Use {
	uses := AddressUses(o)
	external, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "externalIPs")
	for _, text := range external {
		use := newUse("service", o)
		if a, ok := parseAddress(text); ok {
			use.Address, use.External = a, true
			uses = append(uses, use)
		}
	}
	return uses
}

// AddressUses returns the addresses that a Service asks MetalLB for or was granted.
func AddressUses(o *unstructured.Unstructured) []Use {
	use := newUse("service", o)
	annotations := o.GetAnnotations()
	var asked []string
	for _, prefix := range []string{"metallb.universe.tf", "metallb.io"} {
		if key := annotations[prefix+"/allow-shared-ip"]; key != "" {
			use.SharingKey = key
		}
		asked = append(asked, strings.Split(annotations[prefix+"/loadBalancerIPs"], ",")...)
	}
	legacy, _, _ := unstructured.NestedString(o.Object, "spec", "loadBalancerIP")
	var uses []Use
	add := func(text string, granted bool) {
		if a, ok := parseAddress(text); ok {
			use.Address, use.Granted = a, granted
			uses = append(uses, use)
		}
	}
	for _, text := range append(asked, legacy) {
		add(text, false)
	}
	ingress, _, _ := unstructured.NestedSlice(o.Object, "status", "loadBalancer", "ingress")
	for _, i := range ingress {
		if ip, ok := Field(i, "ip").(string); ok {
			add(ip, true)
		}
	}
	return uses
}

// NodeUses returns the addresses that a node has itself. MetalLB would announce them for whoever gets them, and take the node's
// own traffic.
func NodeUses(o *unstructured.Unstructured) []Use {
	var uses []Use
	addresses, _, _ := unstructured.NestedSlice(o.Object, "status", "addresses")
	for _, entry := range addresses {
		text, _ := Field(entry, "address").(string)
		kind, _ := Field(entry, "type").(string)
		if a, ok := parseAddress(text); ok && (kind == "InternalIP" || kind == "ExternalIP") {
			use := Use{Kind: "node", Name: o.GetName(), UID: o.GetUID(), Since: o.GetCreationTimestamp().Time, Address: a}
			uses = append(uses, use)
		}
	}
	return uses
}

// NodeAddressMeans says what comes of the address of a node in a pool.
const NodeAddressMeans = "whoever is granted it takes the node's own traffic"

// ExcludeAddress says how to take an address out of the ranges of a configuration.
func ExcludeAddress(a netip.Addr) string { return fmt.Sprintf(`add "!%s" to ip.ranges`, a) }

// InRanges returns the uses of addresses that a configuration leases, each address once.
func InRanges(cfg *config.ProviderConfig, uses []Use) []Use {
	var out []Use
	for _, u := range uses {
		same := func(v Use) bool { return v.Address == u.Address }
		if _, leased := cfg.IP.Ranges.Find(u.Address); leased && cfg.IP.Mode != config.ModePool && !slices.ContainsFunc(out, same) {
			out = append(out, u)
		}
	}
	return out
}

// parseAddress parses an address as Kubernetes and MetalLB do: an IPv4-mapped IPv6 address is the IPv4 address.
func parseAddress(text string) (a netip.Addr, ok bool) {
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	return a.Unmap(), err == nil
}

// Squatters returns the Services among the uses of an address that belong to none of its holders, each once. If nobody
// holds the address, it returns all of them.
func (c *Claim) Squatters(uses []Use) []Use {
	var out []Use
	for _, u := range uses {
		if u.HasLease && c.belongsToHolder(u) {
			continue
		}
		i := slices.IndexFunc(out, func(v Use) bool { return v.Namespace == u.Namespace && v.Name == u.Name })
		switch {
		case i < 0:
			out = append(out, u)
		case u.Granted || u.External: // prefer the use that has the address already
			out[i] = u
		}
	}
	slices.SortFunc(out, func(a, b Use) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// belongsToHolder reports whether a use is by a deployment group that holds a part of the claim, or whose Services
// still serve one after a transfer. Labels alone prove nothing: the Service must be in the lease's namespace.
func (c *Claim) belongsToHolder(u Use) bool {
	g := u.Lease.Group()
	return c != nil && u.Namespace == u.Lease.Namespace() && (slices.Contains(c.Groups(), g) || len(c.FormerOf(g)) > 0)
}

// Takes describes how a Service uses an address: it asks for it, was granted it, or has it in spec.externalIPs.
func (u Use) Takes(what string) string {
	switch {
	case u.External:
		return fmt.Sprintf("%s has %s in spec.externalIPs", u, what)
	case u.Granted:
		return fmt.Sprintf("%s was granted %s", u, what)
	}
	return fmt.Sprintf("%s asks for %s", u, what)
}

// Edit returns the command that opens the object in an editor.
func (u Use) Edit() string {
	return fmt.Sprintf("kubectl -n %s edit %s %s", u.Namespace, u.Kind, u.Name)
}
