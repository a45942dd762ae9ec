package commands

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// guardPolicies counts the admission policies that are there: of the guard, and of its strict part.
func guardPolicies(t *testing.T) (all, strict int) {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	list, err := harness.Objects.Resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if strings.HasPrefix(o.GetName(), "akash-net") {
			all++
		}
		if strings.HasPrefix(o.GetName(), "akash-net-strict") {
			strict++
		}
	}
	return all, strict
}

// install brings the guard, makes it strict, and plain again; uninstall removes it. The verbs work
// with it. It is no parallel test: the guard is the cluster's.
func TestInstallGuard(t *testing.T) {
	host, id := "guarded."+newDomain(), leaseOf(newOwner(), 1)
	verbs := func(t *testing.T) {
		t.Helper()
		path := define(t, id, web("web", 80, host))
		mustRun(t, 0, "apply", "-f", path)
		mustRun(t, 0, "apply", "-f", path).Prints(t, "unchanged")
		mustRun(t, 0, "transfer", host, "--to", leaseOf(id.Owner, 2).String())
		mustRun(t, 0, "release", id.String())
		mustRun(t, 0, "release", leaseOf(id.Owner, 2).String())
		held(t, host)
	}
	if all, _ := guardPolicies(t); all != 0 {
		t.Fatalf("%d policies before there is a guard", all)
	}
	mustRun(t, 0, "install", "--guard")
	plain, strict := guardPolicies(t)
	if plain == 0 || strict != 0 {
		t.Fatalf("%d policies, %d of them strict", plain, strict)
	}
	verbs(t)

	mustRun(t, 0, "reserve", "--lease", id.String(), host)
	eventually(t, "the guard to refuse a theft", func(ctx context.Context) (bool, error) {
		o := need(t, claims, ledger, host)
		return refusesTheft(ctx, o), nil
	})
	mustRun(t, 0, "release", id.String())

	mustRun(t, 0, "install", "--guard=strict")
	if all, strict := guardPolicies(t); strict == 0 || all != plain+strict {
		t.Errorf("%d policies, %d of them strict", all, strict)
	}
	verbs(t)
	mustRun(t, 0, "install", "--guard")
	if all, strict := guardPolicies(t); strict != 0 || all != plain {
		t.Errorf("%d policies, %d of them strict, after the guard is plain again", all, strict)
	}
	mustRun(t, 0, "install")
	if all, _ := guardPolicies(t); all != plain {
		t.Errorf("install without --guard leaves %d policies of %d", all, plain)
	}
	mustRun(t, 2, "install", "--guard=weak")

	mustRun(t, 0, "uninstall", "--force", "-y")
	if all, _ := guardPolicies(t); all != 0 {
		t.Errorf("uninstall leaves %d policies", all)
	}
	eventually(t, "the ledger to come back", func(ctx context.Context) (bool, error) {
		return run(ctx, "install").Code == 0 && harness.BindInLedger(ctx) == nil, nil
	})
	eventually(t, "the ledger to take claims", func(ctx context.Context) (bool, error) {
		return run(ctx, "reserve", "--lease", id.String(), host).Code == 0, nil
	})
	mustRun(t, 0, "release", id.String())
}

// refusesTheft tries to write another owner on a claim.
func refusesTheft(ctx context.Context, o *unstructured.Unstructured) bool {
	o.SetLabels(with(o.GetLabels(), "net.akash.network/owner", newOwner()))
	_, err := harness.Objects.Resource(claims).Namespace(ledger).Update(ctx, o, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}
