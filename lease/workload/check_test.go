package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

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

// Each case changes the good definition; an empty want means that it is still good.
func TestCheck(t *testing.T) {
	long := strings.Repeat("w", 61)
	for name, c := range map[string]struct {
		change func(d *lease.Definition, w *lease.Workload)
		want   string
	}{
		"nothing":                          {func(*lease.Definition, *lease.Workload) {}, ""},
		"no workloads":                     {func(d *lease.Definition, _ *lease.Workload) { d.Workloads = nil }, ""},
		"no name":                          {func(_ *lease.Definition, w *lease.Workload) { w.Name = "" }, ""},
		"bad name":                         {func(_ *lease.Definition, w *lease.Workload) { w.Name = "Web" }, "is not a service name"},
		"no image":                         {func(_ *lease.Definition, w *lease.Workload) { w.Image = "" }, "it has no image"},
		"image, newline":                   {func(_ *lease.Definition, w *lease.Workload) { w.Image = "a\nb" }, "is not the name of an image"},
		"count 0":                          {func(_ *lease.Definition, w *lease.Workload) { w.Count = 0 }, "the count is 0"},
		"count 51":                         {func(_ *lease.Definition, w *lease.Workload) { w.Count = 51 }, ""},
		"variable":                         {func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{"=hunter2"} }, "env[0]: it does not begin with the name"},
		"variable, digit first":            {func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{"1A=hunter2"} }, "env[0]: it does not begin with the name"},
		"variable with a space":            {func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{"A B=hunter2"} }, "env[0]: it does not begin with the name"},
		"variable with two dots first":     {func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{"..a=hunter2"} }, "env[0]: it does not begin with the name"},
		"variable with marks":              {func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{"_a.B-1=c"} }, ""},
		"zero byte":                        {func(_ *lease.Definition, w *lease.Workload) { w.Env = []string{"A=hunter2\x00"} }, "has a zero byte"},
		"volumes alike":                    {func(_ *lease.Definition, w *lease.Workload) { w.Resources.Volumes[0].Name = "shm" }, `two volumes named "shm"`},
		"name of a volume that is made":    {func(_ *lease.Definition, w *lease.Workload) { w.Resources.Volumes[1].Name = "S" }, `"S" is not the name of a volume`},
		"name of a volume that is not":     {func(_ *lease.Definition, w *lease.Workload) { w.Resources.Volumes[0].Name = "S" }, ""},
		"long name of a volume":            {func(_ *lease.Definition, w *lease.Workload) { w.Resources.Volumes[1].Name = long }, "65 characters; at most 63"},
		"mount of nothing":                 {func(_ *lease.Definition, w *lease.Workload) { w.Params.Storage[1].Volume = "x" }, `mounts the volume "x"`},
		"relative mount":                   {func(_ *lease.Definition, w *lease.Workload) { w.Params.Storage[0].Path = "data" }, "not an absolute path"},
		"mounts alike":                     {func(_ *lease.Definition, w *lease.Workload) { w.Params.Storage[0].Path = "/dev/shm" }, "at the same path"},
		"mounted twice":                    {func(_ *lease.Definition, w *lease.Workload) { w.Params.Storage[1].Volume = "data" }, "mounted twice"},
		"a persistent volume, not mounted": {func(_ *lease.Definition, w *lease.Workload) { w.Params = nil }, "mounted nowhere"},
		"unknown permission":               {func(_ *lease.Definition, w *lease.Workload) { w.Params.Permissions.Read = []string{"pods"} }, "gives no rights"},
		"no host":                          {func(_ *lease.Definition, w *lease.Workload) { w.Credentials.Host = " " }, "no host"},
		"no user":                          {func(_ *lease.Definition, w *lease.Workload) { w.Credentials.Username = "" }, "no username"},
		"long name of a service": {func(d *lease.Definition, w *lease.Workload) {
			w.Name, d.Services[0].Name = long, long
			w.Resources.Volumes, w.Params = nil, nil
		}, "NodePort Service would be named"},
		"long name of a service without ports": {func(d *lease.Definition, w *lease.Workload) {
			w.Name, d.Services = long, nil
			w.Resources.Volumes, w.Params = nil, nil
		}, ""},
		"long name of a service with persistent storage": {func(d *lease.Definition, w *lease.Workload) {
			w.Name, d.Services = long[:53], nil
		}, "its name has 53 characters, and with persistent storage"},
		"the longest name of one": {func(d *lease.Definition, w *lease.Workload) {
			w.Name, d.Services = long[:52], nil
		}, ""},
		"services alike": {func(d *lease.Definition, w *lease.Workload) {
			d.Workloads.Services = append(d.Workloads.Services, *w)
		}, `two services named "web"`},
		"a service with the name of a Service": {func(d *lease.Definition, w *lease.Workload) {
			other := *w
			other.Name = "web-np"
			d.Workloads.Services = append(d.Workloads.Services, other)
		}, `the name of the service "web-np"`},
		"a unit that is not shared": {func(d *lease.Definition, w *lease.Workload) {
			other := *w
			other.Name, other.Resources.CPU = "api", 200
			d.Workloads.Services = append(d.Workloads.Services, other)
		}, "resource id 1 in common"},
		"a unit that is": {func(d *lease.Definition, w *lease.Workload) {
			other := *w
			other.Name = "api"
			d.Workloads.Services = append(d.Workloads.Services, other)
		}, ""},
		"many units": {func(d *lease.Definition, w *lease.Workload) {
			for i := range 40 {
				other := *w
				other.Name, other.Resources.ID = fmt.Sprintf("s%d", i), uint32(i)+2
				d.Workloads.Services = append(d.Workloads.Services, other)
			}
		}, ""},
	} {
		d := good()
		c.change(d, &d.Workloads.Services[0])
		problems := workload.Check(d).Error()
		if !strings.Contains(problems, c.want) || c.want == "" && problems != "" {
			t.Errorf("%s: %q, want %q", name, problems, c.want)
		}
		if strings.Contains(problems, "hunter2") {
			t.Errorf("%s: a value is repeated: %s", name, problems)
		}
	}
}
