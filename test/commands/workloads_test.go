package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// password is that of all registries; no output may have it.
const password = "hunter2secret"

// tenant is a lease with its definition, an SDL, and what is asked of the program for it.
type tenant struct {
	lease.ID
	host string
	// services and deployed are parts of the SDL, by the names of the services.
	names                           []string
	services, profiles, deployments map[string]string
}

func newDeployer(t *testing.T) *tenant {
	return &tenant{
		ID: harness.LeaseOf(harness.NewOwner(t), 1), host: harness.NewHost("web"),
		services: map[string]string{}, profiles: map[string]string{}, deployments: map[string]string{},
	}
}

// with adds a service, or replaces it: what stands in its mapping, and its resources beside CPU and memory.
func (x *tenant) with(name, service, resources string, count int) *tenant {
	if !slices.Contains(x.names, name) {
		x.names = append(x.names, name)
	}
	x.services[name] = fmt.Sprintf("  %s: {%s}\n", name, service)
	x.profiles[name] = fmt.Sprintf("    %s: {resources: {cpu: {units: 0.5}, memory: {size: 64Mi}, %s}}\n", name, resources)
	x.deployments[name] = fmt.Sprintf("  %s: {dc: {profile: %s, count: %d}}\n", name, name, count)
	return x
}

func (x *tenant) without(name string) *tenant {
	x.names = slices.DeleteFunc(x.names, func(n string) bool { return n == name })
	return x
}

const (
	disk       = "storage: {size: 1Gi}"
	persistent = "storage: [{size: 1Gi}, {name: data, size: 2Gi, attributes: {persistent: true, class: beta2}}]"
	mounted    = ", params: {storage: {data: {mount: /data}}}"
)

// web is a service with a host and credentials, cache one that only its lease reaches, watch one that may read logs.
func (x *tenant) web(image string) *tenant {
	return x.with("web", "image: "+image+", credentials: {host: registry.example.com, username: shop, password: "+password+"}, "+
		"expose: [{port: 80, as: 80, accept: ["+x.host+"], to: [{global: true}]}, {port: 53, proto: udp, to: [{service: cache}]}, {port: 53, to: [{service: cache}]}]", disk, 2)
}

func (x *tenant) cache(resources, more string) *tenant {
	return x.with("cache", "image: redis:7, env: [MODE=cache], expose: [{port: 6379, to: [{service: web}]}]"+more, resources, 1)
}

func (x *tenant) watch() *tenant {
	return x.with("watch", "image: 'watcher:1', params: {permissions: {read: [logs, events]}}, expose: [{port: 9000, to: [{service: web}]}]", disk, 1)
}

// sdl writes the definition into a file.
func (x *tenant) sdl(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: \"2.1\"\nservices:\n")
	for _, n := range x.names {
		b.WriteString(x.services[n])
	}
	b.WriteString("profiles:\n  compute:\n")
	for _, n := range x.names {
		b.WriteString(x.profiles[n])
	}
	b.WriteString("  placement: {dc: {pricing: {")
	for _, n := range x.names {
		b.WriteString(n + ": {denom: uakt, amount: 1000},")
	}
	b.WriteString("}}}\ndeployment:\n")
	for _, n := range x.names {
		b.WriteString(x.deployments[n])
	}
	return harness.File(t, b.String())
}

// args are those of a command on the lease's definition.
func (x *tenant) args(t *testing.T, verb string, more ...string) []string {
	t.Helper()
	return slices.Concat([]string{verb, "-f", x.sdl(t), "--lease", x.String(), "--workloads"}, more)
}

// do runs a command on the lease's definition, and fails the test where it fails. No output has the password.
func (x *tenant) do(t *testing.T, code int, verb string, more ...string) harness.Result {
	t.Helper()
	return silent(t, harness.Run(t.Context(), x.args(t, verb, more...)...).Exits(t, code))
}

// apply applies the definition without waiting for pods: nobody runs them.
func (x *tenant) apply(t *testing.T, more ...string) harness.Result {
	t.Helper()
	return x.do(t, 0, "apply", slices.Concat([]string{"--wait=false"}, more)...)
}

func silent(t *testing.T, r harness.Result) harness.Result {
	t.Helper()
	if strings.Contains(r.Stdout+r.Stderr, password) {
		t.Errorf("the output has the password: %s", r)
	}
	return r
}

// objects are all that the lease runs, by kind and name.
func (x *tenant) objects(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, kind := range kinds.RunningEnds {
		namespace, opts := x.Namespace(), metav1.ListOptions{}
		if kind == kinds.Manifest {
			namespace, opts.FieldSelector = "lease", "metadata.name="+x.Namespace()
		}
		list, err := harness.Objects.Resource(kind.Resource()).Namespace(namespace).List(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; o.GetName() != "default" || kind != kinds.ServiceAccount {
				found[kind.Singular+"/"+strings.Replace(o.GetName(), x.Namespace(), "NS", 1)] = o
			}
		}
	}
	return found
}

// names are the sorted keys of objects.
func names(objects map[string]*unstructured.Unstructured) []string {
	var out []string
	for name := range objects {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// versions are the resource versions of objects that no controller writes, generations those of all.
func versionsOf(objects map[string]*unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for name, o := range objects {
		out[name] = fmt.Sprint(o.GetUID(), " ", o.GetGeneration())
		if kind := o.GetKind(); kind != "Deployment" && kind != "StatefulSet" && kind != "ServiceAccount" {
			out[name] += " " + o.GetResourceVersion()
		}
	}
	return out
}

// template is the pod that a Deployment or a StatefulSet makes.
func template(o *unstructured.Unstructured) any {
	found, _, _ := unstructured.NestedMap(o.Object, "spec", "template")
	return found
}

// runsNothing fails the test if the lease runs anything.
func (x *tenant) runsNothing(t *testing.T) {
	t.Helper()
	if got := names(x.objects(t)); len(got) > 0 {
		t.Errorf("the lease runs %q", got)
	}
}

// unchanged fails the test where objects differ from what they were.
func (x *tenant) unchanged(t *testing.T, was map[string]*unstructured.Unstructured, by string) {
	t.Helper()
	if diff := cmp.Diff(versionsOf(was), versionsOf(x.objects(t))); diff != "" {
		t.Errorf("%s changed objects (-before +now):\n%s", by, diff)
	}
}

type (
	contextT  = context.Context
	metaEntry = metav1.ManagedFieldsEntry
)

var (
	listAll         = metav1.ListOptions{}
	claimsOfVolumes = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	secrets         = kinds.Secret.Resource()
)
