package workload_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
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

// find is an object by its name and kind; empty where there is none.
func find(all workload.Rendered, name, kind string) any {
	for _, o := range all.Objects {
		if o.Name == name && o.Kind.Kind == kind {
			return o
		}
	}
	return struct{}{}
}
