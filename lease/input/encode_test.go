package input_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
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

func drawExpose(t *rapid.T) lease.Expose {
	port := rapid.Uint16Range(1, 65535)
	e := lease.Expose{
		Port: port.Draw(t, "port"), Protocol: rapid.SampledFrom([]lease.Protocol{lease.TCP, lease.UDP}).Draw(t, "protocol"),
		Global: rapid.Bool().Draw(t, "global"),
	}
	if rapid.Bool().Draw(t, "hasAs") {
		e.As = port.Draw(t, "as")
	}
	for _, h := range rapid.SliceOfN(rapid.StringMatching(`[a-z0-9]{1,8}(\.[a-z]{2,5}){0,2}`), 0, 2).Draw(t, "hosts") {
		e.Hosts = append(e.Hosts, lease.Host{Name: h})
	}
	if e.Global && rapid.Bool().Draw(t, "hasIP") {
		e.IP = rapid.SampledFrom([]string{"public", "my_ip"}).Draw(t, "ip")
	}
	ms := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(0, 60000).Draw(t, "ms")) * time.Millisecond
	})
	e.HTTP = lease.HTTPOptions{
		MaxBodySize: rapid.Uint32Range(0, lease.MaxBodySizeLimit).Draw(t, "body"), ReadTimeout: ms.Draw(t, "read"),
		SendTimeout: ms.Draw(t, "send"), NextTries: rapid.Uint32().Draw(t, "tries"), NextTimeout: ms.Draw(t, "next"),
		NextCases: rapid.SliceOf(rapid.SampledFrom([]string{"error", "timeout", "500", "404"})).Draw(t, "cases"),
	}
	return e
}

// TestEncodeAndReadIsTheSame holds for every definition that the common rules accept.
func TestEncodeAndReadIsTheSame(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		def := &lease.Definition{Name: "x", Lease: testLease}
		def.Lease.DSeq = rapid.Uint64Min(1).Draw(rt, "dseq")
		used := map[string]bool{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]([-a-z0-9]{0,8}[a-z0-9])?`), 0, 3, rapid.ID).Draw(rt, "services") {
			s := lease.Service{Name: name}
			for range rapid.IntRange(0, 3).Draw(rt, "exposes") {
				e := drawExpose(rt)
				used[e.IP] = true
				s.Expose = append(s.Expose, e)
			}
			def.Services = append(def.Services, s)
		}
		for i, name := range []string{"public", "my_ip"} {
			if used[name] {
				e := lease.IPEndpoint{Name: name}
				if rapid.Bool().Draw(rt, "address") {
					e.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)})}
				}
				def.IPEndpoints = append(def.IPEndpoints, e)
			}
		}
		if lease.Check(def).Failed() {
			return
		}
		accepted++
		def.Hash = lease.Sum(def)
		again := encodeAndRead(t, def)
		if diff := cmp.Diff(def, again, withoutPlaces); diff != "" {
			rt.Fatalf("written and read again it differs:\n%s", diff)
		}
	})
	if accepted == 0 {
		t.Error("no definition was accepted; nothing was tested")
	}
}
