package commands

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A release says that the lease's namespace stays and what deletes it, and --delete-namespace deletes it,
// also when the lease was released before. The lease can be applied again at once.
func TestReleaseDeletesTheNamespace(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("ends")
	definition, group, namespace := defineParts(t, id, webPart(host)), id.Group().String(), "namespace/"+id.Namespace()
	admin().do(t, "apply", "-f", definition).Prints(t, namespace+" created")
	admin().do(t, "release", group).Prints(t, "host/"+host+" released",
		namespace+" left (to delete it): kubectl akash-net release "+group+" --delete-namespace")
	need(t, cluster.Namespaces, "", id.Namespace())
	admin().do(t, "release", group, "--delete-namespace").Prints(t, "holds nothing", namespace+" deleted")
	absent(t, cluster.Namespaces, "", id.Namespace())

	admin().do(t, "apply", "-f", definition).Prints(t, namespace+" created")
	for _, mode := range []string{"client", "server"} {
		admin().do(t, "release", group, "--delete-namespace", "--dry-run="+mode).Prints(t, "host/"+host+" released", namespace+" deleting (")
		need(t, claims, ledger, host)
		need(t, cluster.Namespaces, "", id.Namespace())
	}
	admin().do(t, "release", group, "--delete-namespace").Prints(t, "host/"+host+" released", namespace+" deleted")
	absent(t, cluster.Namespaces, "", id.Namespace())
	if r := admin().do(t, "release", group, "--ignore-not-found"); strings.Contains(r.Stdout, "namespace/") {
		t.Errorf("a release tells of a namespace that is gone: %s", r)
	}
}

// A namespace stays with what others have put into it, and with who made it.
func TestReleaseKeepsTheNamespace(t *testing.T) {
	t.Parallel()
	t.Run("not empty", func(t *testing.T) {
		id := leaseOf(newTenant(), 1)
		admin().do(t, "apply", "-f", defineParts(t, id, webPart(newHost("full"))))
		kubectl(t, "-n", id.Namespace(), "create", "configmap", "settings").Exits(t, 0)
		admin().do(t, "release", id.Group().String(), "--delete-namespace").Prints(t,
			"namespace/"+id.Namespace()+" left (it is not empty: configmap/settings)")
		need(t, cluster.Namespaces, "", id.Namespace())
	})
	t.Run("somebody else's", func(t *testing.T) {
		id := leaseOf(newTenant(), 1)
		definition := defineParts(t, id, webPart(newHost("theirs")))
		namespace, _, _ := strings.Cut(admin().do(t, "render", "-f", definition, "--with-namespace").Stdout, "\n---\n")
		kubectl(t, "apply", "--server-side", "-f", file(t, namespace)).Exits(t, 0)
		admin().do(t, "apply", "-f", definition)
		admin().do(t, "release", id.Group().String(), "--delete-namespace").Prints(t, "namespace/"+id.Namespace()+" left (kubectl akash-net did not make it")
		need(t, cluster.Namespaces, "", id.Namespace())
		if r := admin().do(t, "release", id.Group().String(), "--ignore-not-found"); strings.Contains(r.Stdout, "namespace/") {
			t.Errorf("a release offers to delete a namespace of somebody else's: %s", r)
		}
	})
	t.Run("not waited for", func(t *testing.T) {
		id := leaseOf(newTenant(), 1)
		admin().do(t, "apply", "-f", defineParts(t, id, webPart(newHost("nowait"))))
		r := admin().do(t, "release", id.Group().String(), "--delete-namespace", "--wait=false").Prints(t, "namespace/"+id.Namespace()+" deleting (it goes as soon as")
		if strings.Contains(r.Stdout, "namespace/"+id.Namespace()+" deleted") {
			t.Errorf("said to be gone: %s", r)
		}
	})
	t.Run("one host", func(t *testing.T) {
		id, host := leaseOf(newTenant(), 1), newHost("one")
		admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
		admin().run(t, "release", id.Group().String(), host, "--delete-namespace").Exits(t, 2).Says(t, "--delete-namespace", host)
		if r := admin().do(t, "release", id.Group().String(), host); strings.Contains(r.Stdout, "namespace/") {
			t.Errorf("the release of a host tells of the namespace: %s", r)
		}
	})
}

// The operator's role deletes no namespace: the release is done, the message says what is missing, and the
// administrator's same command finishes it.
func TestOperatorDeletesNoNamespace(t *testing.T) {
	t.Parallel()
	u, _ := userOf(t, "akash-net-operator", "patch")
	id, host := leaseOf(newTenant(), 1), newHost("role")
	u.do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	u.run(t, "release", id.Group().String(), "--delete-namespace").Exits(t, 1).
		Prints(t, "host/"+host+" released").Says(t, "not allowed to", "delete namespaces", "list every kind")
	need(t, cluster.Namespaces, "", id.Namespace())
	admin().do(t, "release", id.Group().String(), "--delete-namespace").Prints(t, "namespace/"+id.Namespace()+" deleted")
	absent(t, cluster.Namespaces, "", id.Namespace())
}

// The first example of `render --help` works as it is printed, for a lease without a namespace.
func TestFirstExampleOfRender(t *testing.T) {
	t.Parallel()
	id := leaseOf(newTenant(), 1)
	_, examples, _ := strings.Cut(admin().do(t, "render", "--help").Stdout, "Examples:")
	var example string
	for line := range strings.Lines(examples) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "kubectl ") {
			example = line
			break
		}
	}
	const named = "akash1…/8438017/1/1/akash1…"
	if !strings.Contains(example, named) || !strings.Contains(example, "deploy.yaml") {
		t.Fatalf("the example is %q", example)
	}
	const sdl = `
version: "2.0"
services:
  web:
    image: registry.example.com/web:1
    expose:
    - {port: 8080, as: 80, accept: [%s], to: [{global: true}]}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {any: {pricing: {web: {denom: uakt, amount: 100}}}}
deployment: {web: {any: {profile: web, count: 1}}}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "deploy.yaml"), []byte(fmt.Sprintf(sdl, newHost("example"))), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := programs.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", strings.ReplaceAll(example, named, id.String()))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+harness.Plane.Kubeconfig, "PATH="+harness.Binaries()+":"+filepath.Dir(path)+":"+os.Getenv("PATH"))
	finish(cmd).Exits(t, 0)
	if got := objectsOf(t, id); len(got) == 0 {
		t.Error("the example applied nothing")
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
		"before the claims are read": {"LIST leases", "/namespaces/" + ledger + "/", 1, []string{"left (the lease is being applied again)", "has taken this one for crashed"}},
		"before the delete":          {"DELETE namespaces/", "", 1, []string{"apply it again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, host := leaseOf(newTenant(), 1), newHost("again")
			definition := defineParts(t, id, webPart(host))
			admin().do(t, "apply", "-f", definition)
			r := record(t)
			ending, applied := false, false
			r.hold(func(_ context.Context, q request) {
				ending = ending || q.String() == "GET namespaces/"+id.Namespace()
				if ending && !applied && strings.HasPrefix(q.String(), at.request) && strings.Contains(q.path, at.path) {
					applied = true
					admin().do(t, "apply", "-f", definition, "--assume-crashed") // else it waits for the end of the release
				}
			}, nil)
			out := r.run(t, "release", id.Group().String(), "--delete-namespace", "--concurrency", "1").Exits(t, at.code)
			if out.Tells(t, at.says...); !applied {
				t.Errorf("nothing was applied meanwhile: %s", out)
			}
			admin().do(t, "apply", "-f", definition)
			need(t, claims, ledger, host)
			need(t, ingresses, id.Namespace(), host)
		})
	}
}
