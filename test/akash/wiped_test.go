package akash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// ranged is the configuration of a range of addresses that no other test has.
func ranged() string { return fmt.Sprintf("{ip: {ranges: [10.79.%d.0/28]}}", harness.Number()) }

// A Service that asks for nothing any more while its port is claimed is a problem. Nobody can see here that the
// IP operator runs, whose Update of the whole Service takes the address out. Both repair and apply mend it, and
// the next apply writes nothing.
func TestServicesThatAskForNothing(t *testing.T) {
	t.Parallel()
	for name, mend := range harness.Drawn(map[string]func(w *world, d operators.Deployment, address string){
		// MetalLB may write a Service meanwhile: what has changed is left, and the same command mends it.
		"by repair": func(w *world, _ operators.Deployment, address string) {
			names := []string{"AsksForNothing/" + address, "LostMarks/service/web-ip-443-tcp", "LostMarks/service/web-ip-53-udp"}
			for tries := 0; len(names) > 0; tries++ {
				r := w.run(append([]string{"repair", "--operators=off", "--crashed-after=0s", "--assume-crashed"}, names...)...)
				if tries == 5 {
					w.Fatalf("%q are not mended: %s", names, r)
				}
				shown := w.problems()
				names = slices.DeleteFunc(names, func(name string) bool {
					return !slices.ContainsFunc(shown, func(p string) bool { return strings.HasPrefix(p, strings.Replace(name, "/", " ", 1)) })
				})
			}
		},
		"by apply": func(w *world, d operators.Deployment, _ string) { w.apply(d).Exits(w.T, 0) },
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, operators.Options{}, ranged(), "--operators=off")
			w.running.Stop()
			d := workload(w.blue, nil, "public:TCP:443:web", "public:UDP:53:web")
			w.apply(d).Exits(t, 0)
			claim := list(t, claims, "net.akash.network/owner="+w.owner)[0].GetName()
			w.settled("applied", []string{"ip"}, d)
			w.running.Restart()
			asks := func() bool {
				return slices.ContainsFunc([]string{"web-ip-443-tcp", "web-ip-53-udp"}, func(name string) bool {
					return find(t, operators.Services, w.blue.Namespace(), name).GetAnnotations()["metallb.universe.tf/loadBalancerIPs"] != ""
				})
			}
			eventually(t, "the operator writes over the Services", func() bool { return !asks() })
			w.running.Stop()
			address := strings.ReplaceAll(strings.TrimPrefix(claim, "ip--"), "-", ".")
			if found := w.audits("wiped"); len(found) == 0 {
				t.Error("the audit finds nothing")
			}
			if shown := w.problems(); !slices.ContainsFunc(shown, func(p string) bool { return strings.HasPrefix(p, "AsksForNothing "+address) }) {
				t.Errorf("the problems are %q", shown)
			}
			mend(w, d, address)
			w.settled("mended", []string{"ip"}, d)
		})
	}
}
