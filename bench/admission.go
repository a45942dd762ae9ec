//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// competing are the numbers of routes that are admitted.
var competing = []int{1000, 10_000, 100_000}

// admission admits routes: the function alone, on one core, and the program that reads them from a
// file.
func (b *bench) admission(ctx context.Context) error {
	b.report.section("Admission of routes",
		"Routes of many owners: one in eight is for a host that another has, one in eighty is a wildcard, and one host in three has a claim. The function is measured in this process with one processor, its garbage collection included; the program reads a file of JSON and prints names.",
		"routes", "wall", "processor", "peak", "ns a route")
	per := map[int]float64{}
	for _, n := range competing {
		routes, claims := routesOf(n)
		var runs []usage
		for range b.runs {
			runs = append(runs, onOneCore(func() { admit(routes, claims) }, competing[len(competing)-1]/n))
		}
		u := median(runs)
		per[n] = float64(u.CPU.Nanoseconds()) / float64(n)
		b.report.usage(fmt.Sprintf("%d, the function", n), u, figure(per[n], ""))
		if n == competing[len(competing)-1] {
			b.report.atMost(fmt.Sprintf("admission of %d routes: processor time", n), u.CPU.Seconds(), 1, " s")
		}
	}
	first, last := competing[0], competing[len(competing)-1]
	b.report.atMost(fmt.Sprintf("admission: ns a route of %d, times those of %d", last, first), per[last]/per[first], 3, "")
	settings := b.file("large-documents.yaml")
	if err := os.WriteFile(settings, []byte(largeDocuments), 0o600); err != nil {
		return err
	}
	for _, n := range competing {
		path := b.file(fmt.Sprintf("routes-%d.json", n))
		if err := writeRoutes(path, n); err != nil {
			return err
		}
		runs, err := b.alternate(ctx, b.runs, program{name: "state routes", args: []string{b.tools.plugin, "state", "routes", "-f", path, "-o", "name", "--config", settings}})
		if err != nil {
			return err
		}
		u := median(runs[0])
		b.report.usage(fmt.Sprintf("%d, state routes -f", n), u, figure(float64(u.CPU.Nanoseconds())/float64(n), ""))
	}
	return nil
}

// largeDocuments lets one document be as large as all routes of a large cluster.
const largeDocuments = `apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: large}
spec: {limits: {documentSize: 256Mi}}
`

func admit(routes []admission.Route, claims *admission.Claims) {
	cfg := config.Default()
	cfg.Hosts.Wildcards = true
	admission.Decide(admission.NewRules(cfg), claims, routes, nil)
}

// onOneCore is what work takes in this process with one processor, on the average of a number of
// times: the clock of processor time is coarse.
func onOneCore(work func(), times int) usage {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.GC()
	before, start := processorTime(), time.Now()
	for range times {
		work()
	}
	return usage{Wall: time.Since(start) / time.Duration(times), CPU: (processorTime() - before) / time.Duration(times)}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// routesOf are the routes 0 to n as they are read from a cluster, and the claims on their hosts.
func routesOf(n int) ([]admission.Route, *admission.Claims) {
	routes, claims := make([]admission.Route, 0, n), admission.NewClaims()
	for i := range n {
		o := &unstructured.Unstructured{Object: routeObject(i)}
		routes = append(routes, view.RoutesOf(o)...)
		if i%3 == 0 {
			claims.Add(routeHost(i), definition(i).Lease.Owner)
		}
	}
	return routes, claims
}

// routeHost is the host of a route: the eighth of each eight wants that of its neighbour.
func routeHost(i int) string { return fmt.Sprintf("host-%d.domain-%d.example.com", i-i%8/7, i/16) }

// routeObject is a route of a lease, as the API server gives it.
func routeObject(i int) map[string]any {
	id := definition(i).Lease
	labels := map[string]any{}
	for key, value := range id.Labels() {
		labels[key] = value
	}
	spec := map[string]any{"host": routeHost(i), "path": "/", "wildcardPolicy": "None"}
	if i%80 == 0 {
		spec["wildcardPolicy"] = "Subdomain"
	}
	created := metav1.Unix(1_780_000_000+int64(i*7919%100_003), 0)
	return map[string]any{
		"apiVersion": "route.openshift.io/v1", "kind": "Route", "spec": spec,
		"metadata": map[string]any{
			"name": fmt.Sprintf("route-%d", i), "namespace": id.Namespace(), "labels": labels,
			"uid": string(types.UID(lease.Hash(fmt.Sprint(i))[:36])), "creationTimestamp": created.UTC().Format(time.RFC3339),
		},
	}
}

// writeRoutes writes the routes 0 to n as kubectl get -o json does.
func writeRoutes(path string, n int) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	fmt.Fprint(w, `{"apiVersion": "v1", "kind": "List", "items": [`)
	for i := range n {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		text, err := json.Marshal(routeObject(i))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s", text)
	}
	fmt.Fprint(w, "\n]}\n")
	return w.Flush()
}
