package status_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/status"
)

// For any namespace the lease's answer has the running services, each as answered on its own except for its hosts. A
// service is found if it runs or is recorded; any other is an error that says so.
func TestOneServiceIsAnsweredAsInTheLease(t *testing.T) {
	names := []string{"api", "db", "web"}
	rapid.Check(t, func(r *rapid.T) {
		var o status.Objects
		var services string
		recorded := rapid.Bool().Draw(r, "recorded")
		runs, known := map[string]bool{}, map[string]bool{}
		for _, name := range names {
			n := func(label string) int32 { return rapid.Int32Range(0, 3).Draw(r, label) }
			if rapid.Bool().Draw(r, "deployment") {
				o.Deployments, runs[name] = append(o.Deployments, deployment(name, n("replicas"), n("ready"), n("available"))), true
			}
			if rapid.IntRange(0, 3).Draw(r, "stateful") == 0 {
				o.StatefulSets, runs[name] = append(o.StatefulSets, statefulSet(name, n("replicas"), n("ready"), n("available"), n("current"))), true
			}
			if recorded && rapid.Bool().Draw(r, "in the Manifest") {
				if services != "" {
					services += ","
				}
				services, known[name] = services+expose(name, rapid.SampledFrom([]string{plain80, asked80, inside, `"global":true,"ip":"x"`}).Draw(r, "expose")), true
			}
			if rapid.Bool().Draw(r, "host") {
				o.Hosts = append(o.Hosts, host(name+".example.com", name))
			}
			if rapid.Bool().Draw(r, "port") {
				o.Services = append(o.Services, nodePorts(name, port(22, 22, 30000+n("node"), corev1.ProtocolTCP)))
			}
		}
		if recorded {
			o.Manifest = manifestOf(t, services)
		}
		all, err := o.Of("p.example.com")
		if (err == nil) != (len(runs) > 0) || errors.Is(err, status.ErrNothing) != (len(runs) == 0 && !recorded) {
			r.Fatalf("%v: %d services run", err, len(runs))
		}
		for _, name := range names {
			one, err := o.Service(name)
			if (err == nil) != runs[name] || err != nil && err.Error() == "" {
				r.Errorf("%s: %v, and it runs is %t, recorded %t", name, err, runs[name], known[name])
			}
			if err != nil || all == nil {
				continue
			}
			in := *all.Services[name]
			if in.Available != in.AvailableReplicas || in.Total != in.Replicas || one.URIs != nil && len(one.URIs) != len(o.Hosts) {
				r.Errorf("%+v, by itself %+v", in, one)
			}
			if slices.ContainsFunc(in.URIs, func(uri string) bool { return uri != name+".example.com" }) {
				r.Errorf("%s has the hosts %v", name, in.URIs)
			}
			in.URIs, one.URIs = nil, nil
			if diff := cmp.Diff(&in, one); diff != "" {
				r.Error(diff)
			}
		}
		if all != nil && len(all.Services) != len(runs) {
			r.Errorf("%d services of %d", len(all.Services), len(runs))
		}
	})
}
