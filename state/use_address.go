package state

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// parseAddress parses an address as Kubernetes and MetalLB do: an IPv4-mapped IPv6 address is the IPv4 address.
func parseAddress(text string) (a netip.Addr, ok bool) {
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	return a.Unmap(), err == nil
}
