package documents

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Each claim is "OWNER HOST[/PATH]", in this order; the wanted problems are those of the whole run.
func TestClaimedHosts(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims []string
		want   []string
	}{
		{"different hosts", []string{"a x.example.com", "b y.example.com"}, nil},
		{"a host twice", []string{"a x.example.com", "a x.example.com"}, []string{"host x.example.com is claimed twice in one run (first near in:1:1)"}},
		{"different paths of a host", []string{"a x.example.com/v1", "a x.example.com/v2"}, nil},
		{"a path twice", []string{"a x.example.com/v1", "a x.example.com/v1"}, []string{"path x.example.com/v1 is claimed twice in one run (first near in:1:1)"}},
		{"a host and a path of it", []string{"a x.example.com", "a x.example.com/v1"}, nil},
		{"a path and then its host", []string{"a x.example.com/v1", "a x.example.com"}, nil},
		{"a path, and its host twice", []string{"a x.example.com/v1", "a x.example.com", "a x.example.com"}, []string{"host x.example.com is claimed twice in one run (first near in:2:1)"}},
		{"a host of another owner", []string{"a x.example.com", "b x.example.com"}, []string{"host x.example.com is wanted by two owners of this input, first near in:1:1"}},
		{"a path of another owner's host", []string{"a x.example.com", "b x.example.com/v1"}, []string{"host x.example.com is wanted by two owners of this input, first near in:1:1"}},
		{"a host below the owner's wildcard", []string{"a *.example.com", "a x.example.com"}, nil},
		{"a host below another owner's wildcard", []string{"a *.example.com", "b x.example.com"}, []string{"*.example.com, which covers x.example.com, is wanted by two owners of this input, first near in:1:1"}},
		{"a wildcard above another owner's host", []string{"a x.example.com", "b *.example.com"}, []string{"a host below *.example.com is wanted by two owners of this input, first near in:1:1"}},
		{"a wildcard above hosts of its owner and of another one", []string{"b x.example.com", "a y.example.com", "b *.example.com"}, []string{"a host below *.example.com is wanted by two owners of this input, first near in:2:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Hosts.Wildcards = true
			r := newRenderer(cfg)
			for i, claim := range c.claims {
				owner, text, _ := strings.Cut(claim, " ")
				host, path, _ := strings.Cut(text, "/")
				r.claimHost(state.HostWant{Host: host, Path: "/" + path, At: lease.Place{File: "in", Line: i + 1, Column: 1}}, owner)
			}
			if diff := cmp.Diff(c.want, messages(r.problems)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClaimedAddresses(t *testing.T) {
	address := netip.MustParseAddr("203.0.113.7")
	for _, c := range []struct {
		name, owner, key string
		want             []string
	}{
		{"the same endpoint", "a", "a/public", nil},
		{"another endpoint of the owner", "a", "a/mail", []string{"address 203.0.113.7 is claimed twice in one run (first near in:1:1)"}},
		{"another owner", "b", "b/public", []string{"address 203.0.113.7 is wanted by two owners of this input, first near in:1:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRenderer(config.Default())
			at := lease.Place{File: "in", Line: 1, Column: 1}
			r.claimAddress(address, state.EndpointWant{SharingKey: "a/public", At: at}, "a")
			r.claimAddress(address, state.EndpointWant{SharingKey: c.key, At: lease.Place{File: "in", Line: 2}}, c.owner)
			if diff := cmp.Diff(c.want, messages(r.problems)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClaimedGroups(t *testing.T) {
	r := newRenderer(config.Default())
	group := lease.Group{Owner: "a", DSeq: 1, GSeq: 2}
	for i, g := range []lease.Group{group, {Owner: "b", DSeq: 1, GSeq: 2}, {Owner: "a", DSeq: 2, GSeq: 1}, group} {
		r.claimGroup(g, lease.Place{File: "in", Line: i + 1})
	}
	want := []string{"lease a/1/2 is claimed twice in one run (first near in:1:1)"}
	if diff := cmp.Diff(want, messages(r.problems)); diff != "" {
		t.Error(diff)
	}
}

func messages(problems lease.Problems) (out []string) {
	for _, p := range problems {
		out = append(out, p.Message)
	}
	return out
}

// Problems are written as FILE:LINE.
func TestJoinProblems(t *testing.T) {
	failed := errors.New("broken")
	for _, c := range []struct {
		name           string
		err            error
		read, rendered string
		want           string
	}{
		{"no problems", nil, "", "", ""},
		{"problems of reading keep their order", nil, "b:2 b:1", "", "b:2 b:1"},
		{"problems of rendering are sorted by line", nil, "", "b:2 b:1", "b:1 b:2"},
		{"files keep the order of reading", nil, "b:3 a:1", "a:2 b:1", "b:1 b:3 a:1 a:2"},
		{"another error without problems", failed, "", "", "broken"},
		{"another error counts the problems", failed, "", "a:1 a:2", "broken (and 2 errors in the input)"},
		{"another error counts one problem", failed, "", "a:1", "broken (and 1 error in the input)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.err
			if c.read != "" {
				err = problemsAt(t, c.read)
			}
			got := joinProblems(err, problemsAt(t, c.rendered))
			if text := places(got); text != c.want || c.err != nil && !errors.Is(got, c.err) {
				t.Errorf("got %q, want %q", text, c.want)
			}
		})
	}
}

func problemsAt(t *testing.T, text string) (out lease.Problems) {
	t.Helper()
	for _, place := range strings.Fields(text) {
		file, number, _ := strings.Cut(place, ":")
		line, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, lease.Problem{At: lease.Place{File: file, Line: line}})
	}
	return out
}

func places(err error) string {
	problems, ok := errors.AsType[lease.Problems](err)
	if !ok {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	var out []string
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%s:%d", p.At.File, p.At.Line))
	}
	return strings.Join(out, " ")
}

func TestFirstSeenKeepsFirstEntries(t *testing.T) {
	r := newFirstSeen()
	name := func(i int) []byte {
		if i%1000 == 0 { // longer than a chunk
			return fmt.Appendf(nil, "%s%d", strings.Repeat("a", 1<<chunkBits), i)
		}
		return fmt.Appendf(nil, "host shop-%d.example.com", i)
	}
	const n = 20000
	numbers := map[uint32]bool{}
	for i := range n {
		number, _, known := r.add(name(i), entry{file: 3, line: uint32(i), holder: 1 << 20, whole: i%2 == 0})
		if known || number == 0 || numbers[number] {
			t.Fatalf("name %d is new; add says known %v, number %d", i, known, number)
		}
		numbers[number] = true
	}
	for i := range n {
		number, first, known := r.add(name(i), entry{line: 1})
		want := entry{file: 3, line: uint32(i), holder: 1 << 20, whole: i%2 == 0}
		if !known || first != want || !numbers[number] {
			t.Fatalf("name %d was added as %+v; add says known %v, first %+v, number %d", i, want, known, first, number)
		}
	}
}

// A claim is one in the ledger's namespace: tenants may write Leases in their own.
func TestClaimsAreInTheLedger(t *testing.T) {
	ledger := addressLedger{namespace: "akash-net"}
	for _, namespace := range []string{"akash-net", "default", ""} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}}
		o.SetName("ip--203-0-113-7")
		o.SetNamespace(namespace)
		o.SetLabels(map[string]string{state.LabelKind: string(state.Address), state.LabelOwner: statetest.Shop.Owner})
		ledger.add(o)
	}
	if len(ledger.claims) != 1 {
		t.Errorf("%d claims", len(ledger.claims))
	}
}
