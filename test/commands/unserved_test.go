package commands

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// routeServer registers a server for OpenShift's routes that is not there, until the test ends.
func routeServer(t *testing.T) {
	t.Helper()
	create(t, apiServices, `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.route.openshift.io}, spec: {
group: route.openshift.io, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nowhere}}}`)
	t.Cleanup(func() {
		if err := harness.Objects.Resource(apiServices).Delete(context.Background(), "v1.route.openshift.io", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		waitForRoutes(t, apierrors.IsNotFound)
	})
	waitForRoutes(t, apierrors.IsServiceUnavailable)
}

// waitForRoutes waits until the API server answers a list of routes in a way.
func waitForRoutes(t *testing.T, done func(error) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := harness.Objects.Resource(kinds.Route.Resource()).List(ctx, metav1.ListOptions{})
		return done(err), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Where the server of one kind is down and the API server is not, each command that needs the kind says so
// by its name and changes nothing; the others go on.
func TestAKindThatIsDown(t *testing.T) {
	host := "shop." + newDomain()
	id := leaseOf(newOwner(), 1)
	def := define(t, id, web("web", 8080, host))
	mustRun(t, 0, "apply", "-f", def)
	routeServer(t)
	before := fingerprint(t)
	other := define(t, leaseOf(newOwner(), 1), web("web", 8080, "other."+host))
	for _, args := range [][]string{
		{"apply", "-f", other}, {"check", "-f", other}, {"reserve", "-f", other}, {"release", id.Group().String()},
		{"state"}, {"state", "--problems"}, {"explain", host}, {"repair"},
	} {
		r := mustRun(t, 1, args...).Says(t, "routes.route.openshift.io", "kubectl get apiservice v1.route.openshift.io", "Nothing was changed.")
		if contains(r.Stderr, "stopped answering", "again to finish") {
			t.Errorf("the API server is said to be away: %s", r)
		}
	}
	harness.Run(t.Context(), "state").Exits(t, 1).Says(t, "APIService v1.route.openshift.io", "default/nowhere") // who may read that is told
	for _, args := range [][]string{{"state", "ips"}, {"state", "pools"}, {"version"}} {
		mustRun(t, 0, args...)
	}
	if d := changed(before, fingerprint(t)); len(d) > 0 {
		t.Errorf("changed: %v", d)
	}
}

// A kind that the cluster does not serve is found before anything is claimed, by all who would need it.
func TestAKindThatIsNotServed(t *testing.T) {
	before := fingerprint(t)
	def := func(host string) string { return define(t, leaseOf(newOwner(), 1), web("web", 8080, host)) }
	ngf := configure(t, "target: httproute", "gateway: {implementation: nginx-gateway-fabric, proxyBufferSize: 8k}")
	for _, args := range [][]string{{"apply"}, {"apply", "--dry-run=client"}, {"apply", "--dry-run=server"}, {"check"}, {"reserve"}, {"reserve", "--dry-run=client"}} {
		with := append(args, "-f", def("shop."+newDomain()))
		if args[0] == "apply" {
			r := mustRun(t, 1, append(with, "--target", "route")...).Says(t, "this cluster does not serve routes.route.openshift.io", "OpenShift")
			if contains(r.Stdout, "claimed", "created") {
				t.Errorf("it is found late: %s", r)
			}
		}
		r := mustRun(t, 1, append(with, "--config", ngf)...).Says(t, "this cluster does not serve proxysettingspolicies.gateway.nginx.org", "NGINX Gateway Fabric")
		if contains(r.Stdout, "free", "claimed", "created") {
			t.Errorf("it is found late: %s", r)
		}
	}
	if d := changed(before, fingerprint(t)); len(d) > 0 {
		t.Errorf("changed: %v", d)
	}
}

// Routes that move, and claims that change hands with their routes, do neither where the cluster has no kind
// for them: it is found before the first write.
func TestAMoveToAKindThatIsNotServed(t *testing.T) {
	host, owner := "shop."+newDomain(), newOwner()
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	later := define(t, green, web("green", 8080, host))
	mustRun(t, 0, "apply", "-f", define(t, blue, web("blue", 8080, host)))
	mustRun(t, 0, "apply", "-f", later).Prints(t, "host/"+host+" withheld") // noted: a transfer knows its routes
	ngf := configure(t, "target: httproute", "gateway: {implementation: nginx-gateway-fabric, proxyBufferSize: 8k}")
	route, policy := "this cluster does not serve routes.route.openshift.io", "this cluster does not serve proxysettingspolicies.gateway.nginx.org"
	before := fingerprint(t)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{route, []string{"transfer", host, "--to", green.String(), "--target", "route", "-f", later}},
		{route, []string{"transfer", host, "--to", green.String(), "--target", "route"}},
		{policy, []string{"transfer", host, "--to", green.String(), "--config", ngf}},
		{route, []string{"migrate", blue.Group().String(), "--to", "route"}},
		{policy, []string{"migrate", blue.Group().String(), "--to", "httproute", "--config", ngf}},
	} {
		for _, dry := range []string{"none", "client", "server"} {
			r := mustRun(t, 1, append(tt.args, "--dry-run="+dry)...).Says(t, tt.want)
			if contains(r.Stdout, "transferred", "created", "configured", "deleted") {
				t.Errorf("it is found late: %s", r)
			}
		}
	}
	if d := changed(before, fingerprint(t)); len(d) > 0 {
		t.Errorf("changed: %v", d)
	}
	held(t, host, "1 /")
}

// contains is true for a text that has one of the parts.
func contains(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
