package commands

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// doctored runs doctor with -o json, and returns the lines "RESULT TEXT -> MEND" by check.
func doctored(t *testing.T, code int, kubeconfig string, args ...string) map[string][]string {
	t.Helper()
	var document struct {
		Checks []struct{ Check, Result, Text, Mend string }
	}
	r := runAs(t.Context(), kubeconfig, append([]string{"doctor", "-o", "json"}, args...)...).Exits(t, code)
	if err := json.Unmarshal([]byte(r.Stdout), &document); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, c := range document.Checks {
		out[c.Check] = append(out[c.Check], c.Result+" "+c.Text+" -> "+c.Mend)
	}
	return out
}

// says fails the test unless a line of the check begins with a text.
func says(t *testing.T, lines map[string][]string, check, text string) {
	t.Helper()
	if !slices.ContainsFunc(lines[check], func(line string) bool { return strings.HasPrefix(line, text) }) {
		t.Errorf("%s does not say %q: %q", check, text, lines[check])
	}
}

// patch changes an object by a merge patch.
func (c bareCluster) patch(t *testing.T, resource schema.GroupVersionResource, namespace, name, body string) {
	t.Helper()
	if _, err := c.objects.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object, and waits until it has gone.
func (c bareCluster) remove(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := c.objects.Resource(resource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, name+" is gone", func(ctx context.Context) (bool, error) {
		_, err := c.objects.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// binding binds a role, of a namespace or of the cluster, to the user of a name.
func (c bareCluster) binding(t *testing.T, namespace, role, name string) {
	t.Helper()
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	resource, kind := rbac.WithResource("rolebindings"), "Role"
	if namespace == "" {
		resource, kind = rbac.WithResource("clusterrolebindings"), "ClusterRole"
	}
	c.create(t, resource, `{apiVersion: rbac.authorization.k8s.io/v1, kind: `+kind+`Binding, metadata: {name: `+name+`-`+role+`, namespace: "`+namespace+`"},
		subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+name+`}], roleRef: {apiGroup: rbac.authorization.k8s.io, kind: `+kind+`, name: `+role+`}}`)
}

// What a cluster may lack, or has and does not answer: doctor tells before install, after it, and with things that are broken, and writes
// nothing; each command says what it lacks before it claims anything.
func TestWhatAClusterLacks(t *testing.T) {
	t.Parallel()
	c := newBareCluster(t)
	lines := doctored(t, 1, c.Kubeconfig, "--pre")
	says(t, lines, "routes", "problem there is no IngressClass akash-ingress-class")
	for _, check := range []string{"kubernetes", "clock", "configuration", "namespaces", "definitions", "rights", "metallb", "webhooks", "operators"} {
		says(t, lines, check, "ok ")
	}
	leasing := configure(t, "ip: {ranges: [192.0.2.0/28]}")
	says(t, doctored(t, 1, c.Kubeconfig, "--pre", "--config", leasing), "metallb", "problem ipaddresspools.metallb.io is not installed -> install MetalLB")
	says(t, doctored(t, 1, c.Kubeconfig), "definitions", "problem providerhosts.akash.network is not installed -> kubectl akash-net install")
	c.create(t, schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"},
		`{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: akash-ingress-class}, spec: {controller: k8s.io/ingress-nginx}}`)
	doctored(t, 0, c.Kubeconfig, "--pre")

	gateways, err := programs.GatewayAPICRDs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.InstallCRDs(gateways); err != nil {
		t.Fatal(err)
	}
	c.do(t, 0, "install").Prints(t, "role/akash-net-sees-operators skipped (there is no namespace akash-services")
	people := map[string]person{} // by role
	for _, role := range []string{"akash-net-operator", "akash-net-viewer"} {
		name, _, path, err := c.AddUser()
		if err != nil {
			t.Fatal(err)
		}
		if role == "akash-net-viewer" {
			says(t, doctored(t, 1, path), "rights", "problem your rights do not cover akash-net-viewer: ")
		}
		c.binding(t, "", role, name)
		c.binding(t, ledger, role, name)
		eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
			return runAs(ctx, path, "state", "--problems").Code == 0 && runAs(ctx, path, "state", "routes").Code == 0, nil
		})
		people[role] = person{name, path}
	}
	t.Run("operators", func(t *testing.T) { c.seesOperators(t, people) })
	t.Run("kinds", func(t *testing.T) { c.lacksKinds(t, people["akash-net-operator"].kubeconfig) })
	t.Run("advertisements", func(t *testing.T) { c.advertises(t) })

	// Everything is there. doctor only reads, and asks for rights.
	c.do(t, 0, "install", "--guard", "--config", leasing)
	watched := startProxyOf(t, c.Config, nil)
	lines = doctored(t, 0, watched.kubeconfig)
	if written := slices.DeleteFunc(watched.written(), func(write string) bool { return write == "POST v1/selfsubjectaccessreviews" }); len(written) > 0 {
		t.Errorf("doctor wrote: %q", written)
	}
	for _, check := range []string{"configuration", "namespaces", "definitions", "pools", "routes", "webhooks", "guard", "reconciler"} {
		says(t, lines, check, "ok ")
	}

	// A pool that nothing announces, a guard that only warns, a webhook without a Service, and a broken configuration.
	const pool = "akash-net-192-0-2-0-28"
	c.remove(t, adverts, metalLB, pool)
	c.remove(t, kinds.BGPAdvertisement.Resource(), metalLB, pool)
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	c.patch(t, admission.WithResource("validatingadmissionpolicybindings"), "", "akash-net-hosts", `{"spec": {"validationActions": ["Warn"]}}`)
	c.create(t, admission.WithResource("validatingwebhookconfigurations"), `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: gone},
		webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {namespace: nginx, name: admission}},
		rules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [ingresses]}]}]}`)
	c.patch(t, configMaps, ledger, "config", `{"data": {"config.yaml": "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {ip: {ranges: [192.0.2.0/28]}, targt: ingress}\n"}}`)
	lines = doctored(t, 1, c.Kubeconfig)
	says(t, lines, "configuration", `problem configmap akash-net/config:3:38: spec.targt: unknown key "targt"; did you mean "target"? -> kubectl akash-net config edit`)
	says(t, lines, "guard", "problem ValidatingAdmissionPolicyBinding akash-net-hosts does not refuse anything (validationActions: Warn) -> kubectl akash-net install --guard")
	says(t, lines, "webhooks", "problem ValidatingWebhookConfiguration gone: webhook a.example.com, which judges ingresses, cannot answer, and their writes are refused: there is no Service nginx/admission")
	// A viewer is told what may not be read, and the rest.
	lines = doctored(t, 1, people["akash-net-viewer"].kubeconfig, "--config", leasing)
	says(t, lines, "rights", "ok your rights cover akash-net-viewer")
	says(t, lines, "rights", "warning your rights do not cover akash-net-operator in all namespaces: you may not create, patch and delete providerhosts.akash.network")
	says(t, lines, "webhooks", "unknown you may not list ")
	says(t, lines, "routes", "unknown you may not list ingressclasses.networking.k8s.io -> no role of this program allows it")
	says(t, lines, "pools", "problem 192.0.2.0/28: nothing announces IPAddressPool "+pool)
	says(t, lines, "definitions", "ok akash.network/v2beta2 serves ")
	c.do(t, 0, "install", "--config", leasing)
	c.do(t, 0, "uninstall", "--force", "-y").Prints(t, "role/akash-net-sees-operators deleted")
}

// person is a user, and the kubeconfig that makes one of a command.
type person struct{ name, kubeconfig string }

// seesOperators: operators and viewers read no Deployments but those in the namespace of Akash's operators, where a Role of that namespace
// lets them. Without that namespace no operator runs; where it exists and may not be read, nothing is guessed.
func (c bareCluster) seesOperators(t *testing.T, people map[string]person) {
	t.Helper()
	who := people["akash-net-operator"]
	const services, role = "akash-services", "akash-net-sees-operators"
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	id, host := leaseOf(newTenant(t), 1), newHost("sees")
	definition := defineParts(t, id, webPart(host))
	operator := func(code int, args ...string) result {
		t.Helper()
		return runAs(t.Context(), who.kubeconfig, args...).Exits(t, code)
	}
	operator(0, "apply", "-f", definition).Prints(t, "ingress/"+host+" created")
	c.create(t, namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+services+"}}")
	for _, made := range []bool{false, true} {
		if made {
			c.do(t, 0, "install").Prints(t, "role/"+role+" created")
		}
		for _, args := range [][]string{{"apply", "-f", definition}, {"release", id.Group().String()}} {
			r := operator(1, args...).Says(t, "whether Akash's operators run cannot be seen: not allowed", "kubectl -n "+services+" create rolebinding NAME --role="+role+" --user="+who.name, "--operators=on or --operators=off")
			if strings.Contains(r.Stderr, "clusterrole=") {
				t.Errorf("the advice is a right in all namespaces: %s", r.Stderr)
			}
		}
		runAs(t.Context(), people["akash-net-viewer"].kubeconfig, "state", "--problems").Exits(t, 0)
		operator(0, "apply", "--operators=off", "-f", definition).Prints(t, "unchanged")
	}
	c.binding(t, services, role, who.name)
	eventually(t, "the Role is bound", func(ctx context.Context) (bool, error) {
		return runAs(ctx, who.kubeconfig, "apply", "-f", definition).Code == 0, nil
	})
	c.create(t, deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: operator-hostname, namespace: `+services+`},
		spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`)
	operator(1, "apply", "-f", definition).Says(t, "Akash's hostname operator")
	c.patch(t, deployments, services, "operator-hostname", `{"spec": {"replicas": 0}}`)
	operator(0, "release", id.Group().String())
}

// lacksKinds: a kind that the cluster does not serve is found before anything is claimed, by all who would need it, also where routes move,
// or change hands with their claims. Where the server of a kind is down and the API server is not, each command that needs the kind says so
// by its name and changes nothing; the others go on.
func (c bareCluster) lacksKinds(t *testing.T, operator string) {
	t.Helper()
	host, free, blue := "shop."+newDomain(), "free."+newDomain(), leaseOf(newOwner(t), 1)
	green, other := leaseOf(blue.Owner, 2), define(t, leaseOf(newOwner(t), 1), web("web", 8080, free))
	later := define(t, green, web("green", 8080, host))
	c.do(t, 0, "apply", "-f", define(t, blue, web("blue", 8080, host)))
	c.do(t, 0, "apply", "-f", later).Prints(t, "host/"+host+" withheld") // noted: a transfer knows its routes
	ngf := configure(t, "target: httproute", "gateway: {implementation: nginx-gateway-fabric, proxyBufferSize: 8k}")
	was := c.get(t, claims, ledger, host).GetResourceVersion()
	const route, policy = "routes.route.openshift.io", "proxysettingspolicies.gateway.nginx.org"
	for _, tt := range []struct {
		want string
		args []string
	}{
		{route, []string{"apply", "-f", other, "--target", "route"}},
		{policy, []string{"apply", "-f", other, "--config", ngf}},
		{policy, []string{"check", "-f", other, "--config", ngf}},
		{policy, []string{"reserve", "-f", other, "--config", ngf}},
		{route, []string{"transfer", host, "--to", green.String(), "--target", "route", "-f", later}},
		{route, []string{"transfer", host, "--to", green.String(), "--target", "route"}},
		{policy, []string{"transfer", host, "--to", green.String(), "--config", ngf}},
		{route, []string{"migrate", blue.Group().String(), "--to", "route"}},
		{policy, []string{"migrate", blue.Group().String(), "--to", "httproute", "--config", ngf}},
	} {
		for _, dry := range []string{"--dry-run=none", "--dry-run=client", "--dry-run=server"} {
			if tt.args[0] == "check" {
				dry = "--request-timeout=1m"
			}
			r := c.do(t, 1, append(tt.args, dry)...).Says(t, "this cluster does not serve "+tt.want)
			if contains(r.Stdout, "free", "claimed", "transferred", "created", "configured", "deleted") {
				t.Errorf("it is found late: %s", r)
			}
		}
	}

	apiServices := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	answers := func(what string, how func(error) bool) {
		eventually(t, what, func(ctx context.Context) (bool, error) {
			_, err := c.objects.Resource(kinds.Route.Resource()).List(ctx, metav1.ListOptions{})
			return how(err), nil
		})
	}
	c.create(t, apiServices, `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.route.openshift.io}, spec: {
		group: route.openshift.io, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {namespace: default, name: nowhere}}}`)
	answers("the server is down", apierrors.IsServiceUnavailable)
	for _, args := range [][]string{
		{"apply", "-f", other}, {"check", "-f", other}, {"reserve", "-f", other}, {"release", blue.Group().String()},
		{"state"}, {"state", "--problems"}, {"explain", host}, {"repair"},
	} {
		r := runAs(t.Context(), operator, args...).Exits(t, 1).Says(t, route, "kubectl get apiservice v1.route.openshift.io", "Nothing was changed.")
		if contains(r.Stderr, "stopped answering", "again to finish") {
			t.Errorf("the API server is said to be away: %s", r)
		}
	}
	c.do(t, 1, "state").Says(t, "APIService v1.route.openshift.io", "default/nowhere") // who may read that is told
	for _, args := range [][]string{{"state", "ips"}, {"state", "pools"}, {"version"}} {
		c.do(t, 0, args...)
	}
	c.remove(t, apiServices, "", "v1.route.openshift.io")
	answers("the kind is gone", apierrors.IsNotFound)
	if now := c.get(t, claims, ledger, host); now.GetResourceVersion() != was || c.get(t, claims, ledger, free) != nil {
		t.Errorf("a claim was written: %v", now)
	}
	c.do(t, 0, "release", blue.Group().String())
}

// contains is true for a text that has one of the parts.
func contains(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// advertises: a cluster that serves no BGPAdvertisement serves all others. An uninstall names the advertisements that it leaves.
func (c bareCluster) advertises(t *testing.T) {
	t.Helper()
	const name = "bgpadvertisements.metallb.io"
	prepare := func() {
		if err := testbed.PrepareMetalLB(t.Context(), c.Config); err != nil {
			t.Fatal(err)
		}
	}
	prepare()
	c.remove(t, crds, "", name)
	id, pool := leaseOf(newOwner(t), 1), "akash-net-192-0-2-0-28"
	definition := define(t, id, leased("game", "public", 7001))
	apply := func(code int, advertisement string) result {
		t.Helper()
		return c.do(t, code, "apply", "--wait=false", "-f", definition, "--config", configure(t, "ip: {ranges: [192.0.2.0/28], advertisement: {"+advertisement+"}}"))
	}
	apply(0, "interfaces: []").Prints(t, "l2advertisement/"+pool+" created")
	apply(1, "type: bgp").Says(t, name)
	prepare()
	apply(0, "type: bgp").Prints(t, "bgpadvertisement/"+pool+" created")
	c.do(t, 0, "release", id.Group().String())
	const left = " kept (a Service may have an address of it"
	c.do(t, 0, "uninstall", "--dry-run=client").Prints(t, "bgpadvertisement/"+pool+left, "l2advertisement/"+pool+left)
}
