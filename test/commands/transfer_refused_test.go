package commands

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var (
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	webhooks     = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// without adds a user who may do what the operator's roles allow, but for one verb on one resource. It returns the user's
// kubeconfig.
func without(t *testing.T, verb, resource string) string {
	t.Helper()
	name, _, kubeconfig, err := harness.Plane.AddUser()
	if err != nil {
		t.Fatal(err)
	}
	role := need(t, clusterRoles, "", "akash-net-operator")
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	lacks := func(rule map[string]any) bool { return slices.Contains(rule["resources"].([]any), any(resource)) }
	for _, r := range rules {
		if rule := r.(map[string]any); lacks(rule) {
			rule["verbs"] = slices.DeleteFunc(rule["verbs"].([]any), func(v any) bool { return v == verb })
		}
	}
	own := &unstructured.Unstructured{Object: map[string]any{"apiVersion": role.GetAPIVersion(), "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": rules}}
	if _, err := harness.Objects.Resource(clusterRoles).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	removeLater(t, clusterRoles, "", name)
	for _, args := range [][]string{
		{"create", "clusterrolebinding", name, "--clusterrole=" + name, "--user=" + name},
		{"-n", ledger, "create", "rolebinding", name, "--role=akash-net-operator", "--user=" + name},
	} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the roles are bound", func(ctx context.Context) (bool, error) {
		return runAs(ctx, kubeconfig, "state", "-n", "default").Code == 0 && runAs(ctx, kubeconfig, "reserve", "--lease", leaseOf(newOwner(t), 1).String(), newDomain()).Code == 0, nil
	})
	return kubeconfig
}

// Whatever right somebody lacks who hands a host on, what serves it stays, and the same command of somebody who has it
// ends the transfer without waiting.
func TestTransferWithoutARight(t *testing.T) {
	t.Parallel()
	for right, withFile := range map[[2]string]bool{{"patch", "providerhosts"}: false, {"create", "ingresses"}: true, {"delete", "ingresses"}: false} {
		t.Run(right[0]+" "+right[1], func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, "ingress")
			was := need(t, b.routes, b.blue.Namespace(), b.host)
			if withFile {
				b.hands = append(b.hands, "-f", b.greenFile)
			}
			runAs(t.Context(), without(t, right[0], right[1]), b.hands...).Exits(t, 1).Says(t, right[1])
			same(t, was, need(t, b.routes, b.blue.Namespace(), b.host))
			holds := b.blue // refused before its first object, the transfer moves nothing
			if right[0] == "delete" {
				holds = b.green
			}
			mustRun(t, 0, "explain", b.host, "--config", b.config).Prints(t, b.host+" is held by "+holds.Group().String())
			if r := mustRun(t, 0, b.hands...); strings.Contains(r.Stderr, "another command is at work") {
				t.Errorf("it waited: %s", r)
			}
			b.isGreen(t)
			b.ends(t)
		})
	}
}

// refuser is an admission webhook that is asked for the Ingresses of one host as they are made, also in dry runs. It refuses
// those for which it has a reason.
type refuser func(namespace string, dryRun bool) (reason string)

func (why refuser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reason := why(review.Request.Namespace, review.Request.DryRun != nil && *review.Request.DryRun)
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: reason == "", Result: &metav1.Status{Message: reason}}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// starts asks the webhook for the Ingresses of a host, and waits until the API server does.
func (why refuser) starts(t *testing.T, b blueGreen) {
	t.Helper()
	server := httptest.NewTLSServer(why)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	name := fmt.Sprint("refuses-", harness.Number(), ".example.com")
	create(t, webhooks, fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: %s}, webhooks: [{
		name: %s, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: %q, caBundle: %s},
		matchConditions: [{name: host, expression: "object.metadata.name == '%s'"}],
		rules: [{apiGroups: [networking.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [ingresses]}]}]}`,
		name, name, server.URL, base64.StdEncoding.EncodeToString(ca), b.host))
	removeLater(t, webhooks, "", name)
	probe := need(t, ingresses, b.blue.Namespace(), b.host)
	probe.SetNamespace("default")
	awaitRefusal(t, ingresses, probe, "denied the request")
}

// unique is what ingress-nginx's webhook says to a second Ingress of a host. It notices late that the first one has gone.
func unique(t *testing.T, b blueGreen, after string) (_ refuser, asked *[]string) {
	late := 2
	asked = &[]string{}
	return func(namespace string, dryRun bool) string {
		switch {
		case namespace == "default":
			return "not here"
		case dryRun:
			*asked = append(*asked, namespace)
			return ""
		case namespace == b.blue.Namespace():
			return ""
		}
		if find(t, ingresses, b.blue.Namespace(), b.host) == nil {
			late--
		}
		if late > 0 {
			return fmt.Sprintf("host %q and path %q is already defined in ingress %s/%s", b.host, "/", b.blue.Namespace(), b.host)
		}
		return after
	}, asked
}

// Where a webhook lets no second Ingress of a host be made, and names the first, that one goes before the new one is made. Where the
// new one is refused all the same, the old one is put back as it was.
func TestTransferPastAWebhook(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{"it passes": "", "it is put back": "its body is too large"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, "ingress")
			was := need(t, b.routes, b.blue.Namespace(), b.host)
			webhook, asked := unique(t, b, after)
			webhook.starts(t, b)
			p := startProxy(t, nil)
			if after != "" {
				runAs(t.Context(), p.kubeconfig, append(b.hands, "-f", b.greenFile)...).Exits(t, 1).
					Prints(t, "ingress/"+b.host+" pruned", "ingress/"+b.host+" created (put back)").Says(t, after)
				same(t, was, need(t, b.routes, b.blue.Namespace(), b.host))
				absent(t, ingresses, b.green.Namespace(), b.host)
				b.ends(t)
				return
			}
			runAs(t.Context(), p.kubeconfig, b.hands...).Exits(t, 0).Prints(t, "ingress/"+b.host+" pruned", "ingress/"+b.host+" created")
			b.isGreen(t)
			route := "ingresses/" + b.host
			want := []string{"PATCH " + route, "POST " + b.blue.Namespace() + "/ingresses", "DELETE " + route, "PATCH " + route, "PATCH " + route}
			if diff := cmp.Diff(want, p.routes()); diff != "" {
				t.Errorf("writes of routes (-want +got):\n%s", diff)
			}
			if !slices.Contains(*asked, b.blue.Namespace()) {
				t.Errorf("nobody asked whether the old route could be put back: %q", *asked)
			}
		})
	}
}

// awaitRefusal waits until admission refuses to make an object like one that is there.
func awaitRefusal(t *testing.T, resource schema.GroupVersionResource, like *unstructured.Unstructured, text string) {
	t.Helper()
	o := like.DeepCopy()
	o.SetResourceVersion("")
	eventually(t, "admission refuses", func(ctx context.Context) (bool, error) {
		_, err := harness.Objects.Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), text), nil
	})
}
