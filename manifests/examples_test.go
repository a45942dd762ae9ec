package manifests_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
)

// wallets are those of the two tenants and of the provider, with valid checksums.
var wallets = []string{
	"akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

// What stands in each example, and which routes and workloads are made of it: testdata/examples.txt; with -update it is written. The
// lease of an SDL stands in its second line; the thief wants the shop's host.
func TestExamples(t *testing.T) {
	names, err := filepath.Glob("examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	params, problems, err := input.ReadScheduler(bytes.NewReader(example(t, "train-params.json")), "train-params.json")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var got strings.Builder
	for _, name := range names {
		name = filepath.Base(name)
		text := string(example(t, name))
		for i, line := range strings.SplitN(text, "\n", 4)[:3] {
			if strings.HasPrefix(line, "# ") != (i < 2) {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
		for _, wallet := range regexp.MustCompile(`akash1[0-9a-z]*`).FindAllString(text, -1) {
			if !slices.Contains(wallets, wallet) {
				t.Errorf("%s: unknown wallet %s", name, wallet)
			}
		}
		fmt.Fprintf(&got, "%s\n", name)
		if name == "provider-config.yaml" {
			cfg, problems, err := config.Read(strings.NewReader(text), name)
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			fmt.Fprintf(&got, "    mode %s, ranges %v %v\n", cfg.IP.Mode, cfg.IP.Ranges.Texts(config.IPv4), cfg.IP.Ranges.Texts(config.IPv6))
			continue
		}
		if name == "live-routes.yaml" {
			continue // routes of a cluster, for migrate
		}
		opt := input.Options{Workloads: strings.Contains(text, "image:")}
		if _, of, ok := strings.Cut(strings.SplitN(text, "\n", 3)[1], "--lease "); ok {
			id, err := lease.ParseID(of)
			if err != nil {
				t.Fatal(name, err)
			}
			opt.Lease = &id
		}
		problems, err := input.Read(t.Context(), strings.NewReader(text), name, opt, func(def *lease.Definition) error {
			fmt.Fprintf(&got, "    lease %s\n", def.Lease)
			for _, e := range def.IPEndpoints {
				fmt.Fprintf(&got, "    endpoint %s %v\n", e.Name, e.Addresses)
				def.IPEndpoints = nil
			}
			for i, s := range def.Services {
				var routed []lease.Expose
				for _, e := range s.Expose {
					fmt.Fprintf(&got, "    %s %d as %d/%s global %t ip %q\n", s.Name, e.Port, e.ExternalPort(), e.Protocol, e.Global, e.IP)
					if e.IP == "" {
						routed = append(routed, e)
					}
				}
				def.Services[i].Expose = routed
			}
			objects, err := render.Lease(def, config.Default(), nil)
			if err != nil {
				return err
			}
			rendered, err := workload.Lease(def, config.Default(), workload.Options{Scheduler: params})
			for _, o := range append(objects, rendered.Objects...) {
				fmt.Fprintf(&got, "    %s\n", o)
			}
			return err
		})
		if err != nil || problems.Failed() {
			t.Errorf("%s: %v %v", name, err, problems)
		}
	}
	generated(t, "testdata/examples.txt", got.String())
}

func example(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
