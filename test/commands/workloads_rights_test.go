package commands

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// newReader adds a user without any role, and says how to bind one to it, also in a namespace.
func newReader(t *testing.T) (kubeconfig string, bind func(role, namespace string)) {
	t.Helper()
	name, _, kubeconfig, err := harness.Plane.AddUser()
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig, func(role, namespace string) {
		t.Helper()
		args := []string{"create", "clusterrolebinding", name + role, "--clusterrole=" + role, "--user=" + name}
		switch namespace {
		case "":
		case ledger:
			args = []string{"-n", ledger, "create", "rolebinding", name, "--role=" + role, "--user=" + name}
		default:
			args = []string{"-n", namespace, "create", "rolebinding", name + role, "--clusterrole=" + role, "--user=" + name}
		}
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// Logs have a role of their own, which allows nothing else, and so has what is noted of a lease. Bound in the namespace of a lease it is
// enough for that lease.
func TestRightsForLogs(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(t), harness.StartKubelet(t)
	d.deploy(t, "1")
	web := harness.Pods(t, d.id.Namespace(), "web", 1)
	kubelet.Runs(t, web[0])
	kubelet.Prints(web[0], "hello\n")
	kubeconfig, bind := newReader(t)
	for _, tt := range []struct {
		args         []string
		denied, role string
		prints       string
	}{
		{[]string{"logs", d.id.String(), "--service", "web"}, "not allowed: pods is forbidden", "akash-net-logs", "hello\n"},
		{[]string{"events", d.id.String()}, "not allowed", "akash-net-status", "ScalingReplicaSet"},
	} {
		runAs(t.Context(), kubeconfig, tt.args...).Exits(t, 1).Says(t, tt.denied, "kubectl -n "+d.id.Namespace()+" create rolebinding NAME --clusterrole="+tt.role)
		runAs(t.Context(), kubeconfig, tt.args[0], d.id.Group().String()).Exits(t, 1).Says(t, "not allowed", "--clusterrole=akash-net-")
		bind(tt.role, d.id.Namespace())
		var got result
		eventually(t, "the role is enough", func(ctx context.Context) (bool, error) {
			got = runAs(ctx, kubeconfig, tt.args...)
			return got.Code == 0, nil
		})
		got.Prints(t, tt.prints)
	}
	if err := harness.Kubectl(t.Context(), "", []string{"KUBECONFIG=" + kubeconfig}, "-n", "kube-system", "auth", "can-i", "get", "pods/log"); err == nil {
		t.Error("the logs of kube-system can be read")
	}
}

// Whoever looks at names alone needs no right to look at what runs: what the configuration asks for is left out with a note,
// what the user asks for is refused with the role that allows it.
func TestRightsForStates(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	d.deploy(t, "1")
	kubeconfig, bind := newReader(t)
	bind("akash-net-viewer", "")
	bind("akash-net-viewer", ledger)
	leases := func(args ...string) harness.Result {
		return harness.RunAs(t.Context(), kubeconfig, append([]string{"state", "leases", d.id.String(), "--no-headers"}, args...)...)
	}
	harness.Eventually(t, "the viewer sees names", func(context.Context) (bool, error) { return leases().Code == 0, nil })
	leases("--workloads").Exits(t, 1).Says(t, "not allowed: ", "--clusterrole=akash-net-status")
	leases("--workloads", "--watch").Exits(t, 1).Says(t, "--clusterrole=akash-net-status")
	on := harness.Configure(t, "workloads: {enabled: true}")
	leases("--config", on).Exits(t, 0).Prints(t, "Active").Says(t, "Note: workloads are not shown: the role akash-net-status is required")
	if quiet := leases("--config", on, "--workloads=false").Exits(t, 0); quiet.Stderr != "" {
		t.Error(quiet)
	}
	bind("akash-net-status", "")
	var got harness.Result
	harness.Eventually(t, "the role is enough", func(context.Context) (bool, error) {
		got = leases("--config", on)
		return got.Code == 0 && got.Stderr == "", nil
	})
	got.Prints(t, "0/2", "service db: 0 of 1 ready")
}

// someone adds a user with cluster roles, who may watch all that they allow but one resource; "" for none. Who has the viewer's
// role may look at the ledger.
func someone(t *testing.T, unwatched string, roles ...string) (kubeconfig string) {
	t.Helper()
	name, _, kubeconfig, err := harness.Plane.AddUser()
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(args ...string) {
		t.Helper()
		if err := harness.Kubectl(t.Context(), "", nil, append(args, "--user="+name)...); err != nil {
			t.Fatal(err)
		}
	}
	clusterRoles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	for _, role := range roles {
		if role == "akash-net-viewer" {
			kubectl("-n", "akash-net", "create", "rolebinding", name, "--role="+role)
		}
		rules, _, _ := unstructured.NestedSlice(harness.Need(t, clusterRoles, "", role).Object, "rules")
		for _, r := range rules {
			if rule := r.(map[string]any); slices.Contains(rule["resources"].([]any), any(unwatched)) {
				rule["verbs"] = slices.DeleteFunc(rule["verbs"].([]any), func(v any) bool { return v == "watch" })
			}
		}
		own := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name + "-" + role}, "rules": rules}}
		if _, err := harness.Objects.Resource(clusterRoles).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		kubectl("create", "clusterrolebinding", name+"-"+role, "--clusterrole="+name+"-"+role)
	}
	return kubeconfig
}

// noted notes an event of the lease.
func (d *deployment) noted(t *testing.T, name, message string) {
	t.Helper()
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Namespace: d.id.Namespace(), Name: "web"}, Type: "Normal", Reason: "Test", Message: message}
	if _, err := harness.Client().CoreV1().Events(d.id.Namespace()).Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Each command that follows something is allowed by its roles alone, and shows what changes. Without the right to watch it says
// which role is missing, and does not stand there and show nothing.
func TestRightsToWatch(t *testing.T) {
	t.Parallel()
	d, kubelet := newDeployment(t), harness.StartKubelet(t)
	d.deploy(t, "1")
	ns := d.id.Namespace()
	pods := append(harness.Pods(t, ns, "web", 1), harness.Pods(t, ns, "db", 1)...)
	kubelet.Runs(t, pods[0])
	kubelet.Prints(pods[0], "hello\n")
	d.noted(t, "first", "first event")
	for name, tt := range map[string]struct {
		roles         []string
		watched, role string
		args          []string
		shows, later  string
		change        func()
	}{
		"events": {
			roles: []string{"akash-net-status"}, watched: "events", args: []string{"events", d.id.Group().String(), "-w"}, role: "akash-net-status",
			shows: "first event", later: "second event", change: func() { d.noted(t, "second", "second event") },
		},
		"logs": {
			roles: []string{"akash-net-logs"}, watched: "pods", args: []string{"logs", d.id.Group().String(), "-f"}, role: "akash-net-logs",
			shows: "hello", later: "more", change: func() { kubelet.Prints(pods[0], "more\n") },
		},
		"state": {
			roles: []string{"akash-net-viewer", "akash-net-status"}, watched: "manifests",
			args: []string{"state", "leases", d.id.String(), "--workloads", "-w"}, role: "akash-net-status",
			shows: "active", later: "complete", change: func() { harness.Runs(t, pods...) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			lacks := someone(t, tt.watched, tt.roles...)
			var got harness.Result
			harness.Eventually(t, "the watch is refused", func(ctx context.Context) (bool, error) {
				got = harness.RunAs(ctx, lacks, tt.args...)
				return strings.Contains(got.Stderr, "cannot watch resource \""+tt.watched+"\""), nil
			})
			got.Exits(t, 1).Says(t, "not allowed", "--clusterrole="+tt.role)
			kubeconfig := someone(t, "", tt.roles...)
			once := slices.DeleteFunc(slices.Clone(tt.args), func(arg string) bool { return arg == "-w" || arg == "-f" })
			harness.Eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
				return harness.RunAs(ctx, kubeconfig, once...).Code == 0, nil
			})
			s := followAs(t, kubeconfig, tt.args...)
			s.expects(tt.shows)
			tt.change()
			s.expects(tt.later)
			s.stop(interrupt)
			if code, errOut := s.wait(); code != 130 || strings.Contains(errOut, "Error") || !strings.Contains(errOut, "Interrupted.") {
				t.Errorf("exit code %d, %s", code, errOut)
			}
		})
	}
}

// The operator's role is not enough for what leases run: the answer names the role that is missing, which install brings
// on request alone. With both, a lease is applied, changed and released.
func TestRoles(t *testing.T) {
	if harness.Find(t, clusterRoles, "", "akash-net-workloads") != nil {
		t.Error("install brought the role for workloads unasked")
	}
	name, _, kubeconfig, err := harness.Plane.AddUser()
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
	x := newDeployer(t).web("web:1").cache(persistent, mounted).watch()
	as := func(code int, args ...string) harness.Result {
		t.Helper()
		var r harness.Result
		harness.Eventually(t, "the roles are bound", func(ctx contextT) (bool, error) {
			r = silent(t, harness.RunAs(ctx, kubeconfig, args...))
			return r.Code == code, nil
		})
		return r
	}
	routes := newDeployer(t).web("web:1")
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
	akashs := newDeployer(t).web("web:1")
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
