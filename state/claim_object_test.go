package state_test

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Parts that the guard would refuse are not read either: two readers could interpret them differently.
func TestPartsAreReadStrictly(t *testing.T) {
	id := lease.ID{Owner: "akash1abc", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1xyz"}
	for value, want := range map[string]string{
		`{"lease":"` + id.String() + `","run":"a"}`:                           "",
		`{"lease":"` + id.String() + `"} `:                                    "",
		`{"lease":"` + id.String() + `","run":"a","run":"b"}`:                 `duplicate field "run"`,
		`{"lease":"akash1abc/2/1/1/akash1xyz","lease":"` + id.String() + `"}`: `duplicate field "lease"`,
		`{"Lease":"` + id.String() + `"}`:                                     "annotation",
		`{"lease":"` + id.String() + `"}x`:                                    "is not JSON",
		`{"lease":"` + id.String() + `"}{}`:                                   "is not JSON",
		`{"lease":"` + id.String() + `","port":65536}`:                        "is not JSON",
	} {
		claim, _ := state.ReadClaim(&metav1.ObjectMeta{
			Name: "a.example", Labels: map[string]string{state.LabelKind: string(state.Host), state.LabelOwner: id.Owner},
			Annotations: map[string]string{state.AnnotationLedger: "v1", state.RouteKey("/"): value},
		})
		if (claim.Unreadable == "") != (want == "") || !strings.Contains(claim.Unreadable, want) {
			t.Errorf("%s: %q, want %q", value, claim.Unreadable, want)
		}
	}
}

// A part of the wrong kind, or whose path does not match its key, makes the claim unreadable: no holder is computed
// from it. Only a manual write can create one.
func TestPartsFitTheirClaim(t *testing.T) {
	id := lease.ID{Owner: "akash1abc", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1xyz"}
	key, port, wait := lease.SharingKey(id.Owner, "public"), state.PortKey(lease.TCP, 443), "wait.net.akash.network/x"
	address := state.AddressName(netip.MustParseAddr("203.0.113.7"))
	const noPart, otherPath = "is no part of a claim of kind ", "has a path that is not the one of its name"
	for _, c := range []struct{ name, key, more, want string }{
		{"a.example", state.RouteKey("/"), "", ""},
		{"a.example", state.RouteKey("/"), `,"path":"/"`, ""},
		{"a.example", state.RouteKey("/v1"), `,"path":"/v1"`, ""},
		{"wc--any.example", state.RouteKey("/v1"), `,"path":"/v1"`, ""},
		{"a.example", state.RouteKey("/v1"), `,"path":"/v2"`, otherPath},
		{"a.example", state.RouteKey("/v1"), `,"path":"/"`, otherPath},
		{"wc--any.example", state.RouteKey("/"), `,"path":"/v1"`, otherPath},
		{"a.example", port, "", noPart + "host"},
		{"a.example", state.WholeAddress, "", noPart + "host"},
		{"wc--any.example", port, "", noPart + "wildcard"},
		{address, port, "", ""},
		{address, state.WholeAddress, "", ""},
		{address, state.RouteKey("/"), `,"path":"/"`, noPart + "address"},
		{address, state.PortPrefix + "udp-65535", "", ""},
		{address, state.PortPrefix + "tcp-65536", "", "names no port"},
		{address, state.PortPrefix + "tcp-0", "", "names no port"},
		{address, state.PortPrefix + "tcp-0443", "", "names no port"},
		{address, state.PortPrefix + "sctp-7", "", "names no port"},
		{address, state.PortPrefix + "tcp-x", "", "names no port"},
		{state.EndpointName(key), port, "", ""},
		{state.EndpointName(key), state.RouteKey("/"), "", noPart + "endpoint"},
		{"a.example", wait, `,"for":"` + state.RouteKey("/v1") + `","path":"/v1"`, ""},
		{address, wait, `,"for":"` + port + `"`, ""},
	} {
		claim, _ := state.ReadClaim(&metav1.ObjectMeta{Name: c.name, Labels: map[string]string{state.LabelOwner: id.Owner}, Annotations: map[string]string{
			state.AnnotationLedger: "v1", state.AnnotationSharingKey: key, c.key: `{"lease":"` + id.String() + `"` + c.more + `}`,
		}})
		if (claim.Unreadable == "") != (c.want == "") || !strings.HasSuffix(claim.Unreadable, c.want) {
			t.Errorf("%s, %s%s: %q, want %q", c.name, c.key, c.more, claim.Unreadable, c.want)
		}
		if c.key != wait && claim.Held() != (c.want == "") {
			t.Errorf("%s, %s%s: it is held: %t", c.name, c.key, c.more, claim.Held())
		}
	}
}
