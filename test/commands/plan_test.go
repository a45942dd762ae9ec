package commands

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// save writes the objects of a resource into a folder, as kubectl get -o yaml does.
func save(t *testing.T, folder string, resource schema.GroupVersionResource, namespace string, edit func(*unstructured.Unstructured)) {
	t.Helper()
	list, err := harness.Objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		edit(&list.Items[i])
	}
	list.SetKind("List")
	list.SetAPIVersion("v1")
	text, err := yaml.Marshal(list.UnstructuredContent())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, resource.Resource+".yaml"), string(text))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// inPlaceOf are what a diff is made on: the cluster; a folder with the objects of the cluster; and one with what render prints for a lease,
// and the claims as a Git repository would have them, without what the API server adds.
var inPlaceOf = map[string]func(*testing.T, string, string) []string{
	"the cluster": func(*testing.T, string, string) []string { return nil },
	"exported": func(t *testing.T, _, _ string) []string {
		t.Helper()
		folder := t.TempDir()
		save(t, folder, claims, ledger, asRendered)
		for _, resource := range []schema.GroupVersionResource{namespaces, ingresses, services, hosts, leasedIPs, pools, adverts, kinds.BGPAdvertisement.Resource()} {
			save(t, folder, resource, "", asRendered)
		}
		return []string{"--kubeconfig", "/no/such/kubeconfig", "--ledger", folder}
	},
	"rendered": func(t *testing.T, config, definition string) []string {
		t.Helper()
		folder := t.TempDir()
		save(t, folder, claims, ledger, func(o *unstructured.Unstructured) {
			o.Object["metadata"] = map[string]any{"name": o.GetName(), "namespace": ledger, "labels": o.Object["metadata"].(map[string]any)["labels"], "annotations": o.Object["metadata"].(map[string]any)["annotations"]}
		})
		write(t, filepath.Join(folder, "lease.yaml"), mustRun(t, 0, "render", "--ledger", "cluster", "--config", config, "-f", definition).Stdout)
		write(t, filepath.Join(folder, "pools.yaml"), mustRun(t, 0, "render", "pools", "--ledger", "cluster", "--config", config).Stdout)
		return []string{"--kubeconfig", "/no/such/kubeconfig", "--ledger", folder}
	},
}

// A plan that was made on a cluster, or on files of it, is carried out on the cluster as it was saved, and once.
func TestPlanIsCarriedOut(t *testing.T) {
	t.Parallel()
	for name, on := range inPlaceOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, subnet := leaseOf(newOwner(t), 1), newNet()
			one, two, three := newDomain(), newDomain(), newDomain()
			config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
			now, next := define(t, id, web("web", 8080, one, two), leased("game", "public", 7001)), define(t, id, larger(one, three), leased("game", "public", 7002))
			mustRun(t, 0, "apply", "--config", config, "-f", now)
			diff := append([]string{"diff", "--config", config, "-f", next}, on(t, config, now)...)
			if name == "exported" {
				if got, want := mustRun(t, 1, diff...), mustRun(t, 1, diff[:5]...); got.Stdout != want.Stdout || got.Stderr != "" {
					t.Errorf("on files:\n%s\non the cluster:\n%s", got, want)
				}
			}
			made := mustRun(t, 1, append(diff, "-o", "json")...).Stdout
			var p plan.Plan
			if err := json.Unmarshal([]byte(made), &p); err != nil {
				t.Fatal(err)
			}
			actions := map[plan.Action]bool{}
			for _, c := range p.Leases[0].Changes {
				actions[c.Action] = true
				if c.Unpinned != (name == "rendered" && c.Before != nil) || c.UID != "" && c.Unpinned {
					t.Errorf("%s %s is unpinned: %v, with UID %q", c.Action, c.ID(), c.Unpinned, c.UID)
				}
			}
			if len(actions) != 5 || strings.Contains(made, "unknown-") {
				t.Errorf("the plan does %v: %s", actions, made)
			}
			mustRun(t, 0, "apply", "--config", config, "--plan", file(t, made))
			mustRun(t, 0, "diff", "--config", config, "-f", next)
			held(t, two)
			mustRun(t, 1, "apply", "--config", config, "--plan", file(t, made)).Says(t, "the plan is out of date")
			mustRun(t, 2, "apply", "--plan", file(t, made), "-f", next).Says(t, "--filename cannot be used with --plan")
			mustRun(t, 2, "apply", "--plan", file(t, made), "--prune=false").Says(t, "--prune cannot be used with --plan")
			mustRun(t, 3, "apply", "--plan", file(t, "apiVersion: net.akash.network/v1alpha1\nkind: Plan\nleases: [{lease: a/1/1/1/b}]\n"))
		})
	}
}

// A plan that has gone stale is refused where the cluster has something else: the objects are named, and nothing is written.
func TestStalePlan(t *testing.T) {
	t.Parallel()
	moves := map[string]func(t *testing.T, id lease.ID, stays, goes string) (moved string){
		"a value that would change": func(t *testing.T, id lease.ID, stays, _ string) string {
			setByHand(t, ingresses, id.Namespace(), stays, "kubectl-edit", `{"metadata":{"annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"7"}}}`)
			return "ingress/" + id.Namespace() + "/" + stays
		},
		"an object that would go": func(t *testing.T, id lease.ID, _, goes string) string {
			setClass(t, id.Namespace(), goes, "kubectl-edit", "traefik")
			return "ingress/" + id.Namespace() + "/" + goes
		},
		"an object that is gone": func(t *testing.T, _ lease.ID, stays, _ string) string {
			remove(t, hosts, manifests, stays)
			return "providerhost/lease/" + stays
		},
		"a claim that was given up": func(t *testing.T, id lease.ID, _, goes string) string {
			mustRun(t, 0, "release", id.Group().String(), goes)
			return "host/" + goes
		},
		"a thing that was taken": func(t *testing.T, _ lease.ID, stays, _ string) string {
			mustRun(t, 0, "reserve", "--lease", leaseOf(newOwner(t), 1).String(), "b."+stays)
			return "lease/"
		},
	}
	for name, move := range moves {
		for _, on := range []string{"the cluster", "rendered"} {
			t.Run(name+", "+on, func(t *testing.T) {
				t.Parallel()
				id, stays, goes := leaseOf(newOwner(t), 1), newDomain(), newDomain()
				config, now := configure(t, "ip: {ranges: ["+newNet()+"0/29]}"), define(t, id, web("web", 8080, stays, goes))
				mustRun(t, 0, "apply", "--config", config, "-f", now)
				saved := file(t, mustRun(t, 1, append([]string{"diff", "--config", config, "-f", define(t, id, larger(stays, "b."+stays)), "-o", "yaml"}, inPlaceOf[on](t, config, now)...)...).Stdout)
				moved, p := move(t, id, stays, goes), startProxy(t, nil)
				mustRun(t, 1, "apply", "--plan", saved, "--config", config, "--kubeconfig", p.kubeconfig).Says(t, "the plan is out of date", moved)
				if writes := p.written(); len(writes) > 0 {
					t.Errorf("it wrote %q", writes)
				}
			})
		}
	}
}

// What moves while a plan is carried out is not overwritten, and a host that another deployment of the owner takes meanwhile is not left
// out. What was written before stays, with its claim.
func TestPlanMovesWhileItIsCarriedOut(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(t), 1), newDomain()
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	added, taken := "b."+host, "c."+host
	saved := file(t, mustRun(t, 1, "diff", "-o", "json", "-f", define(t, id, larger(host, added, taken))).Stdout)
	const bySomebody = `{"metadata":{"annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"7"}}}`
	at := func(wanted string, move func()) string {
		once := sync.OnceFunc(move)
		p := startProxy(t, nil)
		var lists atomic.Int32
		p.onTheWay = func(_ context.Context, r request) {
			if r.String() == "LIST leases" {
				lists.Add(1)
			}
			if r.short() == wanted || wanted == "" && lists.Load() == 2 {
				once()
			}
		}
		return p.kubeconfig
	}
	taking := at("", func() { mustRun(t, 0, "reserve", taken, "--lease", leaseOf(id.Owner, 2).String()) })
	mustRun(t, 1, "apply", "--plan", saved, "--concurrency=1", "--kubeconfig", taking).Says(t, "the plan is out of date", taken)
	held(t, added)
	held(t, taken, "2 /")
	if names := objectsOf(t, id); slices.Contains(names, "ingresses/"+added) {
		t.Errorf("the lease has %q", names)
	}
	mustRun(t, 0, "release", leaseOf(id.Owner, 2).String())
	editing := at("PATCH ingresses/"+host, func() { setByHand(t, ingresses, id.Namespace(), host, "kubectl-edit", bySomebody) })
	mustRun(t, 1, "apply", "--plan", saved, "--concurrency=1", "--kubeconfig", editing).Says(t, "the plan is out of date: ingress/"+id.Namespace()+"/"+host)
	if size := need(t, ingresses, id.Namespace(), host).GetAnnotations()["nginx.ingress.kubernetes.io/proxy-body-size"]; size != "7" {
		t.Errorf("the body size is %q", size)
	}
	held(t, added, "1 /")
}
