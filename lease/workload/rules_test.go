package workload_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// service is a service whose parts testdata/rules.txt replaces.
const service = `
- name: web
  expose: [{port: 81, global: true}]
  workload:
    image: nginx
    count: 1
    env: [A=b]
    resources:
      {id: 1, cpu: 0.5, cpuAttributes: {arch: arm64}, memory: 512Mi, gpu: {units: 1, attributes: [vendor/amd/model/mi300]},
      storage: [{name: default, size: 1Gi}, {name: shm, size: 64Mi, class: ram, persistent: false}, {name: data, size: 1Gi, class: beta2, persistent: true}]}
    params: {storage: {data: {mount: /data}, shm: {mount: /dev/shm}}, permissions: {read: [logs]}}
    credentials: {host: ghcr.io, username: bob, password: hunter2}`

// What a LeaseDefinition may say of what a service runs: `go test ./lease/workload -rewrite` writes what is said now. Each line
// replaces parts of the service above, "PART => OTHER & PART => OTHER"; "a×N" is N times a, ";;" ends a line.
//
//	web      the service of the definition
//	another  a second service, called api, beside the one above: the two have a unit in common
func TestRules(t *testing.T) {
	t.Parallel()
	times := regexp.MustCompile(`(.)×(\d+)`)
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			changed := service
			if d.Cmd == "another" {
				changed = strings.Replace(service, "name: web", "name: api", 1)
			}
			for part := range strings.SplitSeq(line, " & ") {
				old, other, _ := strings.Cut(part, " =>")
				if !strings.Contains(changed, old) {
					t.Fatalf("%q is not in the service", old)
				}
				other = times.ReplaceAllStringFunc(strings.ReplaceAll(strings.TrimPrefix(other, " "), ";;", "\n"), func(s string) string {
					m := times.FindStringSubmatch(s)
					n, _ := strconv.Atoi(m[2])
					return strings.Repeat(m[1], n)
				})
				changed = strings.Replace(changed, old, other, 1)
			}
			text := "apiVersion: net.akash.network/v1alpha1\nkind: LeaseDefinition\nmetadata: {name: shop}\nspec:\n  lease: {owner: akash1xqnd68gm, dseq: 1, gseq: 1, oseq: 1, provider: akash1yqd7y67h}\n  services:"
			if d.Cmd == "another" {
				text += strings.ReplaceAll(service, "\n", "\n  ")
			}
			problems, err := input.Read(t.Context(), strings.NewReader(text+strings.ReplaceAll(changed, "\n", "\n  ")), "", input.Options{Workloads: true}, func(*lease.Definition) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, line)
			if len(problems) == 0 {
				fmt.Fprintln(&out, "    good")
			}
			for _, p := range problems {
				what := ""
				if p.Warning {
					what = "warning: "
				}
				fmt.Fprintf(&out, "    %s%s\n", what, p.Message)
				if strings.Contains(p.Message, "hunter2") {
					t.Errorf("%s: a secret is repeated", line)
				}
			}
		}
		return out.String()
	})
}

// good is a definition of one service with a volume of each kind.
func good() *lease.Definition {
	attributes := func(class, persistent string) []resources.Attribute {
		return []resources.Attribute{{Key: "class", Value: class}, {Key: "persistent", Value: persistent}}
	}
	return &lease.Definition{
		Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 81, Protocol: lease.TCP, Global: true}}}},
		Workloads: &lease.Workloads{Services: []lease.Workload{{
			Name: "web", Image: "nginx", Count: 1, Env: []string{"A=b"},
			Resources: resources.Resources{ID: 1, CPU: 100, Volumes: []resources.Volume{
				{Name: "default"}, {Name: "shm", Attributes: attributes("ram", "false")}, {Name: "data", Attributes: attributes("beta2", "true")},
			}},
			Params:      &lease.Params{Storage: []lease.Mount{{Volume: "data", Path: "/data"}, {Volume: "shm", Path: "/dev/shm"}}, Permissions: &lease.Permissions{Read: []string{"logs"}}},
			Credentials: &lease.Credentials{Host: "ghcr.io", Username: "bob"},
		}}},
	}
}

// said is what is said of the good definition, changed.
func said(change func(d *lease.Definition, w *lease.Workload)) string {
	d := good()
	change(d, &d.Workloads.Services[0])
	return workload.Check(d).Error()
}

// Each limit is held at its edge: what is allowed is named first, what is not behind it.
func TestEdges(t *testing.T) {
	services := func(n int) func(*lease.Definition, *lease.Workload) {
		return func(d *lease.Definition, _ *lease.Workload) {
			for i := 1; i < n; i++ {
				other := d.Workloads.Services[0]
				other.Name, other.Resources.ID = fmt.Sprintf("s%d", i), uint32(i)+1
				d.Workloads.Services = append(d.Workloads.Services, other)
			}
		}
	}
	count := func(n uint32) func(*lease.Definition, *lease.Workload) {
		return func(_ *lease.Definition, w *lease.Workload) { w.Count = n }
	}
	// total makes two units, of which each replica takes as much.
	total := func(cpu, memory, gpu uint64, counts ...uint32) func(*lease.Definition, *lease.Workload) {
		return func(d *lease.Definition, w *lease.Workload) {
			services(len(counts))(d, w)
			for i, n := range counts {
				r := &d.Workloads.Services[i].Resources
				r.CPU, r.Memory, r.GPU.Units, d.Workloads.Services[i].Count = cpu, memory, gpu, n
			}
		}
	}
	named := func(n int, rest func(*lease.Definition, *lease.Workload)) func(*lease.Definition, *lease.Workload) {
		return func(d *lease.Definition, w *lease.Workload) {
			w.Name = strings.Repeat("w", n)
			d.Services[0].Name = w.Name
			w.Resources.Volumes, w.Params, w.Credentials = nil, nil, nil
			rest(d, w)
		}
	}
	port := func(d *lease.Definition, _ *lease.Workload) { d.Services[0].Expose[0].Port = 81 }
	ingress := func(d *lease.Definition, _ *lease.Workload) { d.Services[0].Expose[0].Port = 80 }
	inside := func(d *lease.Definition, _ *lease.Workload) { d.Services[0].Expose[0].Global = false }
	volume := func(n int) func(*lease.Definition, *lease.Workload) {
		return func(_ *lease.Definition, w *lease.Workload) {
			w.Resources.Volumes[1].Name = strings.Repeat("v", n)
			w.Params.Storage[1].Volume = w.Resources.Volumes[1].Name
		}
	}
	for name, c := range map[string]struct {
		good, bad func(*lease.Definition, *lease.Workload)
		want      string
	}{
		"no replica":         {count(1), count(0), "the count is 0; at least one must run"},
		"CPU of a group":     {count(192_000), count(192_001), "the group takes 19200100m of CPU in all; Akash accepts 19200"},
		"CPU of its units":   {total(resources.MaxCPU, 0, 0, 1, 49), total(resources.MaxCPU, 0, 0, 2, 49), "the group takes 19584 of CPU in all"},
		"memory of a group":  {total(10, resources.MaxMemory, 0, 1, 49), total(10, resources.MaxMemory, 0, 2, 49), "the group takes 102Ti of memory in all; Akash accepts 100Ti"},
		"GPUs of a group":    {total(10, 0, resources.MaxGPU, 1, 49), total(10, 0, resources.MaxGPU, 2, 49), "the group takes 1224 GPUs in all; Akash accepts 1200"},
		"most replicas":      {count(50), total(10, resources.MaxMemory, 0, 1<<32-1, 1<<32-1), "of CPU in all"},
		"memory overflows":   {count(50), total(0, resources.MaxMemory, 0, 1<<32-1, 1<<32-1), "of memory in all"},
		"name of a NodePort": {named(60, port), named(61, port), `-np", 64 characters`},
		"name, with a route": {named(63, ingress), named(64, ingress), "has 64 characters; at most 63"},
		"name, inside":       {named(63, inside), named(64, inside), "has 64 characters; at most 63"},
		"name of a volume":   {volume(59), volume(60), `64 characters; at most 63 are allowed`},
	} {
		if got := said(c.good); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		if got := said(c.bad); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Whose an object is follows from its name, whatever the services are called: made of one service it is of no other one.
func TestMadeOfOneService(t *testing.T) {
	name := rapid.StringMatching(`[a-z]([-a-z]{0,6}[a-z])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		hash := rapid.StringMatching(`[bcdf2456789]{8,10}`).Draw(t, "hash")
		suffix := rapid.StringMatching(`[bcdfz2456789]{5}`).Draw(t, "suffix")
		for kind, object := range map[string]string{
			"Deployment": a, "ReplicaSet": a + "-" + hash, "Pod": a + "-" + hash + "-" + suffix, "PersistentVolumeClaim": a + "-data-" + a + "-0", "Service": a,
		} {
			if !workload.Made(a, kind, object) {
				t.Fatalf("the %s %s is not of %s", kind, object, a)
			}
			// A service "a-b" could be meant by a name of "a" only where its own name ends as such hashes do.
			if a != b && workload.Made(b, kind, object) && !strings.HasPrefix(a, b+"-") && !strings.HasPrefix(b, a+"-") {
				t.Fatalf("the %s %s is of %s and of %s", kind, object, a, b)
			}
		}
	})
}

func TestMade(t *testing.T) {
	for _, tt := range []struct {
		service, kind, name string
		want                bool
	}{
		{"web", "Deployment", "web", true},
		{"web", "Deployment", "web-api", false},
		{"web", "Deployment", "we", false},
		{"web", "StatefulSet", "web", true},
		{"web", "ReplicaSet", "web-7d4b9c6f5b", true},
		{"web", "ReplicaSet", "web-api-7d4b9c6f5b", false},
		{"web-api", "ReplicaSet", "web-api-7d4b9c6f5b", true},
		{"web", "ReplicaSet", "web-api", false}, // hashes have no vowels
		{"web", "Pod", "web-7d4b9c6f5b-x2x9q", true},
		{"web", "Pod", "web-api-7d4b9c6f5b-x2x9q", false},
		{"web", "Pod", "web-7d4b9c6f5b", false},
		{"web", "Pod", "web-0", true},
		{"web", "Pod", "web-12", true},
		{"web", "Pod", "web-api-0", false},
		{"web-api", "Pod", "web-api-0", true},
		{"web", "Pod", "web", false},
		{"web", "Service", "web", true},
		{"web", "Service", "web-np", true},
		{"web", "Service", "web-ip-443-tcp", true},
		{"web", "Service", "web-ip-443-sctp", false},
		{"web", "Service", "web-api-np", false},
		{"db", "PersistentVolumeClaim", "db-data-db-0", true},
		{"db", "PersistentVolumeClaim", "db-my-data-db-11", true},
		{"db", "PersistentVolumeClaim", "db-data-web-0", false},
		{"db", "PersistentVolumeClaim", "db-data-db", false},
		{"db", "PersistentVolumeClaim", "web-data-db-0", false},
		{"web", "Node", "web", false},
		{"", "Deployment", "web", false},
		{"web", "Pod", "", false},
	} {
		if got := workload.Made(tt.service, tt.kind, tt.name); got != tt.want {
			t.Errorf("%s %q of service %q: %t", tt.kind, tt.name, tt.service, got)
		}
	}
}
