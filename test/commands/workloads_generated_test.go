package commands

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// generated is how many leases are made; where all is tried, then as many as it takes until each kind of object was made.
const generated = 3

// Whatever lease passes: a server-side dry run takes it, an apply makes it, a second one writes nothing and finds no
// difference, and a release leaves nothing. No output has a password.
func TestGeneratedLeases(t *testing.T) {
	t.Parallel()
	draws, seen := 0, map[string]bool{}
	unseen := func(k kinds.Kind) bool { return !seen[k.Kind] }
	rapid.Check(t, func(r *rapid.T) {
		if draws++; draws > generated && (!harness.Long() || !slices.ContainsFunc(kinds.RunningEnds, unseen)) {
			return
		}
		def, params := workgen.Definition(r)
		def.Lease, def.IPEndpoints = harness.LeaseOf(harness.NewOwner(t), 1), nil
		for i := range def.Services {
			def.Workloads.Services[i].Count = min(def.Workloads.Services[i].Count, 2)
			for j := range def.Services[i].Expose {
				e := &def.Services[i].Expose[j]
				e.IP, e.Sequence = "", 0
				if e.IsIngress() && len(e.Hosts) == 0 {
					e.Hosts = []lease.Host{{}}
				}
				for h := range e.Hosts {
					e.Hosts[h].Name = harness.NewHost("g")
				}
			}
		}
		x := &tenant{ID: def.Lease}
		harness.Create(t, "kubectl", cluster.Namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+x.Namespace()+"}}")
		text, err := json.Marshal(input.EncodeSecrets(def))
		if err != nil {
			r.Fatal(err)
		}
		args := []string{"apply", "-f", harness.File(t, string(text)), "--workloads", "--wait=false", "--scheduler-params", harness.File(t, paramsText(params))}
		run := func(code int, more ...string) harness.Result {
			result := harness.Run(t.Context(), append(args, more...)...)
			if result.Code != code || strings.Contains(result.Stdout+result.Stderr, workgen.Password) {
				r.Fatalf("%s\n%s", result, text)
			}
			return result
		}
		run(0, "--dry-run=server")
		if got := names(x.objects(t)); len(got) > 0 {
			r.Fatalf("a dry run made %q", got)
		}
		run(0)
		first := x.objects(t)
		for _, o := range first {
			seen[o.GetKind()] = true
		}
		if again := run(0); strings.Contains(again.Stdout, "configured") || strings.Contains(again.Stdout, "created") {
			r.Fatalf("a second apply writes: %s\n%s", again, text)
		}
		if diff := cmp.Diff(versionsOf(first), versionsOf(x.objects(t))); diff != "" {
			r.Fatalf("a second apply changed (-first +now):\n%s\n%s", diff, text)
		}
		args[0] = "diff"
		args = append(args[:4], args[5:]...) // without --wait
		run(0)
		if result := harness.Run(t.Context(), "release", x.String()); result.Code != 0 || len(x.objects(t)) > 0 {
			r.Fatalf("left are %q: %s", names(x.objects(t)), result)
		}
	})
	for _, kind := range kinds.RunningEnds {
		if harness.Long() && unseen(kind) {
			t.Errorf("no %s was made", kind.Kind)
		}
	}
}

// paramsText is what a reservation chose, as a file has it.
func paramsText(params map[uint32]*lease.SchedulerParams) string {
	parts := []string{}
	for id, p := range params {
		parts = append(parts, fmt.Sprintf(`"%d": {"runtime_class": %q, "resources": {"gpu": {"vendor": %q, "model": %q, "memory_size": %q, "interface": %q}}}`,
			id, p.RuntimeClass, p.GPU().Vendor, p.GPU().Model, p.GPU().MemorySize, p.GPU().Interface))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// A lease of a thousand services is applied, applied again without a write, and released.
func TestManyServices(t *testing.T) {
	harness.NeedsLong(t)
	t.Parallel()
	const many = 1000
	x := newDeployer(t)
	var services []string
	for n := range many {
		services = append(services, fmt.Sprintf(`{name: s%d, expose: [{port: 80, as: 8080}], workload: {image: "a:1", count: 1, resources: {id: 1, cpu: 100m, memory: 64Mi, storage: [{size: 64Mi}]}}}`, n))
	}
	file := harness.File(t, fmt.Sprintf(`{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: many}, spec: {group: dc, lease: {owner: %s, dseq: 1, gseq: 1, oseq: 1, provider: %s}, services: [%s]}}`,
		x.Owner, x.Provider, strings.Join(services, ",\n")))
	apply := []string{"apply", "-f", file, "--workloads", "--wait=false"}
	harness.Run(t.Context(), apply...).Exits(t, 0).Prints(t, "deployment/s0 created", "service/s999 created")
	if got := len(x.objects(t)); got != 2*many+2 {
		t.Errorf("made were %d objects", got)
	}
	if again := harness.Run(t.Context(), apply...).Exits(t, 0); strings.Contains(again.Stdout, "configured") {
		t.Errorf("a second apply writes: %.500s", again.Stdout)
	}
	harness.Run(t.Context(), "release", x.String()).Exits(t, 0)
	x.runsNothing(t)
}
