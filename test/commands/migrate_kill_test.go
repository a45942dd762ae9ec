package commands

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// A run that is killed before any of its writes leaves the host with a route, and the same command
// finishes the work.
func TestMigrateKilled(t *testing.T) {
	for _, to := range []string{"httproute", "ingress"} {
		t.Run("to "+to, func(t *testing.T) {
			t.Parallel()
			fabric := "gateway: {implementation: nginx-gateway-fabric, name: none, namespace: default}"
			from := map[string]string{"httproute": "ingress", "ingress": "httproute"}[to]
			more := "http: {maxBodySize: 2097152, readTimeout: 30s}, tls: {termination: reencrypt, insecure: Redirect}"
			for cut := int32(1); ; cut++ {
				id, host := leaseOf(newTenant(), 1), newHost("migrate")
				admin().with(configure(t, fabric, "target: "+from)).do(t, "apply", "-f", defineParts(t, id, service("web", routedPart(80, more, host))))
				r := record(t)
				r.config = configure(t, fabric)
				if !killAt(t, r, cut, migrate(to, id, "--concurrency=1")) {
					if cut < 3 {
						t.Errorf("the migration has %d writes only", cut-1)
					}
					return
				}
				if find(t, ingresses, id.Namespace(), host) == nil && find(t, httpRoutes, id.Namespace(), host) == nil {
					t.Errorf("killed at write %d, the host has no route", cut)
				}
				r.do(t, migrate(to, id, "--assume-crashed")...)
				want := []string{"ingress/" + host}
				if to == "httproute" {
					want = []string{"backendtlspolicy/web", "clientsettingspolicy/" + host, "httproute/" + host, "httproute/" + lease.RedirectName(host), "proxysettingspolicy/" + host, "snippetsfilter/" + host}
				}
				if got := routesOf(t, id); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
					t.Errorf("killed at write %d, and run again, the routes are %v", cut, got)
				}
			}
		})
	}
}

// killAt runs the program and kills it when its nth write arrives, which is carried out. It is false
// where the run ended before.
func killAt(t *testing.T, r *recorder, nth int32, args []string) bool {
	t.Helper()
	reached, killed, carriedOut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var seen, done atomic.Int32
	var held string
	r.hold(func(ctx context.Context, q request) {
		if q.writes() && seen.Add(1) == nth {
			held = q.String()
			close(reached)
			await(t.Context(), t, killed)
		}
	}, func(_ context.Context, q request) {
		if q.writes() && seen.Load() >= nth && q.String() == held && done.Add(1) == 1 {
			close(carriedOut)
		}
	})
	cmd := r.command(t.Context(), args...)
	ended := make(chan struct{})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed
	}()
	select {
	case <-reached:
	case <-ended:
		r.hold(nil, nil)
		return false
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	close(killed)
	arrives(t, held+" is carried out", carriedOut)
	r.hold(nil, nil)
	return true
}
