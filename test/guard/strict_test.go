package guard_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// deletes are those that name no uid: a person's, and Akash's own PurgeDeclaredIP (by label).
var deletes = map[string]func(t *testing.T, r ref) error{
	"kubectl delete": func(t *testing.T, r ref) error {
		return kubectl(t, "", nil, "-n", r.namespace, "delete", r.resource.Resource, r.name, "--wait=false", "--dry-run=server")
	},
	"deletecollection": func(t *testing.T, r ref) error {
		return r.client().DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{})
	},
	"deletecollection by label": func(t *testing.T, r ref) error {
		return r.client().DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{LabelSelector: "akash.network=true"})
	},
	"a resource version alone": func(t *testing.T, r ref) error {
		version := r.get(t).GetResourceVersion()
		return r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	},
}

func TestStrictRefusesDeletesWithoutUID(t *testing.T) {
	targets := []ref{aliceClaim, alicePort}
	each := func(t *testing.T, check func(t *testing.T, err error)) {
		for _, r := range targets {
			for name, remove := range deletes {
				if r == aliceClaim && name == "deletecollection by label" {
					continue // claims do not have Akash's label
				}
				t.Run(r.resource.Resource+"/"+name, func(t *testing.T) { check(t, remove(t, r)) })
			}
		}
	}
	t.Run("allowed", func(t *testing.T) {
		installGuard(t, config.Default(), false)
		each(t, func(t *testing.T, err error) {
			if err != nil {
				t.Errorf("not strict: %v", err)
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		installGuard(t, config.Default(), true)
		each(t, func(t *testing.T, err error) {
			if err == nil || !strings.Contains(err.Error(), "'akash-net-strict-") || !strings.Contains(err.Error(), "is held by ") {
				t.Errorf("want a refusal, got %v", err)
			}
		})
		for _, r := range targets {
			uid := r.get(t).GetUID()
			err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{UID: &uid}})
			if err != nil {
				t.Errorf("%s, with its uid: %v", r.name, err)
			}
		}
	})
}

// Claims and leased ports must not keep a namespace from going, nor an object from following its
// owner, and the namespaces are those of the configuration.
func TestStrictLetsNamespacesAndOwnersGo(t *testing.T) {
	cfg := config.Default()
	cfg.LedgerNamespace, cfg.ManifestNamespace = "ledger-2", "lease-2"
	copies := map[ref]ref{
		aliceClaim: {leases, cfg.LedgerNamespace, aliceClaim.name},
		alicePort:  {leasedIPs, cfg.ManifestNamespace, alicePort.name},
	}
	for original, r := range copies {
		o := object("v1", "Namespace", r.namespace)
		if _, err := harness.Objects.Resource(namespaces).Create(t.Context(), &unstructured.Unstructured{Object: o}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		made := bare(original.get(t))
		made.SetNamespace(r.namespace)
		if _, err := r.client().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	following, followed := follower(t, copies[aliceClaim]) // the guard lets nobody make one
	installGuard(t, cfg, true)
	if err := followed.client().Delete(t.Context(), followed.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	harness.Eventually(t, "the garbage collector deletes what follows an owner", func(ctx context.Context) (bool, error) {
		_, err := following.client().Get(ctx, following.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
	for _, r := range copies {
		if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", r.name, err)
		}
		if err := harness.Objects.Resource(namespaces).Delete(t.Context(), r.namespace, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "namespace "+r.namespace+" is gone", func(ctx context.Context) (bool, error) {
			_, err := harness.Objects.Resource(namespaces).Get(ctx, r.namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		})
	}
}

// follower makes a claim whose owner reference names a ConfigMap.
func follower(t *testing.T, like ref) (following, followed ref) {
	t.Helper()
	followed = ref{namespaces.GroupVersion().WithResource("configmaps"), like.namespace, "owner"}
	owner, err := followed.client().Create(t.Context(), &unstructured.Unstructured{Object: object("v1", "ConfigMap", "owner")}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := bare(like.get(t))
	o.SetName("follows.example.com")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID()}})
	if _, err := like.client().Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ref{like.resource, like.namespace, o.GetName()}, followed
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
