package commands

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// everything are the resources of which a plan may change something.
var everything = []string{"ingresses", "services", "providerhosts", "providerleasedips", "leases", "namespaces", "ipaddresspools", "l2advertisements", "bgpadvertisements"}

// savePlan writes the plan of a definition into a file.
func savePlan(t *testing.T, format string, args ...string) string {
	t.Helper()
	return file(t, mustRun(t, 1, append([]string{"diff", "-o", format}, args...)...).Stdout)
}

// A plan is carried out as it was saved, from an SDL's definition too, and once.
func TestPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "yaml"} {
		id, subnet := leaseOf(newOwner(), 1), newNet()
		one, two := newDomain(), newDomain()
		config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
		for _, definition := range []string{
			define(t, id, web("web", 8080, one), leased("game", "public", 7001)),
			define(t, id, web("web", 8081, two), leased("game", "public", 7002)),
		} {
			saved := savePlan(t, format, "--config", config, "-f", definition)
			mustRun(t, 0, "apply", "--plan", saved, "--config", config, "--wait=false")
			mustRun(t, 0, "diff", "--config", config, "-f", definition)
			p := startProxy(t, func(string) bool { return false })
			mustRun(t, 1, "apply", "--plan", saved, "--config", config, "--kubeconfig", p.kubeconfig).Says(t, "the plan is out of date")
			if writes := p.sent(everything...); len(writes) > 0 {
				t.Errorf("a plan that is out of date wrote %q", writes)
			}
		}
	}
}

// A plan that has gone stale is refused, with the names of what has moved, and nothing is written.
func TestStalePlan(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(t *testing.T, host string, definition func(port int, hosts ...string) string) (moved string){
		"an object was changed": func(t *testing.T, host string, definition func(int, ...string) string) string {
			mustRun(t, 0, "apply", "-f", definition(9000, host))
			return "ingress/"
		},
		"a thing was taken": func(t *testing.T, host string, _ func(int, ...string) string) string {
			mustRun(t, 0, "apply", "-f", define(t, leaseOf(newOwner(), 1), web("web", 80, "b."+host)))
			return "lease/"
		},
		"an object is gone": func(t *testing.T, host string, definition func(int, ...string) string) string {
			remove(t, hosts, "lease", host)
			return "providerhost/lease/" + host
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, host := leaseOf(newOwner(), 1), newDomain()
			definition := func(port int, hosts ...string) string { return define(t, id, web("web", port, hosts...)) }
			mustRun(t, 0, "apply", "-f", definition(8080, host))
			saved := savePlan(t, "json", "-f", definition(8081, host, "b."+host))
			moved := move(t, host, definition)
			p := startProxy(t, func(string) bool { return false })
			mustRun(t, 1, "apply", "--plan", saved, "--kubeconfig", p.kubeconfig).Says(t, "the plan is out of date", moved)
			if writes := p.sent(everything...); len(writes) > 0 {
				t.Errorf("it wrote %q", writes)
			}
		})
	}
}

// What moves while a plan is carried out is not overwritten. What was written before stays, with its claim.
func TestObjectMovesWhileAPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	added := "b." + host
	saved := savePlan(t, "json", "-f", define(t, id, strings.Replace(web("web", 8080, host, added), "hosts:", "http: {maxBodySize: 2097152}, hosts:", 1)))
	moved := false
	p := startProxy(t, nil)
	p.before = func(request string) {
		if request == "PATCH ingresses/"+host && !moved {
			moved = true
			_, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Patch(t.Context(), host, types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"7"}}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
			if err != nil {
				t.Error(err)
			}
		}
	}
	mustRun(t, 1, "apply", "--plan", saved, "--concurrency=1", "--kubeconfig", p.kubeconfig).
		Says(t, "the plan is out of date: ingress/"+id.Namespace()+"/"+host)
	if !moved {
		t.Fatal("the Ingress was never written")
	}
	ingress, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Get(t.Context(), host, metav1.GetOptions{})
	if size := ingress.GetAnnotations()["nginx.ingress.kubernetes.io/proxy-body-size"]; err != nil || size != "7" {
		t.Errorf("the body size is %q (%v)", size, err)
	}
	held(t, added, "1 /")
}

// A host that another deployment of the owner takes between the comparison of the plan and its run: the plan is not
// carried out without it.
func TestHostIsTakenBeforeAPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	owner, domain := newOwner(), newDomain()
	id, sibling := leaseOf(owner, 1), leaseOf(owner, 2)
	saved := savePlan(t, "json", "-f", define(t, id, web("web", 8080, "a."+domain, "b."+domain)))
	var mu sync.Mutex
	lists := 0
	p := startProxy(t, nil)
	p.before = func(request string) {
		mu.Lock()
		defer mu.Unlock()
		if request != "GET akash-net/leases" {
			return
		}
		if lists++; lists == 2 {
			mustRun(t, 0, "reserve", "b."+domain, "--lease", sibling.String())
		}
	}
	mustRun(t, 1, "apply", "--plan", saved, "--kubeconfig", p.kubeconfig).Says(t, "the plan is out of date", "b."+domain)
	if lists < 2 {
		t.Fatalf("the claims were listed %d times", lists)
	}
	held(t, "a."+domain)
	held(t, "b."+domain, "2 /")
	if names := ownedBy(t, id); len(names) > 0 {
		t.Errorf("the lease has %q", names)
	}
}

func TestPlansThatAreNone(t *testing.T) {
	t.Parallel()
	definition := define(t, leaseOf(newOwner(), 1), web("web", 8080, newDomain()))
	saved := savePlan(t, "json", "-f", definition)
	mustRun(t, 2, "apply", "--plan", saved, "-f", definition).Says(t, "--filename cannot be used with --plan")
	mustRun(t, 2, "apply", "--plan", saved, "--prune=false").Says(t, "--prune cannot be used with --plan")
	for _, text := range []string{"", "{}", "[]", "7", `{"apiVersion": "v1", "kind": "List"}`, "apiVersion: net.akash.network/v1alpha1\nkind: Plan\nleases: [{lease: a/1/1/1/b}]\n", "a: [\n"} {
		mustRun(t, 3, "apply", "--plan", file(t, text))
	}
	mustRun(t, 3, "apply", "--plan", "/no/such/file")
}
