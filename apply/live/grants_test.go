package live

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The message of a timeout names each Service, its addresses, and who uses these.
func TestMissingGrants(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	const end = " (see: kubectl -n ns describe service "
	for name, c := range map[string]struct {
		waiting   map[string][]netip.Addr
		squatters map[netip.Addr][]string
		want      []string
	}{
		"no Service waits": {nil, nil, nil},
		"in pool mode a Service waits for any address": {
			map[string][]netip.Addr{"a": nil}, nil, []string{"service ns/a to be granted an address by MetalLB" + end + "a)"}},
		"a Service waits for two addresses": {
			map[string][]netip.Addr{"a": {one, two}}, nil,
			[]string{"service ns/a to be granted 192.0.2.1, 2001:db8::1 by MetalLB" + end + "a)"}},
		"others use the addresses": {
			map[string][]netip.Addr{"a": {one, two}}, map[netip.Addr][]string{one: {"x has it"}, two: {"y has it"}},
			[]string{"service ns/a to be granted 192.0.2.1, 2001:db8::1 by MetalLB: x has it, y has it" + end + "a)"}},
		"Services are sorted": {
			map[string][]netip.Addr{"b": {one}, "a": {one}}, nil,
			[]string{"service ns/a to be granted 192.0.2.1 by MetalLB" + end + "a)", "service ns/b to be granted 192.0.2.1 by MetalLB" + end + "b)"}},
	} {
		if diff := cmp.Diff(c.want, missingGrants("ns", c.waiting, c.squatters)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
