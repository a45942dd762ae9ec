package appliers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Flux forces whatever is in its folder. The files have no claim that it could force, and what somebody else puts there in another
// owner's name is refused by the guard: the host stays with its holder.
func TestForceTakesNothing(t *testing.T) {
	for _, a := range appliers(t) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel() // kubectl has one ApplySet for all tests
			r := clone(t)
			shop, host := tenant(t)
			thief, _ := tenant(t)
			r.define(t, shop, host)
			r.deliver(t, a)
			text, err := os.ReadFile(r.file(shop))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "coordination.k8s.io") {
				t.Errorf("the file of a lease has claims: %s", text)
			}
			before := harness.Need(t, kinds.ProviderHost.Resource(), "lease", host)

			_, declared, _ := strings.Cut(string(text), "kind: ProviderHost")
			declared, _, _ = strings.Cut(declared, "\n---")
			r.write(t, filepath.Join(r.rendered, "stolen.yaml"),
				"apiVersion: akash.network/v2beta2\nkind: ProviderHost"+strings.ReplaceAll(declared, shop.Owner, thief.Owner)+"\n")
			r.remove(t, r.file(shop))
			if err := a.apply(t, r.rendered); err == nil || !strings.Contains(err.Error(), "is held by "+shop.Owner) {
				t.Errorf("want a refusal that names the holder, got %v", err)
			}
			after := harness.Need(t, kinds.ProviderHost.Resource(), "lease", host)
			if after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("the host has changed hands: %v", after.Object)
			}

			r.remove(t, filepath.Join(r.rendered, "stolen.yaml"))
			r.deliver(t, a)
			r.end(t, a, shop)
		})
	}
}
