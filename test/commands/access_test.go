package commands

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

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

// stranger adds a user without any role.
func stranger(t *testing.T) (u user, name string) {
	t.Helper()
	name, _, path, err := harness.Plane.AddUser()
	if err != nil {
		t.Fatal(err)
	}
	return user{kubeconfig: path}, name
}

// bind gives a user a role of the cluster and one of the ledger's namespace, as the messages and rbac.yaml say, and waits until the API
// server knows.
func bind(t *testing.T, u user, name, clusterRole, role string) {
	t.Helper()
	shared := bareCluster{harness.Plane, harness.Objects}
	shared.binding(t, "", clusterRole, name)
	shared.binding(t, ledger, role, name)
	eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
		return runAs(ctx, u.kubeconfig, "state", "hosts").Code == 0, nil
	})
}

// bound is the kubeconfig of a new user with a role of the cluster and one of the ledger's namespace.
func bound(t *testing.T, clusterRole, role string) string {
	t.Helper()
	u, name := stranger(t)
	bind(t, u, name, clusterRole, role)
	return u.kubeconfig
}

// userOf adds a user and gives it a role, which is one of the cluster and one of the ledger's namespace.
func userOf(t *testing.T, role, _ string) (u user, name string) {
	t.Helper()
	u, name = stranger(t)
	bind(t, u, name, role, role)
	return u, name
}

// Without a role nothing goes, and the message says which role to ask for; with the operator's role, or as an operator (--as), leases are
// applied and released in each mode. A namespace the operator does not delete, and nothing is installed.
func TestOperator(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	u, name := stranger(t)
	id, host := leaseOf(newTenant(t), 1), newHost("operator")
	group, namespace := id.Group().String(), "namespace/"+id.Namespace()
	definition := defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public"))
	for _, args := range [][]string{{"apply", "-f", definition}, {"release", group}} {
		u.run(t, args...).Exits(t, 1).Says(t, "not allowed to", name, "--clusterrole=akash-net-operator", "--role=akash-net-operator")
	}
	for _, args := range [][]string{{"state"}, {"explain", host}, {"check", host, "--lease", id.String()}, {"config", "view"}} {
		u.run(t, args...).Exits(t, 1).Says(t, "not allowed to", name, "--clusterrole=akash-net-viewer", "--role=akash-net-viewer")
	}
	with := configure(t, "ip: {}")
	for _, args := range [][]string{{"install", "--config", with}, {"uninstall", "--config", with}, {"uninstall"}, {"uninstall", "--force"}} {
		if r := u.run(t, args...).Exits(t, 1).Says(t, "not allowed: ", "take a cluster administrator"); strings.Contains(r.Stderr, "akash-net-operator") {
			t.Errorf("it advises a role that does not help: %s", r)
		}
	}
	bind(t, u, name, "akash-net-operator", "akash-net-operator")
	for _, mode := range []string{"range", "dedicated"} {
		u := u.with(configure(t, "ip: {mode: "+mode+", ranges: ["+v4+"0/30]}"))
		u.do(t, "apply", "-f", definition).Prints(t, "is live", "granted "+v4+"0")
		u.do(t, "release", group)
		if pool := "akash-net-" + strings.ReplaceAll(v4, ".", "-") + "0-30"; mode == "range" {
			remove(t, adverts, metalLB, pool)
			remove(t, pools, metalLB, pool)
		}
	}
	next, other := leaseOf(id.Owner, 2), newHost("other")
	for _, args := range [][]string{
		{"reserve", other, "--lease", id.String()}, {"transfer", other, "--to", next.String()}, {"explain", other}, {"check", other, "--lease", next.String()}, {"release", next.String()},
	} {
		harness.Run(t.Context(), append(args, "--as", name)...).Exits(t, 0)
	}
	u.do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	u.run(t, "release", group, "--delete-namespace").Exits(t, 1).Prints(t, "host/"+host+" released").Says(t, "not allowed to", "delete namespaces", "list every kind")
	need(t, namespaces, "", id.Namespace())
	harness.Run(t.Context(), "release", group, "--delete-namespace").Exits(t, 0).Prints(t, namespace+" deleting (")
	u.run(t, "install").Exits(t, 1).Says(t, "not allowed", "take a cluster administrator")
}

// Without credentials no role is asked for, which would be everybody's.
func TestWithoutCredentials(t *testing.T) {
	t.Parallel()
	nobody := clientcmdapi.NewConfig()
	nobody.Clusters["here"] = &clientcmdapi.Cluster{Server: harness.Plane.Config.Host, CertificateAuthorityData: harness.Plane.Config.CAData}
	nobody.Contexts["here"], nobody.CurrentContext = &clientcmdapi.Context{Cluster: "here"}, "here"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*nobody, path); err != nil {
		t.Fatal(err)
	}
	id := leaseOf(newTenant(t), 1)
	for _, args := range [][]string{
		{"state"}, {"doctor"}, {"apply", "-f", defineParts(t, id, webPart(newHost("nobody")))}, {"install", "--config", configure(t, "ip: {}")}, {"uninstall"},
	} {
		if r := runAs(t.Context(), path, args...).Says(t, "does not know these credentials"); r.Code == 0 || strings.Contains(r.Stderr+r.Stdout, "rolebinding") {
			t.Errorf("a role is asked for: %s", r)
		}
	}
}

// The viewer's role shows the book and changes nothing. Who has but half of the operator's rights transfers nothing.
func TestViewer(t *testing.T) {
	t.Parallel()
	viewer := bound(t, "akash-net-viewer", "akash-net-viewer")
	do := func(code int, args ...string) result {
		t.Helper()
		return runAs(t.Context(), viewer, args...).Exits(t, code)
	}
	id, host := leaseOf(newTenant(t), 1), newHost("viewer")
	green := leaseOf(id.Owner, 2)
	definition := defineParts(t, id, webPart(host))
	mustRun(t, 0, "apply", "-f", definition)
	mustRun(t, 0, "apply", "-f", defineParts(t, green, webPart(host))).Prints(t, "withheld")
	for _, args := range [][]string{{"state"}, {"state", "routes"}, {"explain", host}} {
		do(0, args...).Prints(t, host)
	}
	do(0, "check", newHost("viewer"), "--lease", id.String())
	do(0, "apply", "-f", definition).Prints(t, "unchanged")
	do(1, "apply", "-f", defineParts(t, leaseOf(id.Owner, 3), webPart(newHost("viewer")))).Says(t, "not allowed to patch leases.coordination.k8s.io", "akash-net-operator")
	do(1, "release", id.Group().String()).Says(t, "not allowed to list manifests.akash.network")
	for _, half := range []string{bound(t, "akash-net-operator", "akash-net-viewer"), bound(t, "akash-net-viewer", "akash-net-operator")} {
		runAs(t.Context(), half, "transfer", host, "--to", green.String(), "--assume-serving").Exits(t, 1).Says(t, "not allowed")
		need(t, ingresses, id.Namespace(), host)
	}
	absent(t, ingresses, green.Namespace(), host)
}

// The roles give no more than the commands need.
func TestRolesGiveNoMore(t *testing.T) {
	t.Parallel()
	reviews := kubernetes.NewForConfigOrDie(harness.Plane.Config).AuthorizationV1().SubjectAccessReviews()
	for role, actions := range map[string][]string{
		"akash-net-operator": {
			"patch /namespaces", "update /namespaces", "delete /namespaces", "patch /namespaces/status", "patch /services/status", "update /services/status",
			"patch akash.network/providerhosts/status", "create akash.network/manifests", "list /secrets", "get /secrets", "create /pods",
			"patch coordination.k8s.io/leases", "patch admissionregistration.k8s.io/validatingadmissionpolicies", "bind rbac.authorization.k8s.io/clusterroles", "impersonate /users",
		},
		"akash-net-viewer": {
			"get akash.network/manifests", "list akash.network/manifests", "watch akash.network/manifests", "list /secrets", "create /namespaces",
			"patch /services", "patch networking.k8s.io/ingresses", "patch akash.network/providerhosts", "delete networking.k8s.io/ingresses",
		},
	} {
		_, name := userOf(t, role, "list")
		for _, action := range actions {
			verb, rest, _ := strings.Cut(action, " ")
			what := append(strings.Split(rest, "/"), "")
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name, Groups: []string{"system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: what[0], Resource: what[1], Subresource: what[2]}}}
			if answer, err := reviews.Create(t.Context(), review, metav1.CreateOptions{}); err != nil || answer.Status.Allowed {
				t.Errorf("%s may %s (%v)", role, action, err)
			}
		}
	}
}
