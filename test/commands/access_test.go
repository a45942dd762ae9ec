package commands

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// kubectl runs the real kubectl as the administrator, with the plugin on its PATH.
func kubectl(t *testing.T, args ...string) result {
	t.Helper()
	return kubectlOf(t, "kubectl", "", args...)
}

// kubectlOf runs a kubectl of the testbed, with text on its standard input.
func kubectlOf(t *testing.T, program, stdin string, args ...string) result {
	t.Helper()
	path, err := programs.Path(program)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+harness.Plane.Kubeconfig, "PATH="+harness.Binaries()+":"+os.Getenv("PATH"))
	return finish(cmd)
}

// bind gives a user a role as the messages and rbac.yaml say, and waits until the API server
// knows.
func bind(t *testing.T, config *rest.Config, name, role, verb string) {
	t.Helper()
	kubectl(t, "create", "clusterrolebinding", name, "--clusterrole="+role, "--user="+name).Exits(t, 0)
	kubectl(t, "-n", ledger, "create", "rolebinding", name, "--role="+role, "--user="+name).Exits(t, 0)
	reviews := kubernetes.NewForConfigOrDie(config).AuthorizationV1().SelfSubjectAccessReviews()
	for _, wanted := range []authorizationv1.ResourceAttributes{
		{Group: "coordination.k8s.io", Resource: "leases", Namespace: ledger, Verb: verb},
		{Group: "networking.k8s.io", Resource: "ingresses", Namespace: "default", Verb: verb},
	} {
		eventually(t, "the role is bound", func(ctx context.Context) (bool, error) {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &wanted}}
			answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		})
	}
}

// userOf adds a user and gives it a role.
func userOf(t *testing.T, role, verb string) (u user, name string) {
	t.Helper()
	name = fmt.Sprint(role, "-", harness.Number())
	config, path, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	bind(t, config, name, role, verb)
	return user{kubeconfig: path}, name
}

// Without a role nothing goes, and the message says which role to ask for; with the operator's
// role leases are applied and released.
func TestOperator(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	name := fmt.Sprint("operator-", harness.Number())
	config, path, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	id, host := leaseOf(newTenant(), 1), newHost("operator")
	definition := defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public"))
	u := user{kubeconfig: path}
	for _, args := range [][]string{{"apply", "-f", definition}, {"release", id.Group().String()}, {"state"}} {
		u.run(t, args...).Exits(t, 1).Says(t, "not allowed to", name, "--clusterrole=akash-net-operator", "--role=akash-net-operator")
	}
	bind(t, config, name, "akash-net-operator", "patch")
	u.do(t, "apply", "-f", definition).Prints(t, "is live")
	u.do(t, "state").Prints(t, host)
	for _, mode := range []string{"range", "dedicated"} {
		u.with(configure(t, "ip: {mode: "+mode+", ranges: ["+v4+"0/30]}")).do(t, "release", id.Group().String(), "--ignore-not-found")
		u.with(configure(t, "ip: {mode: "+mode+", ranges: ["+v4+"0/30]}")).do(t, "apply", "-f", definition).Prints(t, "granted "+v4+"0")
		u.with(configure(t, "ip: {mode: "+mode+", ranges: ["+v4+"0/30]}")).do(t, "release", id.Group().String())
		if mode == "range" {
			remove(t, adverts, metalLB, "akash-net-"+strings.ReplaceAll(v4, ".", "-")+"0-30")
			remove(t, pools, metalLB, "akash-net-"+strings.ReplaceAll(v4, ".", "-")+"0-30")
		}
	}
	u.run(t, "install").Exits(t, 1).Says(t, "not allowed", "take a cluster administrator")
}

// The viewer's role shows the book and changes nothing.
func TestViewer(t *testing.T) {
	t.Parallel()
	u, _ := userOf(t, "akash-net-viewer", "list")
	id, host := leaseOf(newTenant(), 1), newHost("viewer")
	definition := defineParts(t, id, webPart(host))
	admin().do(t, "apply", "-f", definition)
	u.do(t, "state").Prints(t, host)
	u.do(t, "state", "routes").Prints(t, host)
	u.do(t, "apply", "-f", definition).Prints(t, "unchanged")
	u.run(t, "apply", "-f", defineParts(t, leaseOf(id.Owner, 2), webPart(newHost("viewer")))).Exits(t, 1).
		Says(t, "not allowed to patch leases.coordination.k8s.io", "akash-net-operator")
	u.run(t, "release", id.Group().String()).Exits(t, 1).Says(t, "not allowed to list manifests.akash.network")
	need(t, ingresses, id.Namespace(), host)
	need(t, claims, ledger, host)
}

// With the operator's role, and as the operator (--as), every verb does its work, from the lease's
// namespace on, and also under the guard. The roles give no more than that.
func TestRolesGiveNoMore(t *testing.T) {
	t.Parallel()
	_, operator := userOf(t, "akash-net-operator", "patch")
	_, viewer := userOf(t, "akash-net-viewer", "list")
	owner := newTenant()
	blue, green, host := leaseOf(owner, 1), leaseOf(owner, 2), newHost("roles")
	as := func(name string, args ...string) result { return admin().run(t, append(args, "--as", name)...) }
	as(operator, "apply", "-f", defineParts(t, blue, webPart(host))).Exits(t, 0).Prints(t, "namespace/"+blue.Namespace()+" created")
	as(operator, "reserve", newHost("roles"), "--lease", blue.String(), "--prune=false").Exits(t, 0)
	as(operator, "apply", "-f", defineParts(t, green, webPart(host))).Exits(t, 0).Prints(t, "withheld")
	as(operator, "transfer", host, "--to", green.String()).Exits(t, 0).Prints(t, "namespace/"+green.Namespace()+" created")
	as(operator, "check", newHost("roles"), "--lease", green.String()).Exits(t, 0)
	as(operator, "release", owner+"/1/1").Exits(t, 0)
	for _, args := range [][]string{{"state"}, {"state", "routes"}, {"state", "leases"}, {"explain", host}, {"check", newHost("roles"), "--lease", green.String()}} {
		as(viewer, args...).Exits(t, 0)
	}
	as(operator, "release", owner+"/2/1").Exits(t, 0)

	for name, actions := range map[string][]string{
		operator: {
			"patch namespaces", "update namespaces", "delete namespaces", "patch namespaces/status", "patch services/status",
			"update services/status", "patch providerhosts.akash.network/status", "create manifests.akash.network", "list secrets", "get secrets", "create pods",
			"patch leases.coordination.k8s.io", "patch validatingadmissionpolicies.admissionregistration.k8s.io", "bind clusterroles", "impersonate users",
		},
		viewer: {
			"get manifests.akash.network", "list manifests.akash.network", "watch manifests.akash.network", "list secrets", "create namespaces",
			"patch services", "patch ingresses.networking.k8s.io", "patch providerhosts.akash.network", "delete ingresses.networking.k8s.io",
		},
	} {
		for _, action := range actions {
			verb, resource, _ := strings.Cut(action, " ")
			resource, subresource, _ := strings.Cut(resource, "/")
			if r := kubectl(t, "auth", "can-i", verb, resource, "--subresource="+subresource, "--all-namespaces", "--as", name); strings.TrimSpace(r.Stdout) != "no" {
				t.Errorf("%s may %s: %s", name, action, r)
			}
		}
	}
	// What the operator's role was once used for.
	r := kubectl(t, "label", "--overwrite", "namespace", "kube-system", "pod-security.kubernetes.io/enforce=privileged", "--as", operator)
	if r.Code == 0 || !strings.Contains(r.Stderr, "forbidden") {
		t.Errorf("an operator labels kube-system: %s", r)
	}
}

// Without a cluster there is a sentence and a next step.
func TestNoCluster(t *testing.T) {
	t.Parallel()
	definition := defineParts(t, leaseOf(newTenant(), 1), webPart(newHost("none")))
	missing := filepath.Join(harness.Plane.Dir, "no-such-kubeconfig")
	for name, tt := range map[string]struct {
		kubeconfig string
		says       []string
	}{
		"refused":       {kubeconfig(t, "http://127.0.0.1:1"), []string{"no answer from the cluster at http://127.0.0.1:1", "connection refused", "--context"}},
		"no kubeconfig": {missing, []string{"no cluster is configured", "--kubeconfig"}},
		"broken":        {file(t, "clusters: 7\n"), []string{"the kubeconfig cannot be used"}},
	} {
		for _, args := range [][]string{{"apply", "-f", definition}, {"state"}, {"release", "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/1/1"}, {"install"}, {"uninstall"}} {
			r := user{kubeconfig: tt.kubeconfig}.run(t, args...).Exits(t, 1)
			if r.Says(t, tt.says...); t.Failed() {
				t.Fatal(name)
			}
		}
	}
}
