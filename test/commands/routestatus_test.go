package commands

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var gateways = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}

// makeGateway makes a Gateway that a controller has taken, and a configuration that routes by it.
func makeGateway(t *testing.T, name string) (config string) {
	t.Helper()
	createAs(t, "administrator", gateways, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
		metadata: {name: %s, namespace: default}, spec: {gatewayClassName: test, listeners: [{name: http, port: 80, protocol: HTTP}]}}`, name))
	setStatus(t, gateways, "default", name, `{conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]}`)
	return configure(t, "target: httproute", "gateway: {name: "+name+", namespace: default}")
}

// setStatus writes an object's status, as its controller does.
func setStatus(t *testing.T, resource schema.GroupVersionResource, namespace, name, text string) {
	t.Helper()
	o := need(t, resource, namespace, name)
	var status map[string]any
	if err := yaml.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(o.Object, status, "status"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Objects.Resource(resource).Namespace(namespace).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// judgement is what the Gateway's controller says of an HTTPRoute.
func judgement(gateway, status, reason, message string) string {
	return fmt.Sprintf(`{parents: [{parentRef: {name: %s, namespace: default}, controllerName: example.com/controller, conditions: [
		{type: Accepted, status: %q, reason: %s, message: %q, observedGeneration: 1, lastTransitionTime: "2026-11-21T10:00:00Z"}]}]}`, gateway, status, reason, message)
}

// apply waits until the Gateway's controller has accepted the route, and says what it says otherwise.
func TestWaitForTheGateway(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(t), 1), newHost("gateway")
	user := admin().with(makeGateway(t, "reporting"))
	definition := defineParts(t, id, webPart(host))
	user.run(t, "apply", "--timeout=300ms", "-f", definition).Exits(t, 5).Says(t, "httproute "+id.Namespace()+"/"+host+" to be accepted by a router")

	end := start(user.command(t.Context(), "apply", "-f", definition))
	setStatus(t, httpRoutes, id.Namespace(), host, judgement("reporting", "True", "Accepted", ""))
	end().Exits(t, 0)
	user.do(t, "explain", host).Prints(t, "Gateway default/reporting accepts httproute "+id.Namespace()+"/"+host+" since 2026-11-21 10:00:00 UTC")

	setStatus(t, httpRoutes, id.Namespace(), host, judgement("reporting", "False", "NotAllowedByListeners", "another namespace"))
	user.run(t, "apply", "--timeout=300ms", "-f", definition).Exits(t, 5).Says(t, "refuses", "NotAllowedByListeners: another namespace")
	user.do(t, "explain", host).Prints(t, "refuses httproute")

	// Where no controller has taken the Gateway nobody is waited for.
	nobody := configure(t, "target: httproute", "gateway: {name: none, namespace: default}")
	mustRun(t, 0, "apply", "--config", nobody, "-f", defineParts(t, leaseOf(id.Owner, 2), webPart(newHost("nobody")))).Prints(t, "no controller has taken Gateway default/none")
}
