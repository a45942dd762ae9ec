package input_test

import (
	"net/netip"
	"slices"
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
	if rapid.Bool().Draw(t, "routed") {
		e.Global, e.Protocol, e.As = true, lease.TCP, 80
		e.Path = rapid.SampledFrom([]string{"", "/", "/v2", "/a/b.c"}).Draw(t, "path")
		e.Routing = drawRouting(t)
	}
	return e
}

// drawRouting mostly draws what is accepted.
func drawRouting(t *rapid.T) *lease.Routing {
	r := &lease.Routing{}
	word := func(label string, words ...string) string { return rapid.SampledFrom(words).Draw(t, label) }
	if rapid.Bool().Draw(t, "tls") {
		r.TLS = &lease.TLS{
			Termination: lease.Termination(word("termination", "", "edge", "reencrypt")), Insecure: lease.InsecurePolicy(word("insecure", "", "None", "Allow", "Redirect")),
			SecretName: word("secret", "", "shop-tls"),
		}
		if r.TLS.SecretName != "" && rapid.Bool().Draw(t, "issuer") {
			r.TLS.Issuer = &lease.Issuer{Name: "a", Kind: word("kind", "", "Issuer", "ClusterIssuer"), Group: word("group", "", "cert-manager.io")}
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "backends") {
		weight := rapid.Uint16Range(0, 256).Draw(t, "weight")
		r.Weight = &weight
		r.Backends = append(r.Backends, lease.Backend{Service: []string{"backend-b", "backend-a"}[i], Weight: rapid.Uint16Range(0, 256).Draw(t, "share")})
	}
	if rapid.Bool().Draw(t, "sticky") {
		r.Sticky = &lease.Sticky{Disabled: rapid.Bool().Draw(t, "disabled")}
		if !r.Sticky.Disabled {
			r.Sticky.Cookie, r.Sticky.SameSite = word("cookie", "", "a"), word("sameSite", "", "Lax", "Strict")
		}
	}
	header := rapid.Custom(func(t *rapid.T) lease.HeaderRule {
		h := lease.HeaderRule{Name: rapid.StringMatching(`X-[A-Z]{1,4}`).Draw(t, "name"), Delete: rapid.Bool().Draw(t, "delete")}
		if !h.Delete {
			h.Value = rapid.SampledFrom([]string{"a b", "%%", "true", "1", " x: ", "%[ssl_c_der]", "ü", "null"}).Draw(t, "value")
		}
		return h
	})
	rules := func(label string) []lease.HeaderRule {
		return rapid.SliceOfNDistinct(header, 0, 3, func(h lease.HeaderRule) string { return h.Name }).Draw(t, label)
	}
	r.RequestHeaders, r.ResponseHeaders = rules("request"), rules("response")
	if rapid.Bool().Draw(t, "annotations") {
		r.Annotations = []lease.RouteAnnotation{
			{Key: "haproxy.router.openshift.io/timeout", Value: word("timeout", "10", "30s")}, {Key: "haproxy.router.openshift.io/balance", Value: "source"},
		}
	}
	r.Labels = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}`), rapid.StringMatching(`[a-z0-9]{0,4}`), 0, 2).Draw(t, "labels")
	return r
}

// TestEncodeAndReadIsTheSame holds for every definition that the common rules accept.
func TestEncodeAndReadIsTheSame(t *testing.T) {
	accepted, routed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		def := &lease.Definition{Name: "x", Lease: testLease}
		def.Lease.DSeq = rapid.Uint64Min(1).Draw(rt, "dseq")
		used := map[string]bool{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]([-a-z0-9]{0,8}[a-z0-9])?`), 0, 3, rapid.ID).Draw(rt, "services") {
			s := lease.Service{Name: name, Target: rapid.SampledFrom([]string{"", "route"}).Draw(rt, "target")}
			for range rapid.IntRange(0, 3).Draw(rt, "exposes") {
				e := drawExpose(rt)
				used[e.IP] = true
				s.Expose = append(s.Expose, e)
			}
			def.Services = append(def.Services, s)
		}
		for _, name := range []string{"backend-a", "backend-b"} {
			def.Services = append(def.Services, lease.Service{Name: name, Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP}}})
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
		for _, s := range def.Services {
			if slices.ContainsFunc(s.Expose, func(e lease.Expose) bool { return e.Routing != nil }) {
				routed++
			}
		}
		def.Hash = lease.Sum(def)
		again := encodeAndRead(t, def)
		if diff := cmp.Diff(def, again, withoutPlaces); diff != "" {
			rt.Fatalf("written and read again it differs:\n%s", diff)
		}
	})
	if accepted == 0 || routed == 0 {
		t.Errorf("%d definitions were accepted, %d services with routing; nothing was tested", accepted, routed)
	}
}
