package commands

import (
	"context"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What has changed since repair has looked is left as it is, and the line says so.
func TestRepairLeavesWhatHasChanged(t *testing.T) {
	for name, test := range map[string]struct {
		kind string
		way  way
		make func(t *testing.T, s scene)
		// before is the request before which it is changed.
		before func(s scene) string
		change func(t *testing.T, s scene)
		// stays fails the test unless what was changed is there.
		stays func(t *testing.T, s scene)
		// gone is true where the problem is not found any more when it is the repair's turn.
		gone bool
	}{
		"a run that only stood still": {
			kind: state.CrashedRun,
			make: func(t *testing.T, s scene) {
				plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Run = "slow" })
			},
			before: func(s scene) string { return "GET leases/" + s.host },
			change: func(t *testing.T, s scene) {
				plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(*state.Part) {})
			},
			stays: func(t *testing.T, s scene) { held(t, s.host, "1 /") },
		},
		"a run that only stood still, with a ProviderHost": {
			kind: state.CrashedRun,
			make: func(t *testing.T, s scene) {
				s.apply(t, web("web", 8080, s.host))
				remove(t, ingresses, s.id.Namespace(), s.host)
				plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Run = "slow" })
			},
			before: func(scene) string { return "PATCH leases/run--" },
			change: func(t *testing.T, s scene) { s.apply(t, web("web", 8080, s.host)) },
			stays: func(t *testing.T, s scene) {
				held(t, s.host, "1 /")
				need(t, hosts, "lease", s.host)
			},
			gone: true,
		},
		"a route that leads elsewhere": {
			kind: state.TwoRoutes, way: byName,
			make: func(t *testing.T, s scene) {
				s.apply(t, web("web", 8080, s.host))
				s.rival(t, "default", nil)
			},
			before: func(s scene) string { return "DELETE ingresses/by-hand-" + s.host },
			change: func(t *testing.T, s scene) {
				change(t, ingresses, "default", "by-hand-"+s.host, func(o *object) {
					_ = unstructured.SetNestedField(o.Object, "other", "spec", "ingressClassName")
				})
			},
			stays: func(t *testing.T, s scene) { need(t, ingresses, "default", "by-hand-"+s.host) },
		},
		"a claim that was mended": {
			kind: state.UnreadableClaim, way: byName,
			make: func(t *testing.T, s scene) {
				plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(*state.Part) {})
				change(t, claims, ledger, s.host, func(o *object) { o.SetAnnotations(with(o.GetAnnotations(), state.AnnotationLedger, "v9")) })
			},
			before: func(s scene) string { return "DELETE leases/" + s.host },
			change: func(t *testing.T, s scene) {
				change(t, claims, ledger, s.host, func(o *object) { o.SetAnnotations(with(o.GetAnnotations(), state.AnnotationLedger, "v1")) })
			},
			stays: func(t *testing.T, s scene) { held(t, s.host, "1 /") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{id: leaseOf(newOwner(), 1), host: "changes." + newDomain(), plain: configure(t, "hosts: {wildcards: true}")}
			t.Cleanup(func() { run(context.Background(), "release", s.id.Group().String()) })
			test.make(t, s)
			var once sync.Once
			p := startProxy(t, nil)
			p.before = func(request string) {
				if strings.HasPrefix(request, test.before(s)) {
					once.Do(func() { test.change(t, s) })
				}
			}
			args := []string{"repair", "--crashed-after", "0s", "--assume-crashed", "--config", s.plain}
			if test.way == byName {
				args = append(args, test.kind+"/"+s.host)
			}
			r := runAs(t.Context(), p.kubeconfig, args...)
			test.stays(t, s)
			if got := lines(r.Stdout, test.kind+"/"+s.host+" "); test.gone != (len(got) == 0) || len(got) > 1 {
				t.Errorf("want one line %s/%s …, or none where it is gone (%v): %s", test.kind, s.host, test.gone, r)
			}
		})
	}
}

// A name that is no problem is an error, and then nothing is touched.
func TestRepairOfNoProblem(t *testing.T) {
	s := scene{id: leaseOf(newOwner(), 1), host: "none." + newDomain()}
	plant(t, state.HostWant{Host: s.host}.Hold(s.id), func(p *state.Part) { p.Run = "crashed" })
	was := fingerprint(t)
	mustRun(t, 1, "repair", "--crashed-after", "0s", "--assume-crashed", "CrashedRun/"+s.host, "BlockedHost/"+s.host).
		Says(t, "BlockedHost/"+s.host+" is no problem of this cluster now, and nothing was changed")
	if now := changed(was, fingerprint(t)); len(now) > 0 {
		t.Errorf("it changed %q", now)
	}
	run(t.Context(), "__complete", "--kubeconfig", harness.Plane.Kubeconfig, "repair", "--crashed-after", "0s", "--assume-crashed", "").Prints(t, "CrashedRun/"+s.host+"\trun ").Prints(t, ", claimed it and did not finish\n")
	mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "CrashedRun/"+s.host)
	held(t, s.host)
}

// Only what is named is mended, and of the definitions only those that mend something are applied.
func TestRepairMendsNoMore(t *testing.T) {
	one, two := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	host := "one." + newDomain()
	plant(t, state.HostWant{Host: host}.Hold(one), func(p *state.Part) { p.Run = "crashed" })
	plant(t, state.HostWant{Host: "two." + host}.Hold(one), func(p *state.Part) { p.Run = "crashed" })
	mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "CrashedRun/"+host)
	held(t, host)
	held(t, "two."+host, "1 /")
	plant(t, state.HostWant{Host: "three." + host}.Hold(one), func(p *state.Part) { p.Run = "crashed" })
	mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "host/three."+host).Prints(t, "CrashedRun/three."+host+" repaired")
	held(t, "three."+host)
	held(t, "two."+host, "1 /")
	mustRun(t, 1, "repair", "four."+host).Says(t, "nobody holds four."+host, "nothing was changed")
	other := "other." + newDomain()
	mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "-f", define(t, two, web("web", 8080, other)))
	held(t, "two."+host)
	held(t, other)
}
