package workload_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// runs is a Deployment or a StatefulSet, as far as both have the same fields.
type runs struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Replicas             *int32                         `json:"replicas"`
		Selector             *metav1.LabelSelector          `json:"selector"`
		Template             corev1.PodTemplateSpec         `json:"template"`
		VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
	} `json:"spec"`
}

// drawn is a lease that is drawn, and what is made of it.
type drawn struct {
	def  *lease.Definition
	all  workload.Rendered
	runs map[string]runs
	svcs map[string]corev1.Service
}

func draw(t *rapid.T) drawn {
	def, params := workgen.Definition(t)
	cfg := workgen.Config(t)
	all, err := workload.Lease(def, cfg, workload.Options{Scheduler: params, Secrets: rapid.Bool().Draw(t, "secrets"), Unique: rapid.Bool().Draw(t, "unique")})
	if err != nil {
		t.Fatal(err)
	}
	d := drawn{def: def, all: all, runs: map[string]runs{}, svcs: map[string]corev1.Service{}}
	for _, o := range all.Objects {
		switch o.Kind.Kind {
		case "Deployment", "StatefulSet":
			d.runs[o.Name] = as[runs](t, o)
		case "Service":
			d.svcs[o.Name] = as[corev1.Service](t, o)
		}
	}
	return d
}

// as is a rendered object as its type.
func as[T any](t *rapid.T, o any) (out T) {
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A workload selects its own pods and no others of the lease; so does each Service, which has only ports that the service
// exposes, and all of them.
func TestWhatSelectsPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		if len(d.runs) != len(d.def.Workloads.Services) {
			t.Fatalf("%d workloads for %d services", len(d.runs), len(d.def.Workloads.Services))
		}
		for _, w := range d.def.Workloads.Services {
			r := d.runs[w.Name]
			if *r.Spec.Replicas != int32(w.Count) || !maps.Equal(r.Spec.Selector.MatchLabels, r.Spec.Template.Labels) || len(r.Spec.Selector.MatchExpressions) > 0 {
				t.Errorf("%s: %+v selects %+v", w.Name, r.Spec.Selector, r.Spec.Template.Labels)
			}
			for other, o := range d.runs {
				if other != w.Name && maps.Equal(o.Spec.Template.Labels, r.Spec.Selector.MatchLabels) {
					t.Errorf("%s selects pods of %s", w.Name, other)
				}
			}
			checkServices(t, d, w.Name)
		}
		if extra := len(d.svcs); extra > 0 {
			t.Errorf("Services of no service: %v", slices.Sorted(maps.Keys(d.svcs)))
		}
	})
}

// checkServices takes the Services of a service out of those that are drawn.
func checkServices(t *rapid.T, d drawn, name string) {
	reached := map[string]bool{}
	for _, s := range []corev1.Service{d.svcs[name], d.svcs[name+"-np"]} {
		if s.Name == "" {
			continue
		}
		delete(d.svcs, s.Name)
		if !maps.Equal(s.Spec.Selector, d.runs[name].Spec.Template.Labels) {
			t.Errorf("service %s selects %v", s.Name, s.Spec.Selector)
		}
		names := map[string]bool{}
		for _, p := range s.Spec.Ports {
			if names[p.Name] || len(p.Name) > 15 {
				t.Errorf("service %s: the port %q", s.Name, p.Name)
			}
			names[p.Name] = true
			reached[fmt.Sprint(s.Spec.Type, p.Port, p.Protocol)] = true
			if !slices.ContainsFunc(d.def.Ports(name), func(e lease.Expose) bool {
				return int32(e.Port) == p.TargetPort.IntVal && int32(e.ExternalPort()) == p.Port && string(e.Protocol) == string(p.Protocol)
			}) {
				t.Errorf("service %s: %+v is exposed by nothing", s.Name, p)
			}
		}
	}
	for _, e := range d.def.Ports(name) {
		kind := corev1.ServiceTypeClusterIP
		if e.Global && (e.Protocol != lease.TCP || e.ExternalPort() != 80) {
			kind = corev1.ServiceTypeNodePort
		}
		if !reached[fmt.Sprint(kind, e.ExternalPort(), e.Protocol)] {
			t.Errorf("service %s: %+v has no port of a %s Service", name, e, kind)
		}
	}
}

// What a container may use is at least what it asks of its node, each amount is asked for where it is more than nothing, and
// together its volumes and memory are what the lease has, to the byte.
func TestAmountsOfContainers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		for _, w := range d.def.Workloads.Services {
			r := d.runs[w.Name].Spec.Template.Spec.Containers[0].Resources
			for name, limit := range r.Limits {
				if asked := r.Requests[name]; asked.Cmp(limit) > 0 || asked.Sign() <= 0 && limit.Sign() > 0 {
					t.Errorf("%s: %s asks for %s of %s", w.Name, name, &asked, &limit)
				}
			}
			want := map[corev1.ResourceName]int64{"memory": int64(w.Resources.Memory)}
			for _, v := range w.Resources.Volumes {
				switch {
				case v.InMemory():
					want["memory"] += int64(v.Size)
				case v.Ephemeral():
					want["ephemeral-storage"] += int64(v.Size)
				}
			}
			got := map[corev1.ResourceName]int64{}
			for name, q := range r.Limits {
				got[name] = q.Value()
			}
			cpu := r.Limits["cpu"]
			if cpu.Cmp(*resource.NewMilliQuantity(int64(w.Resources.CPU), resource.DecimalSI)) != 0 {
				t.Errorf("%s: the limit of CPU is %s of %dm", w.Name, &cpu, w.Resources.CPU)
			}
			delete(got, "cpu")
			if n := int64(w.Resources.GPU.Units); n > 0 && got["nvidia.com/gpu"]+got["amd.com/gpu"] != n {
				t.Errorf("%s: %d GPUs, and the limits are %v", w.Name, n, got)
			}
			delete(got, "nvidia.com/gpu")
			delete(got, "amd.com/gpu")
			if !maps.Equal(got, want) {
				t.Errorf("%s: the limits are %v, want %v", w.Name, got, want)
			}
		}
	})
}

// Each mount has its volume, in the pod or in a claim, and no volume has two; what is persistent is claimed whole, once.
func TestMountsHaveVolumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		for _, w := range d.def.Workloads.Services {
			r := d.runs[w.Name]
			there := map[string]int64{}
			add := func(name string, size resource.Quantity) {
				if _, twice := there[name]; twice || len(name) > 63 {
					t.Errorf("%s: the volume %s", w.Name, name)
				}
				there[name] = size.Value()
			}
			for _, v := range r.Spec.Template.Spec.Volumes {
				add(v.Name, *v.EmptyDir.SizeLimit)
			}
			for _, c := range r.Spec.VolumeClaimTemplates {
				add(c.Name, c.Spec.Resources.Requests["storage"])
			}
			for _, m := range r.Spec.Template.Spec.Containers[0].VolumeMounts {
				if _, ok := there[m.Name]; !ok {
					t.Errorf("%s: the mount %s has no volume", w.Name, m.Name)
				}
			}
			persistent := 0
			for _, v := range w.Resources.Volumes {
				if v.Persistent() {
					persistent++
				}
				if size, ok := there[w.Name+"-"+v.Name]; ok && size != int64(v.Size) {
					t.Errorf("%s: the volume %s has %d of %d", w.Name, v.Name, size, v.Size)
				}
			}
			_, stateful := as[map[string]any](t, find(d.all, w.Name, "StatefulSet"))["spec"]
			if len(r.Spec.VolumeClaimTemplates) != persistent || stateful != (persistent > 0) {
				t.Errorf("%s: %d claims of %d volumes", w.Name, len(r.Spec.VolumeClaimTemplates), persistent)
			}
			if slices.ContainsFunc(w.Resources.Volumes, resources.Volume.Persistent) != stateful {
				t.Errorf("%s: it is a StatefulSet is %t", w.Name, stateful)
			}
		}
	})
}

// find is an object by its name and kind; empty where there is none.
func find(all workload.Rendered, name, kind string) any {
	for _, o := range all.Objects {
		if o.Name == name && o.Kind.Kind == kind {
			return o
		}
	}
	return struct{}{}
}
