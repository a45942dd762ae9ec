package documents

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// What one run says of claims that its input makes in this order, and in which order it tells problems: testdata/claims.txt.
//
//	hosts       OWNER HOST[/PATH], …
//	addresses   OWNER ENDPOINT, …, each of which wants one address
//	groups      OWNER/DSEQ/GSEQ, …
//	problems    an error or "-", the problems of reading as FILE:LINE, and those of rendering
func TestClaims(t *testing.T) {
	claims := func(claim func(r *renderer, owner, name string, at lease.Place)) func(string) string {
		return func(line string) string {
			cfg := config.Default()
			cfg.Hosts.Wildcards = true
			r := newRenderer(cfg)
			for i, text := range strings.Split(line, ", ") {
				owner, name, _ := strings.Cut(text, " ")
				claim(r, owner, name, lease.Place{File: "in", Line: i + 1, Column: 1})
			}
			var said []string
			for _, p := range r.problems {
				said = append(said, p.Message)
			}
			return strings.Join(said, "\n")
		}
	}
	golden.Rules{
		"hosts": claims(func(r *renderer, owner, name string, at lease.Place) {
			host, path, _ := strings.Cut(name, "/")
			r.claimHost(state.HostWant{Host: host, Path: "/" + path, At: at}, owner)
		}),
		"addresses": claims(func(r *renderer, owner, name string, at lease.Place) {
			r.claimAddress(netip.MustParseAddr("203.0.113.7"), state.EndpointWant{SharingKey: owner + "/" + name, At: at}, owner)
		}),
		"groups": claims(func(r *renderer, text, _ string, at lease.Place) {
			g := lease.Group{}
			if _, err := fmt.Sscanf(strings.ReplaceAll(text, "/", " "), "%s %d %d", &g.Owner, &g.DSeq, &g.GSeq); err != nil {
				t.Fatal(err)
			}
			r.claimGroup(g, at)
		}),
		"problems": func(line string) string {
			parts := strings.Split(line, "|")
			var failed, err error
			if text := strings.TrimSpace(parts[0]); text != "-" {
				failed = errors.New(text)
				err = failed
			} else if read := problemsAt(t, parts[1]); len(read) > 0 {
				err = read
			}
			got := joinProblems(err, problemsAt(t, parts[2]))
			if failed != nil && !errors.Is(got, failed) {
				t.Errorf("%s: the error is lost", line)
			}
			return places(got)
		},
	}.Check(t, "testdata/claims.txt")
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
		ledger.add(o, nil)
	}
	if len(ledger.claims) != 1 {
		t.Errorf("%d claims", len(ledger.claims))
	}
}
