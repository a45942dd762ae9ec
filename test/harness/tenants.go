package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Provider is the provider of all leases.
const Provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"

var number atomic.Int64

// Number returns a number that no other test of the package gets.
func Number() int64 { return number.Add(1) }

// NewOwner returns an owner's address that no other test gets.
//
// The objects of the owner's leases go with the test, and so does what the ledger has of the owner: a test reads a ledger in which nothing is
// left of the tests before it.
func NewOwner(t testing.TB) string {
	owner := leasetest.Wallet(fmt.Sprint("tenant ", Number()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Deadline)
		defer cancel()
		var group errgroup.Group
		remove := func(resource schema.GroupVersionResource, selector string) {
			group.Go(func() error { return removeAll(ctx, resource, selector, owner) })
		}
		for _, kind := range slices.Concat(kinds.OfLease, kinds.RunningEnds, kinds.Records) {
			remove(kind.Resource(), lease.LabelOwner+"="+owner)
		}
		remove(cluster.Leases, state.LabelOwner+" in ("+owner+","+state.OwnerRun+")")
		remove(cluster.Leases, kept.Label+"="+owner)
		if err := group.Wait(); err != nil {
			t.Errorf("objects of %s stay: %v", owner, err)
		}
	})
	return owner
}

// removeAll deletes the objects that match a label selector and have a text in a label or an annotation, with their finalizers.
func removeAll(ctx context.Context, resource schema.GroupVersionResource, selector, text string) error {
	has := func(values map[string]string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(values)), func(value string) bool { return strings.Contains(value, text) })
	}
	found, err := metadatas.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range found.Items {
		o := &found.Items[i]
		if !has(o.Labels) && !has(o.Annotations) {
			continue
		}
		objects := metadatas.Resource(resource).Namespace(o.Namespace)
		if len(o.Finalizers) > 0 {
			if _, err := objects.Patch(ctx, o.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if err := objects.Delete(ctx, o.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// LeaseOf returns a lease of an owner's deployment.
func LeaseOf(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: Provider}
}

// NewDomain returns a domain that no other test gets.
func NewDomain() string { return fmt.Sprintf("n%d.example.com", Number()) }

// NewHost returns a host name that no other test gets.
func NewHost(word string) string { return word + "." + NewDomain() }

// File writes text to a new file and returns its path. The path has no comma, because -f would split it there.
func File(t testing.TB, text string) string {
	t.Helper()
	f, err := os.CreateTemp(Plane.Dir, "file-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the write is checked
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// Configure writes a ProviderConfig with the lines of its spec, and returns its path.
func Configure(t *testing.T, lines ...string) string {
	t.Helper()
	return File(t, "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nmetadata: {name: provider}\nspec:\n  "+strings.Join(lines, "\n  ")+"\n")
}

// Define writes a LeaseDefinition and returns its path; each service and each IP endpoint is YAML on one line.
func Define(t *testing.T, id lease.ID, services, endpoints []string) string {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: test}
spec:
  lease: {owner: %s, dseq: %d, gseq: %d, oseq: %d, provider: %s}
  services:
  - %s
`, id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, strings.Join(services, "\n  - "))
	if len(endpoints) > 0 {
		text += "  ipEndpoints:\n  - " + strings.Join(endpoints, "\n  - ") + "\n"
	}
	return File(t, text)
}
