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

// A path may be spelled in several ways; it is one all the same.
func TestMountsAreAtPathsOfTheirOwn(t *testing.T) {
	for paths, want := range map[[2]string]string{
		{"/data", "/dev/shm"}: "", {"/data", "/data2"}: "", {"/data", "/Data"}: "", {"/data", "/data/shm"}: "", {"/", "/data"}: "", {"/a b", "/ä"}: "",
		{"/data", "/data"}:       `the volumes "data" and "shm" are mounted at the same path "/data"`,
		{"/data", "/data/"}:      `at the same path "/data/"`,
		{"/data", "//data"}:      "at the same path",
		{"/data", "/./data"}:     "at the same path",
		{"/data", "/x/../data"}:  "at the same path",
		{"/", "/.."}:             "at the same path",
		{"/data", ""}:            `volume "shm": the mount "" is not an absolute path`,
		{"/data", "dev/shm"}:     "is not an absolute path",
		{"/data", "~/shm"}:       "is not an absolute path",
		{"/data", " /shm"}:       "is not an absolute path",
		{"/data", "C:\\shm"}:     "is not an absolute path",
		{"/data", "/dev:shm"}:    "has a character that Kubernetes refuses in a path",
		{"/data", "/dev\x00shm"}: "has a character that Kubernetes refuses in a path",
	} {
		got := said(func(_ *lease.Definition, w *lease.Workload) {
			w.Params.Storage[0].Path, w.Params.Storage[1].Path = paths[0], paths[1]
		})
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", paths, got, want)
		}
	}
}

func TestImagesAndVariables(t *testing.T) {
	for image, want := range map[string]string{
		"nginx": "", "ghcr.io/team/app:3": "", "nginx@sha256:abc": "", "localhost:5000/a": "", "Ünïcode": "",
		"": "it has no image", " ": `" " is not the name of an image`, "nginx ": "is not the name of an image", "a b": "is not the name of an image",
		"a\tb": "is not the name of an image", "a\u00a0b": "is not the name of an image", "a\u202eb": `"a\u202eb" is not the name of an image`,
		"a\x00": "is not the name of an image", "a\x1b[2J": `"a\x1b[2J" is not the name of an image`,
	} {
		got := said(func(_ *lease.Definition, w *lease.Workload) { w.Image = image })
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("image %q: %q, want %q", image, got, want)
		}
	}
	for entry, want := range map[string]string{
		"A=b": "", "A": "", "A=": "", "A==": "", "A=b=c": "", "a.b-c_d=": "", "A=\n": "", "A=ü": "", ".=": "does not begin with the name",
		"1=x": "does not begin with the name", "A B=c": "does not begin with the name", "$A=(b)": "does not begin with the name",
		"": "does not begin with the name", "=": "does not begin with the name", "=b": "does not begin with the name", "Ä=b": "does not begin with the name", "A\n=b": "does not begin with the name",
		"A\x00=b": "does not begin with the name", "A=\x00": `the value of the environment variable "A" has a zero byte`,
	} {
		got := said(func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{entry} })
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("env %q: %q, want %q", entry, got, want)
		}
	}
}

// Services that share a unit have all of its resources in common; endpoints are the unit's own.
func TestUnitsAreShared(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *resources.Resources)
		shared bool
	}{
		"nothing":        {func(*resources.Resources) {}, true},
		"endpoints":      {func(r *resources.Resources) { r.Endpoints = []resources.Endpoint{{Kind: resources.RandomPort}} }, true},
		"cpu":            {func(r *resources.Resources) { r.CPU++ }, false},
		"cpu attributes": {func(r *resources.Resources) { r.CPUAttributes = []resources.Attribute{{Key: "arch", Value: "arm64"}} }, false},
		"memory":         {func(r *resources.Resources) { r.Memory++ }, false},
		"gpu":            {func(r *resources.Resources) { r.GPU.Units = 1 }, false},
		"wishes": {func(r *resources.Resources) {
			r.GPU.Attributes = []resources.Attribute{{Key: "vendor/nvidia/model/*", Value: "true"}}
		}, false},
		"size":             {func(r *resources.Resources) { r.Volumes[0].Size++ }, false},
		"order":            {func(r *resources.Resources) { r.Volumes[0], r.Volumes[1] = r.Volumes[1], r.Volumes[0] }, false},
		"another unit":     {func(r *resources.Resources) { r.ID, r.CPU = 2, 7 }, true},
		"volumes left out": {func(r *resources.Resources) { r.Volumes = r.Volumes[2:] }, false},
	} {
		got := said(func(d *lease.Definition, w *lease.Workload) {
			other := good().Workloads.Services[0]
			other.Name, other.Params = "api", &lease.Params{Storage: w.Params.Storage[:1]}
			c.change(&other.Resources)
			d.Workloads.Services = append(d.Workloads.Services, other)
		})
		if want := `the services "web" and "api" have the resource id 1 in common, but not the resources`; strings.Contains(got, want) == c.shared || c.shared && got != "" {
			t.Errorf("%s: %q", name, got)
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
