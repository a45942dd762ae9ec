package sim

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// exposing is a definition of a lease with hosts.
func exposing(t *testing.T, id lease.ID, hosts ...string) string {
	t.Helper()
	return inFile(t, fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: x}
spec:
  lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s}
  services: [{name: web, expose: [{port: 80, global: true, hosts: ["%s"]}]}]
`, id.Owner, id.DSeq, id.Provider, strings.Join(hosts, `", "`)))
}

// What was deleted is reported, though the answers to the requests were lost.
func TestLostAnswersOfARelease(t *testing.T) {
	t.Parallel()
	o, id := fromOutside(t), allLeases()[0]
	o.must(t, 0, []string{"apply", "-f", exposing(t, id, "h0.example.org")})
	once := sync.Map{}
	o.each(func(request string) int {
		if _, again := once.LoadOrStore(request, true); !again && strings.HasPrefix(request, "DELETE ") && !strings.Contains(request, "run--") {
			return lost
		}
		return 0
	})
	out := o.must(t, 0, []string{"release", id.Group().String()}, "ingress/h0.example.org deleted", "providerhost/h0.example.org deleted", "host/h0.example.org released")
	if o.each(nil); strings.Contains(out, "holds nothing") {
		t.Errorf("what it has released held nothing:\n%s", out)
	}
}

// A note for people that cannot be written fails no apply.
func TestApplyWithoutANote(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusConflict, http.StatusForbidden} {
		o := fromOutside(t)
		first, second := allLeases()[0], allLeases()[0]
		second.DSeq = 77
		o.must(t, 0, []string{"apply", "-f", exposing(t, first, "h0.example.org")})
		o.each(func(request string) int {
			if request == "PATCH leases/h0.example.org" {
				return code
			}
			return 0
		})
		out := o.must(t, 0, []string{"apply", "-f", exposing(t, second, "h0.example.org", "h1.example.org")}, "host/h1.example.org claimed", "host/h0.example.org skipped (the note", "is live")
		if o.each(nil); strings.Contains(out, "timed out waiting for the condition") {
			t.Error(out)
		}
		o.must(t, 0, []string{"state", "--problems"}, "No problems")
	}
}

// Where a wildcard cannot be read, the error names it.
func TestWildcardThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o, id := fromOutside(t), allLeases()[0]
	o.each(func(request string) int {
		if request == "GET leases/wc--any.example.org" {
			return http.StatusInternalServerError
		}
		return 0
	})
	out := o.must(t, 1, []string{"apply", "-f", exposing(t, id, "h0.example.org")}, "*.example.org", "refused by the test")
	if o.each(nil); strings.Contains(out, "timed out waiting for the condition") || len(o.bareClaims()) > 0 {
		t.Errorf("%s%q", out, o.bareClaims())
	}
}

// A dry run does not wait for a command that holds what it wants: it looks once.
func TestDryRunDoesNotWait(t *testing.T) {
	t.Parallel()
	o, first, second := fromOutside(t), allLeases()[0], allLeases()[len(allLeases())-1]
	if first.Owner == second.Owner {
		t.Fatal("two owners are needed")
	}
	var once sync.Once
	var reads atomic.Int64
	o.each(func(request string) int {
		switch request {
		case "PATCH ingresses/h0.example.org":
			once.Do(func() {
				reads.Store(0)
				o.must(t, 4, []string{"apply", "-f", exposing(t, second, "h0.example.org"), "--dry-run=client"}, "h0.example.org")
				if n := reads.Load(); n > 1 {
					t.Errorf("a dry run has asked %d times", n)
				}
			})
		case "GET leases/h0.example.org":
			reads.Add(1)
		}
		return 0
	})
	o.must(t, 0, []string{"apply", "-f", exposing(t, first, "h0.example.org")})
}
