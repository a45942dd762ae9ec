package akash_test

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/test/akash/operators"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Where no answer to any write comes back what was written is read: a lease is applied and released all the same. A claim that it relies
// on, and that somebody deletes meanwhile, is claimed again.
func TestNoAnswerToAnyWrite(t *testing.T) {
	t.Parallel()
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
	w.operated("apply", "--timeout=30s", "-f", w.define(d)).Exits(t, 0)
	w.proxy.lost.Store(false)
	w.settled("claimed again", []string{host, more}, d)
}
