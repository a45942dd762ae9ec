package commands

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A release says that the lease's namespace stays and what deletes it, and --delete-namespace deletes it,
// also when the lease was released before. Nobody waits for Kubernetes to empty it.
func TestReleaseDeletesTheNamespace(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(t), 1), newHost("ends")
	definition, group, namespace := defineParts(t, id, webPart(host)), id.Group().String(), "namespace/"+id.Namespace()
	do := func(args ...string) result { t.Helper(); return harness.Run(t.Context(), args...).Exits(t, 0) }
	do("apply", "-f", definition).Prints(t, namespace+" created")
	do("release", group).Prints(t, "host/"+host+" released", namespace+" kept (to delete it): kubectl akash-net release "+group+" --delete-namespace")
	gone := func(context.Context) (bool, error) { return find(t, namespaces, "", id.Namespace()) == nil, nil }
	if r := do("release", group, "--delete-namespace").Prints(t, "holds nothing", namespace+" deleting (it goes as soon as"); strings.Contains(r.Stdout, namespace+" deleted") {
		t.Errorf("said to be gone: %s", r)
	}
	eventually(t, "the namespace goes", gone)

	do("apply", "-f", definition).Prints(t, namespace+" created")
	for _, mode := range []string{"client", "server"} {
		do("release", group, "--delete-namespace", "--dry-run="+mode).Prints(t, "host/"+host+" released", namespace+" deleting (")
		need(t, claims, ledger, host)
	}
	harness.Run(t.Context(), "release", group, host, "--delete-namespace").Exits(t, 2).Says(t, "--delete-namespace", host)
	do("release", group, "--delete-namespace").Prints(t, namespace+" deleting (it goes as soon as")
	eventually(t, "the namespace goes", gone)
	if r := do("release", group, "--ignore-not-found"); strings.Contains(r.Stdout, "namespace/") {
		t.Errorf("a release tells of a namespace that is gone: %s", r)
	}
}

// A namespace stays with what others have put into it, and with who made it.
func TestReleaseKeepsTheNamespace(t *testing.T) {
	t.Parallel()
	full, theirs := leaseOf(newTenant(t), 1), leaseOf(newTenant(t), 1)
	do := func(args ...string) result { t.Helper(); return harness.Run(t.Context(), args...).Exits(t, 0) }
	do("apply", "-f", defineParts(t, full, webPart(newHost("full"))))
	create(t, configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: "+full.Namespace()+"}}")
	do("release", full.Group().String(), "--delete-namespace").Prints(t, "namespace/"+full.Namespace()+" kept (it is not empty: configmap/settings)")

	definition := defineParts(t, theirs, webPart(newHost("theirs")))
	namespace, _, _ := strings.Cut(do("render", "-f", definition, "--with-namespace").Stdout, "\n---\n")
	kubectl(t, "apply", "--server-side", "-f", file(t, namespace)).Exits(t, 0)
	do("apply", "-f", definition)
	do("release", theirs.Group().String(), "--delete-namespace").Prints(t, "namespace/"+theirs.Namespace()+" kept (kubectl akash-net did not make it")
	if r := do("release", theirs.Group().String(), "--ignore-not-found"); strings.Contains(r.Stdout, "namespace/") {
		t.Errorf("a release offers to delete a namespace of somebody else's: %s", r)
	}
	for _, id := range []lease.ID{full, theirs} {
		need(t, namespaces, "", id.Namespace())
	}
}

// An apply of the lease that comes while its namespace is about to be deleted is seen by its claim, and keeps the
// namespace. One that comes later yet is named: it has written into a namespace that goes, and finishes when it
// is run again.
func TestApplyBesideTheDeletionOfTheNamespace(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct {
		request string
		path    string
		code    int
		says    []string
	}{
		"before the claims are read": {"LIST leases", "/namespaces/" + ledger + "/", 1, []string{"kept (the lease is being applied again)", "has taken this one for crashed"}},
		"before the delete":          {"DELETE namespaces/", "", 1, []string{"apply it again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, host := leaseOf(newTenant(t), 1), newHost("again")
			definition := defineParts(t, id, webPart(host))
			mustRun(t, 0, "apply", "-f", definition)
			r, ending := record(t), false
			applied := sync.OnceFunc(func() { mustRun(t, 0, "apply", "-f", definition, "--assume-crashed") }) // else it waits for the end of the release
			r.hold(func(_ context.Context, q request) {
				if ending = ending || q.String() == "GET namespaces/"+id.Namespace(); ending && strings.HasPrefix(q.String(), at.request) && strings.Contains(q.path, at.path) {
					applied()
				}
			}, nil)
			runAs(t.Context(), r.kubeconfig, "release", id.Group().String(), "--delete-namespace", "--concurrency", "1").Exits(t, at.code).Tells(t, at.says...)
			eventually(t, "no namespace goes", func(context.Context) (bool, error) {
				namespace := find(t, namespaces, "", id.Namespace())
				return namespace == nil || namespace.GetDeletionTimestamp() == nil, nil
			})
			mustRun(t, 0, "apply", "-f", definition)
			need(t, claims, ledger, host)
			need(t, ingresses, id.Namespace(), host)
		})
	}
}
