package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The operator's role is not enough for what leases run: the answer names the role that is missing, which install brings
// on request alone. With both, a lease is applied, changed and released.
func TestRoles(t *testing.T) {
	if harness.Find(t, clusterRoles, "", "akash-net-workloads") != nil {
		t.Error("install brought the role for workloads unasked")
	}
	name := fmt.Sprint("operator-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) {
		t.Helper()
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	kubectl("create", "clusterrolebinding", name, "--clusterrole=akash-net-operator", "--user="+name)
	kubectl("-n", "akash-net", "create", "rolebinding", name, "--role=akash-net-operator", "--user="+name)
	x := newDeployer().web("web:1").cache(persistent, mounted).watch()
	as := func(code int, args ...string) harness.Result {
		t.Helper()
		var r harness.Result
		harness.Eventually(t, "the roles are bound", func(ctx contextT) (bool, error) {
			r = silent(t, harness.RunAs(ctx, kubeconfig, args...))
			return r.Code == code, nil
		})
		return r
	}
	routes := newDeployer().web("web:1")
	as(0, "apply", "-f", routes.sdl(t), "--lease", routes.String(), "--wait=false")
	apply := x.args(t, "apply", "--wait=false")
	as(1, apply...).Says(t, "not allowed to patch ", "kubectl -n NAMESPACE create rolebinding NAME --clusterrole=akash-net-workloads", "install --workloads")
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("made were %q", got)
	}
	x.apply(t)
	as(1, "release", x.String()).Says(t, "--clusterrole=akash-net-workloads")
	x.do(t, 0, "diff")
	// Whoever may not see what runs gives nothing up where Services show that something does, and is told what is not seen.
	harness.Remove(t, kinds.Manifest.Resource(), "lease", x.Namespace())
	as(1, "release", x.String()).Says(t, "runs something in namespace "+x.Namespace(), "Nothing was released",
		"kubectl -n "+x.Namespace()+" create rolebinding NAME --clusterrole=akash-net-workloads")
	if got := x.objects(t); got["deployment/web"] == nil || got["service/web"] == nil {
		t.Errorf("left are %q", names(got))
	}
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0).Prints(t, "deployment/web deleted")
	as(1, "release", x.String()).Says(t, "holds nothing; whether it runs anything is not yours to see",
		"kubectl -n "+x.Namespace()+" create rolebinding NAME --clusterrole=akash-net-workloads")
	akashs := newDeployer().web("web:1")
	akashs.deployAsAkash(t)
	as(1, "release", akashs.String()).Says(t, "holds nothing; Akash's provider runs it")

	harness.Run(t.Context(), "install", "--workloads").Exits(t, 0).Prints(t, "clusterrole/akash-net-workloads created")
	bound := "rolebinding/" + name
	// Bound in the namespaces of the lease and of the Manifests, and in no other.
	kubectl("-n", x.Namespace(), "create", "rolebinding", name, "--clusterrole=akash-net-workloads", "--user="+name)
	kubectl("-n", "lease", "create", "rolebinding", name, "--clusterrole=akash-net-workloads", "--user="+name)
	as(0, apply...)
	for _, what := range []string{"list secrets", "create deployments.apps", "list deployments.apps", "get pods/log"} {
		verb, resource, _ := strings.Cut(what, " ")
		if err := harness.Kubectl(t.Context(), "", nil, "-n", "kube-system", "auth", "can-i", verb, resource, "--as="+name); err == nil {
			t.Errorf("%s may %s in kube-system", name, what)
		}
	}
	x.web("web:2").without("watch").cache(disk, "")
	as(0, x.args(t, "apply", "--wait=false")...)
	if diff := cmp.Diff([]string{"deployment/cache", "deployment/web", "manifest/NS", "networkpolicy/akash-deployment-restrictions", bound, "secret/docker-creds-web", "service/cache", "service/web"}, names(x.objects(t))); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	as(0, "release", x.String())
	if got := names(x.objects(t)); len(got) != 1 || got[0] != bound {
		t.Errorf("left are %q", got)
	}
}
