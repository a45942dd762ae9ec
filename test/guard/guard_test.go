package guard_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// today draws what the short run tries of many.
var today = harness.Today()

// A cluster gets the guard, then the strict one, and then one of other namespaces. What is tried with each runs at the same time.
func TestGuard(t *testing.T) {
	elsewhere := config.Default()
	elsewhere.LedgerNamespace, elsewhere.ManifestNamespace = "ledger-2", "lease-2"
	for _, phase := range []struct {
		name  string
		guard func(*testing.T)
		tests map[string]func(*testing.T)
	}{
		{"without", everybodyWrites, map[string]func(*testing.T){
			"breaches and fields pass": nothingIsRefused, "one object stops nobody": oneObjectStopsNobody, "who is named waits": whoIsNamedWaits,
			"a guessed sharing key": guessedSharingKey,
		}},
		{"guarded", func(t *testing.T) {
			for _, make := range []func(*testing.T){makeOld, makeGarbage} {
				make(t)
			}
			installGuard(t, config.Default(), false)
		}, map[string]func(*testing.T){
			"rules": rules, "fields": fields, "ways": noWayPastARule, "writers": nobodyTakesWhatIsHeld, "elections": elections,
			"foreign Services": foreignServicesWorkOn, "what ends": terminatingObjectsCanEnd,
		}},
		{"strict", func(t *testing.T) { installGuard(t, config.Default(), true) }, map[string]func(*testing.T){
			"deletes": noDeletePastTheStrictGuard, "our own work": ourOwnWorkGoesOn, "Akash's own work": akashsOwnWorkGoesOn, "parts": workThatChangesPartsGoesOn,
			"crashed runs": crashedRunsAreTakenOver, "other Leases": otherLeasesAreNotJudged, "the largest claim": largestClaim, "the largest reservation": largestReservation,
		}},
		{"elsewhere", func(t *testing.T) {
			copyTo(t, elsewhere)
			installGuard(t, elsewhere, true)
		}, map[string]func(*testing.T){"namespaces and owners go": strictLetsNamespacesAndOwnersGo}},
	} {
		phase.guard(t)
		t.Run(phase.name, func(t *testing.T) {
			for name, test := range phase.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t)
				})
			}
		})
	}
}

var dryRun = []string{metav1.DryRunAll}

func guardResource(o *unstructured.Unstructured) schema.GroupVersionResource {
	resource := "validatingadmissionpolicies"
	if o.GetKind() == "ValidatingAdmissionPolicyBinding" {
		resource = "validatingadmissionpolicybindings"
	}
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}

// installGuard installs the guard in place of what is there of it, and waits until the API server heeds every policy.
func installGuard(t *testing.T, cfg *config.ProviderConfig, strict bool) {
	t.Helper()
	objects, err := manifests.Guard(cfg, strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if _, err := harness.Objects.Resource(guardResource(o)).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "akash-net", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			harness.Eventually(t, o.GetName()+" is heeded", func(ctx context.Context) (bool, error) {
				return refusedBy(probe(ctx, cfg, o.GetName()), o.GetName()), nil
			})
		}
	}
}

// probe sends, as a dry run, what the policy refuses. What a strict policy refuses is the delete
// of an object of alice's, so these have to exist.
func probe(ctx context.Context, cfg *config.ProviderConfig, policy string) error {
	var err error
	create := func(resource schema.GroupVersionResource, namespace string, o map[string]any) {
		_, err = harness.Objects.Resource(resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{DryRun: dryRun})
	}
	remove := func(resource schema.GroupVersionResource, namespace, name string) {
		err = harness.Objects.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
	}
	switch policy {
	case "akash-net-claims":
		create(leases, cfg.LedgerNamespace, object("coordination.k8s.io/v1", "Lease", "probe"))
	case "akash-net-definitions":
		create(leases, cfg.LedgerNamespace, object("coordination.k8s.io/v1", "Lease", "df--probe"))
	case "akash-net-hosts":
		create(hosts, cfg.ManifestNamespace, object("akash.network/v2beta2", "ProviderHost", "probe"))
	case "akash-net-leased-ips":
		create(leasedIPs, cfg.ManifestNamespace, object("akash.network/v2beta2", "ProviderLeasedIP", "probe"))
	case "akash-net-namespaces":
		o := object("v1", "Namespace", "probe")
		o["metadata"].(map[string]any)["labels"] = map[string]any{labelOwner: alice}
		create(namespaces, "", o)
	case "akash-net-runs":
		create(leases, cfg.LedgerNamespace, object("coordination.k8s.io/v1", "Lease", "run--probe"))
	case "akash-net-sharing-keys":
		create(services, "default", guessing("probe", "metallb.io", alice+"-ip-public", "").Object)
	case "akash-net-strict-claims":
		remove(leases, cfg.LedgerNamespace, shop)
	case "akash-net-strict-leased-ips":
		remove(leasedIPs, cfg.ManifestNamespace, shopPort)
	}
	return err
}

func object(apiVersion, kind, name string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}
}

func refusedBy(err error, policy string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'"+policy+"'")
}

// nothingIsRefused shows that each refusal is the guard's.
func nothingIsRefused(t *testing.T) {
	for _, b := range breaches() {
		if err := b.write.send(t, person); err != nil {
			t.Errorf("%s: %s: %v", b.policy, b.name, err)
		}
	}
	for _, w := range touches() {
		if err := w.write.send(t, person); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
}
