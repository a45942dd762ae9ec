package sim

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// rounds runs a command on leases, and returns how many of its requests wait for one another. Each request takes a unit of the bubble's time:
// what is sent at once is answered at once. sent are the requests, each after the round in which it was sent.
func rounds(t *testing.T, server *Server, do func(a *apply.Applier) error) (n int, sent []string) {
	t.Helper()
	const unit = time.Microsecond // shorter than any wait, so that these show
	began := time.Now()
	var mu sync.Mutex
	through := connected(t, func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		sent = append(sent, fmt.Sprintf("%2d %s %s", time.Since(began)/unit, r.Method, r.URL.Path))
		mu.Unlock()
		time.Sleep(unit)
		if strings.HasSuffix(r.URL.Path, "/deployments") {
			return server.reply(r, http.StatusOK, []byte(`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[]}`)), nil
		}
		return server.RoundTrip(r)
	})
	if err := do(apply.New(through, command.Options{
		Config: settings(), Prune: true, Concurrency: 16, AssumeServing: true, Operators: observed.OperatorsAuto,
	})); err != nil {
		t.Fatal(err)
	}
	return int(time.Since(began) / unit), sent
}

// What does not depend on one another goes side by side: a row fails if more requests wait for one another, or if there are more.
func TestRounds(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]map[string][2]int{
		1:  {"apply": {10, 24}, "apply again": {2, 16}, "repair": {13, 67}, "reserve": {7, 15}, "release": {16, 45}},
		20: {"apply": {15, 119}, "apply again": {2, 16}, "repair": {15, 105}, "reserve": {8, 34}, "release": {23, 197}},
	} {
		var defs []*lease.Definition
		var groups []lease.Group
		var requests []state.Request
		for i := range n {
			c := &invocation{id: leaseOf("a", 100+uint64(i)), hosts: []string{fmt.Sprintf("h%d.example.com", i)}}
			r, problems := c.request(settings())
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			defs, groups, requests = append(defs, c.definition()), append(groups, c.id.Group()), append(requests, r)
		}
		synctest.Test(t, func(t *testing.T) {
			server, other := furnished(t), furnished(t)
			applies := func(a *apply.Applier) error { return a.Apply(t.Context(), defs) }
			for _, tt := range []struct {
				name   string
				server *Server
				do     func(a *apply.Applier) error
			}{
				{"apply", server, applies},
				{"apply again", server, applies},
				{"repair", server, func(a *apply.Applier) error {
					return repair.Repair(t.Context(), a, repair.Options{CrashedAfter: crash})
				}},
				{"release", server, func(a *apply.Applier) error { return a.Release(t.Context(), groups) }},
				{"reserve", other, func(a *apply.Applier) error { return a.Reserve(t.Context(), requests) }},
			} {
				if tt.name == "repair" { // of leases whose routes somebody has deleted a while ago
					for _, o := range server.Objects("ingresses") {
						deleteObject(t, server, "/apis/networking.k8s.io/v1/namespaces/"+o.GetNamespace()+"/ingresses/"+o.GetName())
					}
					time.Sleep(5 * time.Minute) // in the bubble's time
				}
				if took, sent := rounds(t, tt.server, tt.do); took > want[tt.name][0] || len(sent) > want[tt.name][1] {
					t.Errorf("%s of %d: %d requests in %d rounds, want at most %d in %d:\n%s",
						tt.name, n, len(sent), took, want[tt.name][1], want[tt.name][0], strings.Join(sent, "\n"))
				}
			}
		})
	}
}
