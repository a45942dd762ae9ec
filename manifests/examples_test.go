package manifests_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
)

// Wallets with valid checksums.
const (
	tenantOne = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	tenantTwo = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	provider  = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

// definition has the fields of a LeaseDefinition that the examples use.
type definition struct {
	APIVersion, Kind string
	Metadata         struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Lease struct {
			Owner, Provider  string
			DSeq, GSeq, OSeq int
		}
		Services []struct {
			Name   string
			Expose []expose
		}
		IPEndpoints []struct {
			Name      string
			Addresses []string
		}
	}
}

type expose struct {
	Port, As int
	Protocol string
	Global   bool
	Hosts    []string
	IP       string
}

func TestExamplesBeginWithTwoLinesOfComment(t *testing.T) {
	names, err := filepath.Glob("examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"examples/blog.yaml", "examples/deploy.yaml", "examples/live-routes.yaml", "examples/provider-config.yaml", "examples/routes.yaml",
		"examples/shop.yaml", "examples/thief.yaml", "examples/train.yaml", "examples/wiki.yaml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	for _, name := range names {
		lines := strings.SplitN(string(example(t, filepath.Base(name))), "\n", 4)
		for i, line := range lines[:3] {
			if strings.HasPrefix(line, "# ") != (i < 2) {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
	}
}

func TestExamplesHaveKnownWallets(t *testing.T) {
	wallets := regexp.MustCompile(`akash1[0-9a-z]*`)
	names, err := filepath.Glob("examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, wallet := range wallets.FindAllString(string(example(t, filepath.Base(name))), -1) {
			if !slices.Contains([]string{tenantOne, tenantTwo, provider}, wallet) {
				t.Errorf("%s: unknown wallet %s", name, wallet)
			}
		}
	}
}

func TestExampleShop(t *testing.T) {
	shop := lessee(t, "shop.yaml", tenantOne)
	want := []expose{
		{Port: 8080, As: 80, Global: true, Hosts: []string{"shop.example.com"}},
		{Port: 8443, As: 443, Global: true, IP: "public"},
		{Port: 8443, As: 443, Protocol: "UDP", Global: true, IP: "public"},
	}
	if len(shop.Spec.Services) != 1 || shop.Spec.Services[0].Name != "web" {
		t.Fatalf("services: %+v", shop.Spec.Services)
	}
	if diff := cmp.Diff(want, shop.Spec.Services[0].Expose); diff != "" {
		t.Error(diff)
	}
	if len(shop.Spec.IPEndpoints) != 1 || shop.Spec.IPEndpoints[0].Name != "public" {
		t.Errorf("endpoints: %+v", shop.Spec.IPEndpoints)
	}
}

func TestExampleThiefWantsTheShopsHost(t *testing.T) {
	blog, thief := lessee(t, "blog.yaml", tenantTwo), lessee(t, "thief.yaml", tenantTwo)
	if blog.Spec.Lease.DSeq == thief.Spec.Lease.DSeq {
		t.Error("the thief is the blog's own deployment")
	}
	if got := hosts(blog); !slices.Equal(got, []string{"blog.example.com"}) || len(blog.Spec.IPEndpoints) != 1 {
		t.Errorf("the blog asks for %v and %v", got, blog.Spec.IPEndpoints)
	}
	if got, want := hosts(thief), hosts(lessee(t, "shop.yaml", tenantOne)); !slices.Equal(got, want) {
		t.Errorf("the thief asks for %v, the shop has %v", got, want)
	}
}

// TestExampleRoutes checks the routes of the example on the default target.
func TestExampleRoutes(t *testing.T) {
	var names []string
	problems, err := input.Read(t.Context(), bytes.NewReader(example(t, "routes.yaml")), "routes.yaml", input.Options{}, func(def *lease.Definition) error {
		objects, err := render.Lease(def, config.Default(), nil)
		for _, o := range objects {
			names = append(names, o.String())
		}
		return err
	})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := []string{"providerhost/docs.example.com", "ingress/docs.example.com", "ingress/" + lease.RouteName("docs.example.com", "/v2")}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// The workloads of the examples are rendered with the scheduler params next to them.
func TestExamplesOfWorkloads(t *testing.T) {
	params, problems, err := input.ReadScheduler(bytes.NewReader(example(t, "train-params.json")), "train-params.json")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	id, err := lease.ParseID(tenantOne + "/8438030/1/1/" + provider)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		lease *lease.ID
		opt   workload.Options
		want  []string
	}{
		"train.yaml": {&id, workload.Options{Scheduler: params}, []string{"deployment/notebook", "deployment/trainer"}},
		"wiki.yaml":  {nil, workload.Options{}, []string{"statefulset/db", "deployment/wiki"}},
	} {
		problems, err := input.Read(t.Context(), bytes.NewReader(example(t, name)), name, input.Options{Lease: c.lease, Workloads: true}, func(def *lease.Definition) error {
			rendered, err := workload.Lease(def, config.Default(), c.opt)
			for _, want := range c.want {
				if !slices.ContainsFunc(rendered.Objects, func(o render.Object) bool { return o.String() == want }) {
					t.Errorf("%s has no %s: %v", name, want, rendered.Objects)
				}
			}
			return err
		})
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", name, err, problems)
		}
	}
}

func TestExampleSDL(t *testing.T) {
	data := example(t, "deploy.yaml")
	var sdl struct {
		Version  string
		Services map[string]struct {
			Expose []struct {
				Accept []string
				To     []struct {
					Global bool
					IP     string
				}
			}
		}
		Deployment map[string]map[string]struct{ Profile string }
		Endpoints  map[string]struct{ Kind string }
	}
	if err := yaml.Unmarshal(data, &sdl); err != nil {
		t.Fatal(err)
	}
	api := sdl.Services["api"].Expose
	if sdl.Version != "2.0" || sdl.Deployment["api"]["dcloud"].Profile != "api" || len(api) != 2 {
		t.Fatalf("%+v", sdl)
	}
	if got := api[0].Accept; !slices.Equal(got, []string{"api.example.com"}) || !api[0].To[0].Global {
		t.Errorf("hosts: %v", got)
	}
	if ip := api[1].To[0].IP; ip == "" || sdl.Endpoints[ip].Kind != "ip" {
		t.Errorf("endpoint %q of %v", ip, sdl.Endpoints)
	}
	_, id, ok := strings.Cut(strings.SplitN(string(data), "\n", 3)[1], "--lease ")
	if _, err := lease.ParseID(id); !ok || err != nil {
		t.Errorf("the comment gives no lease: %v", err)
	}
}

func TestExampleRangesCanBeLeased(t *testing.T) {
	var document struct {
		Spec struct {
			IP struct {
				Mode   string
				Ranges []string
			}
		}
	}
	if err := yaml.Unmarshal(example(t, "provider-config.yaml"), &document); err != nil {
		t.Fatal(err)
	}
	ip := document.Spec.IP
	if diff := cmp.Diff([]string{"203.0.113.0/28", "2001:db8:10::/120"}, ip.Ranges); diff != "" || ip.Mode != config.ModeRange {
		t.Errorf("mode %s\n%s", ip.Mode, diff)
	}
	for _, r := range ip.Ranges {
		if _, err := config.ParseRange(r); err != nil {
			t.Error(err)
		}
	}
}

func lessee(t *testing.T, name, owner string) definition {
	t.Helper()
	var d definition
	if err := yaml.UnmarshalStrict(example(t, name), &d); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	l := d.Spec.Lease
	if d.APIVersion != "net.akash.network/v1alpha1" || d.Kind != "LeaseDefinition" || d.Metadata.Name+".yaml" != name ||
		d.Metadata.Annotations["config.kubernetes.io/local-config"] != "true" {
		t.Errorf("%s: %+v", name, d)
	}
	if l.Owner != owner || l.Provider != provider || l.DSeq == 0 || l.GSeq != 1 || l.OSeq != 1 {
		t.Errorf("%s: lease %+v", name, l)
	}
	return d
}

func hosts(d definition) []string {
	var all []string
	for _, s := range d.Spec.Services {
		for _, e := range s.Expose {
			all = append(all, e.Hosts...)
		}
	}
	return all
}

func example(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
