package input_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/routegen"
)

var testLease = lease.ID{
	Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
	Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

// withoutPlaces compares what definitions say.
var withoutPlaces = cmp.Options{
	cmpopts.IgnoreTypes(lease.Place{}, &lease.HTTPPlaces{}),
	cmpopts.EquateEmpty(),
	cmpopts.EquateComparable(netip.Addr{}),
}

// Written and read again a definition is the same, whatever it says of its routes and addresses.
func TestEncodeAndReadIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		def := routegen.Definition(rt)
		for i := range rapid.IntRange(0, 2).Draw(rt, "endpoints") {
			e := lease.IPEndpoint{Name: fmt.Sprintf("my_ip%d", i)}
			if rapid.Bool().Draw(rt, "address") {
				e.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)})}
			}
			def.IPEndpoints = append(def.IPEndpoints, e)
			def.Services[0].Expose = append(def.Services[0].Expose, lease.Expose{
				Port: rapid.Uint16Range(1, 65535).Draw(rt, "port"), As: uint16(1000 + i), Global: true, IP: e.Name,
				Protocol: rapid.SampledFrom([]lease.Protocol{lease.TCP, lease.UDP}).Draw(rt, "protocol"),
			})
		}
		def.Name, def.Lease.DSeq = "x", rapid.Uint64Min(1).Draw(rt, "dseq")
		if problems := lease.Check(def); problems.Failed() {
			rt.Fatal(problems)
		}
		def.Hash = lease.Sum(def)
		if diff := cmp.Diff(def, encodeAndRead(t, def), withoutPlaces); diff != "" {
			rt.Fatalf("written and read again it differs:\n%s", diff)
		}
	})
}
