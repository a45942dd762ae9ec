package akash_test

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A run that was overtaken takes its ProviderHost and its ProviderLeasedIP back, and gives up their claims once
// the operators have removed what they had made of them. What an operator that is down leaves keeps its claim.
func TestOvertakenRunBesideOperators(t *testing.T) {
	for name, down := range map[string]bool{"the operators run": false, "the operators are down": true} {
		t.Run(name, func(t *testing.T) {
			o, spec := pooled(t, "")
			w := newWorld(t, o, spec, "--operators=on")
			host, lost := newHost("made"), newHost("zlost")
			d := workload(w.blue, []string{host, lost}, "public:TCP:443:web")
			must(t, w.akash.SendManifest(t.Context(), d))
			w.operated("reserve", "-f", w.define(workload(w.blue, []string{lost}))).Exits(t, 0) // the run relies on it, and has not taken it
			service := "web-ip-443-tcp"
			routed := func() bool {
				for _, name := range []string{host, lost} {
					if find(t, operators.Ingresses, w.blue.Namespace(), name) == nil {
						return false
					}
				}
				return find(t, operators.Services, w.blue.Namespace(), service) != nil
			}
			var once sync.Once
			w.proxy.before = func(_, path string) {
				if !strings.HasSuffix(path, "/leases/"+lost) || find(t, operators.Hosts, manifests, lost) == nil {
					return
				}
				once.Do(func() { // the run settles: it has written everything
					eventually(t, "the operators have made routes", routed)
					if down {
						w.running.Stop()
					}
					must(t, harness.Objects.Resource(claims).Namespace(ledger).Delete(t.Context(), lost, metav1.DeleteOptions{}))
				})
			}
			r := w.operated("apply", "--timeout=2s", "-f", w.define(d)).Exits(t, 1).Tells(t, lost+" was released")
			w.proxy.before = nil
			if !down {
				w.settled("taken back", nil)
				return
			}
			r.Tells(t, "host "+host+" is kept", "kubectl -n "+w.blue.Namespace()+" delete ingress "+host, "delete service "+service)
			if !routed() || find(t, claims, ledger, host) == nil {
				t.Fatal("the route stands without its claim")
			}
			for _, thing := range []string{host, lease.SharingKey(w.owner, "public"), lost} {
				w.run("repair", "--crashed-after=0s", "--assume-crashed", "NotDeclared/"+thing).Exits(t, 0).Tells(t, "NotDeclared/"+thing+" repaired")
			}
			w.running.Restart()
			w.operated("release", "--timeout=30s", w.blue.Group().String()).Exits(t, 0)
			w.settled("released", nil)
		})
	}
}

// Where no answer to any write comes back what was written is read: a lease is applied and released all the
// same. One that is refused in the end takes back all that it has written.
func TestNoAnswerToAnyWrite(t *testing.T) {
	o, spec := pooled(t, "")
	w := newWorld(t, o, spec, "--operators=on")
	host, more := newHost("unanswered"), newHost("afirst")
	d := workload(w.blue, []string{host}, "public:TCP:443:web")
	w.proxy.lost.Store(true)
	w.apply(d).Exits(t, 0)
	w.proxy.lost.Store(false)
	w.settled("applied", []string{"ep", host}, d)
	w.proxy.lost.Store(true)
	w.operated("release", "--timeout=30s", w.blue.Group().String()).Exits(t, 0)
	w.settled("released", nil)

	d = workload(w.blue, []string{host, more})
	must(t, w.akash.SendManifest(t.Context(), d))
	w.operated("reserve", "-f", w.define(workload(w.blue, []string{more}))).Exits(t, 0) // the run relies on it, and has not taken it
	var once sync.Once
	w.proxy.before = func(_, path string) {
		if strings.HasSuffix(path, "/leases/"+more) && find(t, operators.Hosts, manifests, host) != nil {
			once.Do(func() {
				must(t, harness.Objects.Resource(claims).Namespace(ledger).Delete(t.Context(), more, metav1.DeleteOptions{}))
			})
		}
	}
	w.operated("apply", "--timeout=30s", "-f", w.define(d)).Exits(t, 1).Tells(t, more+" was released")
	w.proxy.lost.Store(false)
	w.settled("taken back", nil)
}
