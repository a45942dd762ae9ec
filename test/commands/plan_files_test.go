package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
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
		if edit != nil {
			edit(&list.Items[i])
		}
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

// exportedFiles is a folder with the objects of the cluster.
func exportedFiles(t *testing.T, _ lease.ID, _ ...string) string {
	t.Helper()
	folder := t.TempDir()
	save(t, folder, claims, ledger, nil)
	for _, resource := range []schema.GroupVersionResource{namespaces, ingresses, services, hosts, leasedIPs, pools, kinds.L2Advertisement.Resource(), kinds.BGPAdvertisement.Resource()} {
		save(t, folder, resource, "", nil)
	}
	return folder
}

// renderedFiles is a folder with what render prints for a lease, and the claims as a Git repository would have them:
// without what the API server adds.
func renderedFiles(t *testing.T, id lease.ID, input ...string) string {
	t.Helper()
	folder := t.TempDir()
	save(t, folder, claims, ledger, func(o *unstructured.Unstructured) {
		o.Object["metadata"] = map[string]any{"name": o.GetName(), "namespace": ledger, "labels": o.Object["metadata"].(map[string]any)["labels"], "annotations": o.Object["metadata"].(map[string]any)["annotations"]}
	})
	write(t, filepath.Join(folder, "lease.yaml"), mustRun(t, 0, append([]string{"render", "--ledger", "cluster"}, input...)...).Stdout)
	write(t, filepath.Join(folder, "pools.yaml"), mustRun(t, 0, append([]string{"render", "pools", "--ledger", "cluster"}, input[:len(input)-2]...)...).Stdout)
	return folder
}

// onFiles runs a diff with a folder in place of the cluster, and without one.
func onFiles(t *testing.T, folder string, args ...string) result {
	t.Helper()
	r := runAs(t.Context(), "/no/such/kubeconfig", append([]string{"diff", "--ledger", folder}, args...)...)
	if r.Code != 1 {
		t.Fatalf("want exit code 1: %s", r)
	}
	return r
}

// A diff on exported objects is the diff on the cluster.
func TestDiffOnFilesIsThatOnTheCluster(t *testing.T) {
	t.Parallel()
	owner, subnet := newOwner(), newNet()
	id, one, two, three := leaseOf(owner, 1), newDomain(), newDomain(), newDomain()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, one), leased("game", "public", 7001)))
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, leaseOf(owner, 2), web("web", 8080, two)))
	folder := exportedFiles(t, id)
	for name, definition := range map[string]string{
		"changed":  define(t, id, strings.Replace(web("web", 8081, one, three), "hosts:", "http: {maxBodySize: 2097152}, hosts:", 1), leased("game", "public", 7002)),
		"pruned":   define(t, id, web("web", 8080, three)),
		"withheld": define(t, id, web("web", 8080, one, two)),
		"refused":  define(t, leaseOf(newOwner(), 1), web("web", 8080, one)),
	} {
		want := mustRun(t, 1, "diff", "--config", config, "-f", definition)
		if got := onFiles(t, folder, "--config", config, "-f", definition); got.Stdout != want.Stdout || got.Stderr != "" {
			t.Errorf("%s: on files:\n%s\non the cluster:\n%s", name, got, want)
		}
	}
}

// A plan that was made on files is carried out on the cluster: on exported objects, and on rendered ones, of which
// nothing is known but what they say.
func TestPlanOfFilesIsCarriedOut(t *testing.T) {
	t.Parallel()
	for name, folderOf := range map[string]func(*testing.T, lease.ID, ...string) string{"exported": exportedFiles, "rendered": renderedFiles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, subnet := leaseOf(newOwner(), 1), newNet()
			one, two, three := newDomain(), newDomain(), newDomain()
			config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
			now := define(t, id, web("web", 8080, one, two), leased("game", "public", 7001))
			mustRun(t, 0, "apply", "--config", config, "-f", now)
			next := define(t, id, strings.Replace(web("web", 8080, one, three), "hosts:", "http: {maxBodySize: 2097152}, hosts:", 1), leased("game", "public", 7002))
			made := onFiles(t, folderOf(t, id, "--config", config, "-f", now), "--config", config, "-f", next, "-o", "json").Stdout
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
		})
	}
}

// A plan that was made on files is refused where the cluster has something else: the objects are named, and nothing
// is written.
func TestStalePlanOfFiles(t *testing.T) {
	t.Parallel()
	edit := func(t *testing.T, id lease.ID, host, patch string) {
		t.Helper()
		_, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Patch(t.Context(), host, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
		if err != nil {
			t.Fatal(err)
		}
	}
	moves := map[string]func(t *testing.T, id lease.ID, stays, goes string) (moved string){
		"a value that would change": func(t *testing.T, id lease.ID, stays, _ string) string {
			edit(t, id, stays, `{"metadata":{"annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"7"}}}`)
			return "ingress/" + id.Namespace() + "/" + stays
		},
		"a value that stays": func(t *testing.T, id lease.ID, stays, _ string) string {
			edit(t, id, stays, `{"spec":{"ingressClassName":"traefik"}}`)
			return "ingress/" + id.Namespace() + "/" + stays
		},
		"an object that would go": func(t *testing.T, id lease.ID, _, goes string) string {
			edit(t, id, goes, `{"spec":{"ingressClassName":"traefik"}}`)
			return "ingress/" + id.Namespace() + "/" + goes
		},
		"an object that is gone": func(t *testing.T, _ lease.ID, stays, _ string) string {
			remove(t, hosts, "lease", stays)
			return "providerhost/lease/" + stays
		},
		"a claim that was given up": func(t *testing.T, id lease.ID, _, goes string) string {
			mustRun(t, 0, "release", id.Group().String(), goes)
			return "host/" + goes
		},
	}
	for folderName, folderOf := range map[string]func(*testing.T, lease.ID, ...string) string{"exported": exportedFiles, "rendered": renderedFiles} {
		for name, move := range moves {
			t.Run(folderName+": "+name, func(t *testing.T) {
				t.Parallel()
				id, stays, goes := leaseOf(newOwner(), 1), newDomain(), newDomain()
				config := configure(t, "ip: {ranges: ["+newNet()+"0/29]}")
				now := define(t, id, web("web", 8080, stays, goes))
				mustRun(t, 0, "apply", "--config", config, "-f", now)
				next := define(t, id, strings.Replace(web("web", 8080, stays), "hosts:", "http: {maxBodySize: 2097152}, hosts:", 1))
				saved := file(t, onFiles(t, folderOf(t, id, "--config", config, "-f", now), "--config", config, "-f", next, "-o", "yaml").Stdout)
				moved := move(t, id, stays, goes)
				p := startProxy(t, func(string) bool { return false })
				out := mustRun(t, 1, "apply", "--plan", saved, "--config", config, "--kubeconfig", p.kubeconfig).Says(t, "the plan is out of date", moved)
				if writes := p.sent(everything...); len(writes) > 0 {
					t.Errorf("it wrote %q", writes)
				}
				if names := strings.Count(out.Stderr, id.Namespace()+"/"); name == "an object that would go" && names != 1 {
					t.Errorf("more is named than what moved: %s", out)
				}
				if name != "a claim that was given up" && !slices.Contains(ownedBy(t, id), "ingresses/"+goes) {
					t.Errorf("the lease has %q", ownedBy(t, id))
				}
			})
		}
	}
}
