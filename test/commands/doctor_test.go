package commands

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/test/harness"
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

// doctor on a cluster before install, after it, and with things that are broken. It writes nothing.
func TestDoctor(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	objects := dynamic.NewForConfigOrDie(bare.Config)
	admin := bare.Kubeconfig
	build := func(resource schema.GroupVersionResource, text string) {
		t.Helper()
		o := harness.Parse(t, text)
		if _, err := objects.Resource(resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	// A bare cluster lacks an ingress controller. What install brings is no problem before it.
	lines := doctored(t, 1, admin, "--pre")
	says(t, lines, "routes", "problem there is no IngressClass akash-ingress-class")
	for _, check := range []string{"kubernetes", "clock", "configuration", "namespaces", "definitions", "rights", "metallb", "webhooks", "operators"} {
		says(t, lines, check, "ok ")
	}
	leasing := file(t, `{apiVersion: net.akash.network/v1alpha1, kind: ProviderConfig, spec: {ip: {ranges: [192.0.2.0/28]}}}`)
	says(t, doctored(t, 1, admin, "--pre", "--config", leasing), "metallb", "problem ipaddresspools.metallb.io is not installed -> install MetalLB")
	says(t, doctored(t, 1, admin), "definitions", "problem providerhosts.akash.network is not installed -> kubectl akash-net install")

	ingressClasses := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}
	build(ingressClasses, `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: akash-ingress-class}, spec: {controller: k8s.io/ingress-nginx}}`)
	doctored(t, 0, admin, "--pre")
	if err := testbed.PrepareMetalLB(t.Context(), bare.Config); err != nil {
		t.Fatal(err)
	}
	runAs(t.Context(), admin, "install", "--guard", "--config", leasing).Exits(t, 0)

	// Everything is there. doctor only reads, and asks for rights.
	var mu sync.Mutex
	var written []string
	watched := startProxyOf(t, bare.Config, nil)
	watched.before = func(request string) {
		if !strings.HasPrefix(request, "GET ") && request != "POST v1/selfsubjectaccessreviews" {
			mu.Lock()
			defer mu.Unlock()
			written = append(written, request)
		}
	}
	lines = doctored(t, 0, watched.kubeconfig)
	if len(written) > 0 {
		t.Errorf("doctor wrote: %q", written)
	}
	for _, check := range []string{"configuration", "namespaces", "definitions", "pools", "routes", "webhooks", "guard", "reconciler"} {
		says(t, lines, check, "ok ")
	}

	// A pool that nothing announces, a guard that only warns, a webhook without a Service, and a broken configuration.
	build(pools, `{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: akash-net-192-0-2-0-28, namespace: metallb-system,
		labels: {net.akash.network/managed: "true"}}, spec: {addresses: [192.0.2.0/28]}}`)
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	patch(t, objects, admission.WithResource("validatingadmissionpolicybindings"), "", "akash-net-hosts", `{"spec": {"validationActions": ["Warn"]}}`)
	build(admission.WithResource("validatingwebhookconfigurations"), `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: gone},
		webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {namespace: nginx, name: admission}},
		rules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [ingresses]}]}]}`)
	patch(t, objects, configMaps, ledger, "config", `{"data": {"config.yaml": "apiVersion: net.akash.network/v1alpha1\nkind: ProviderConfig\nspec: {ip: {ranges: [192.0.2.0/28]}, targt: ingress}\n"}}`)
	lines = doctored(t, 1, admin)
	says(t, lines, "configuration", `problem configmap akash-net/config:3:38: spec.targt: unknown key "targt"; did you mean "target"? -> kubectl akash-net config edit`)
	says(t, lines, "guard", "problem ValidatingAdmissionPolicyBinding akash-net-hosts does not refuse anything (validationActions: Warn) -> kubectl akash-net install --guard")
	says(t, lines, "webhooks", "problem ValidatingWebhookConfiguration gone: webhook a.example.com, which judges ingresses, cannot answer, and their writes are refused: there is no Service nginx/admission")
	says(t, doctored(t, 1, admin, "--config", leasing), "pools", "problem 192.0.2.0/28: nothing announces IPAddressPool akash-net-192-0-2-0-28")

	patch(t, objects, configMaps, ledger, "config", `{"data": {"config.yaml": null}}`)
	says(t, doctored(t, 1, admin), "configuration", `problem configmap akash-net/config: it has no key "config.yaml" in data -> kubectl akash-net config edit`)

	// A viewer is told what may not be read, and the rest. A stranger too.
	_, viewer, err := bare.AddUser("viewer")
	if err != nil {
		t.Fatal(err)
	}
	says(t, doctored(t, 1, viewer), "rights", "problem your rights do not cover akash-net-viewer: ")
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	const to = `metadata: {name: viewer, namespace: akash-net}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]`
	build(rbac.WithResource("rolebindings"), `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, `+to+`, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: akash-net-viewer}}`)
	build(rbac.WithResource("clusterrolebindings"), strings.Replace(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, `+to+
		`, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: akash-net-viewer}}`, ", namespace: akash-net", "", 1))
	eventually(t, "the viewer's rights", func(ctx context.Context) (bool, error) {
		return runAs(ctx, viewer, "state").Code != 1 || !strings.Contains(runAs(ctx, viewer, "state").Stderr, "not allowed"), nil
	})
	lines = doctored(t, 1, viewer, "--config", leasing)
	says(t, lines, "rights", "ok your rights cover akash-net-viewer")
	says(t, lines, "rights", "warning your rights do not cover akash-net-operator in all namespaces: you may not create, patch and delete providerhosts.akash.network")
	says(t, lines, "webhooks", "unknown you may not list ")
	says(t, lines, "routes", "unknown you may not list ingressclasses.networking.k8s.io -> no role of this program allows it")
	says(t, lines, "pools", "problem 192.0.2.0/28: nothing announces IPAddressPool akash-net-192-0-2-0-28")
	says(t, lines, "definitions", "ok akash.network/v2beta2 serves ")
}

// patch changes an object by a merge patch.
func patch(t *testing.T, objects dynamic.Interface, resource schema.GroupVersionResource, namespace, name, body string) {
	t.Helper()
	if _, err := objects.Resource(resource).Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
