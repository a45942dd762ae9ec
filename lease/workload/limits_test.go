package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

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
