package guard_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A cluster gets the guard, then the strict one, and then one of other namespaces. What is tried with each runs at the same time.
func TestGuard(t *testing.T) {
	elsewhere := config.Default()
	elsewhere.LedgerNamespace, elsewhere.ManifestNamespace = "ledger-2", "lease-2"
	for _, phase := range []struct {
		name  string
		guard func(*testing.T)
		tests map[string]func(*testing.T)
	}{
		{"without", kubectlWrites(false), map[string]func(*testing.T){
			"every write passes": nothingIsRefused, "one object stops nobody": oneObjectStopsNobody, "a guessed sharing key": guessedSharingKey,
		}},
		{"guarded", func(t *testing.T) {
			makeOld(t)
			installGuard(t, config.Default(), false)
		}, map[string]func(*testing.T){
			"rules": rules, "ways": noWayPastARule, "kubectl": kubectlWrites(true), "foreign Services": foreignServicesWorkOn, "the reconciler": reconcilerKeepsToLeases, "what ends": terminatingObjectsCanEnd,
		}},
		{"strict", func(t *testing.T) { installGuard(t, config.Default(), true) }, map[string]func(*testing.T){
			"deletes": noDeletePastTheStrictGuard, "our own work": ourOwnWorkGoesOn, "crashed runs": crashedRunsAreTakenOver,
			"the largest claim": largestClaim, "the largest reservation": largestReservation,
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

// installGuard installs the guard in place of what is there of it, and waits until the API server heeds every policy.
func installGuard(t *testing.T, cfg *config.ProviderConfig, strict bool) {
	t.Helper()
	objects, err := manifests.Guard(cfg, strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s"}
		resource.Resource = strings.Replace(resource.Resource, "policys", "policies", 1)
		if _, err := harness.Objects.Resource(resource).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "akash-net", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		if name := o.GetName(); o.GetKind() == "ValidatingAdmissionPolicy" {
			harness.Eventually(t, name+" is heeded", func(ctx context.Context) (bool, error) { return refusedBy(probe(ctx, cfg, name), name), nil })
		}
	}
}

// probe sends, as a dry run, what the policy refuses. What a strict policy refuses is the delete of an object of alice's.
func probe(ctx context.Context, cfg *config.ProviderConfig, policy string) error {
	probed := map[string]ref{
		"claims": {leases, cfg.LedgerNamespace, "probe", ""}, "definitions": {leases, cfg.LedgerNamespace, "df--probe", ""}, "runs": {leases, cfg.LedgerNamespace, "run--probe", ""},
		"hosts": {hosts, cfg.ManifestNamespace, "probe", ""}, "leased-ips": {leasedIPs, cfg.ManifestNamespace, "probe", ""},
		"namespaces": {namespaces, "", "probe", ""}, "sharing-keys": {services, "default", "probe", ""},
		"strict-claims": {leases, cfg.LedgerNamespace, shop, ""}, "strict-leased-ips": {leasedIPs, cfg.ManifestNamespace, refs["ProviderLeasedIP"].name, ""},
	}[strings.TrimPrefix(policy, "akash-net-")]
	if policy == "akash-net-reconciler" {
		return asReconciler(services, "default").Delete(ctx, "kubernetes", metav1.DeleteOptions{DryRun: dryRun})
	}
	if strings.HasPrefix(policy, "akash-net-strict-") {
		return probed.client().Delete(ctx, probed.name, metav1.DeleteOptions{DryRun: dryRun})
	}
	kind := map[string]string{"leases": "Lease", "providerhosts": "ProviderHost", "providerleasedips": "ProviderLeasedIP", "namespaces": "Namespace", "services": "Service"}
	o, err := harness.ParseObject(`{apiVersion: ` + probed.resource.GroupVersion().String() + `, kind: ` + kind[probed.resource.Resource] + `, metadata: {name: ` + probed.name + `,
		labels: {akash.network/lease.id.owner: ` + alice + `}, annotations: {metallb.io/allow-shared-ip: ` + alice + `-ip-public}}}`)
	if err == nil && probed.resource == services {
		o.Object["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(25)}}}
	}
	if err == nil {
		_, err = probed.client().Create(ctx, o, metav1.CreateOptions{DryRun: dryRun})
	}
	return err
}

func refusedBy(err error, policy string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'"+policy+"'")
}
