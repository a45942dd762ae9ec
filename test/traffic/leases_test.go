//go:build linux

package traffic

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// domain is above all hosts.
const domain = "traffic.example.com"

// newLease is a lease of a new tenant.
func newLease(t *testing.T) lease.ID { return harness.LeaseOf(harness.NewOwner(t), 1) }

// newHost is a host name that no other test has.
func newHost(word string) string { return fmt.Sprintf("%s-%d.%s", word, harness.Number(), domain) }

// router is a kind of route, and who reads it: the target and class of a configuration.
type router struct{ name, spec string }

var routers = []router{
	// Traefik's own reading of Ingresses.
	{"ingress", "{target: ingress, ingress: {className: traefik}, gateway: {name: edge, namespace: edge, listeners: {http: [http], https: [https]}}, hosts: {wildcards: true}}"},
	// Its reading of those that are written for ingress-nginx, with their annotations.
	{"ingress-nginx", "{target: ingress, ingress: {className: nginx}, gateway: {name: edge, namespace: edge, listeners: {http: [http], https: [https]}}, hosts: {wildcards: true}}"},
	{"httproute", "{target: httproute, gateway: {name: edge, namespace: edge, listeners: {http: [http], https: [https]}}, hosts: {wildcards: true}}"},
}

// config is the path of the router's configuration.
func (r router) config() string { return filepath.Join(harness.Plane.Dir, r.name+".yaml") }

// akashNet runs the program with the router's configuration. It has to succeed.
func (r router) akashNet(t *testing.T, args ...string) {
	t.Helper()
	if err := akashNet(t.Context(), append(args, "--config", r.config())...); err != nil {
		t.Fatal(err)
	}
}

// apply applies the definition of a lease.
func (r router) apply(t *testing.T, id lease.ID, services ...string) {
	t.Helper()
	r.akashNet(t, "apply", "-f", define(t, id, services...))
}

// serve brings a lease with one host to life: its definition is applied, its workload runs, and the
// host is answered by the backend.
func (r router) serve(t *testing.T, id lease.ID, host, backend string) {
	t.Helper()
	r.apply(t, id, web(host))
	deploy(t, id, "web", backend)
	answers(t, "http://"+host+"/", backend)
}

// alone runs a test with each of the routers while no other test changes what they route.
func alone(t *testing.T, test func(t *testing.T, r router)) {
	for _, r := range routers {
		t.Run(r.name, func(t *testing.T) { test(t, r) })
	}
}

// each runs a test with each of the routers, side by side with others.
func each(t *testing.T, routers []router, test func(t *testing.T, r router)) {
	t.Parallel()
	for _, r := range routers {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

// service is a workload, in YAML, that serves hosts over HTTP; more is what else its expose says.
func service(name string, hosts []string, more ...string) string {
	expose := append([]string{"port: 8080", "as: 80", "global: true", `hosts: ["` + strings.Join(hosts, `", "`) + `"]`}, more...)
	return fmt.Sprintf("{name: %s, expose: [{%s}]}", name, strings.Join(expose, ", "))
}

// web is the workload web with its hosts, api another with its.
func web(hosts ...string) string { return service("web", hosts) }
func api(hosts ...string) string { return service("api", hosts) }

// define writes a lease's definition and returns the file's path.
func define(t *testing.T, id lease.ID, services ...string) string {
	t.Helper()
	return harness.Define(t, id, services, nil)
}
