package commands

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

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

// Where a webhook lets no second Ingress of a host be made, and names the first, that one goes before the new one is made:
// with transfer, and with the next apply after it.
func TestTransferPastAWebhook(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"transfer", "transfer -f", "apply"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, "ingress")
			command := slices.Clone(b.hands)
			switch verb {
			case "transfer -f":
				command = append(command, "-f", b.greenFile)
			case "apply":
				mustRun(t, 0, "release", b.green.Group().String())
				mustRun(t, 0, b.hands...).Prints(t, "until then the old ones serve")
				command = []string{"apply", "--config", b.config, "-f", b.greenFile}
			}
			webhook, asked := unique(t, b, "")
			webhook.starts(t, b)
			p := startProxy(t, nil)
			runAs(t.Context(), p.kubeconfig, command...).Exits(t, 0).Prints(t, "ingress/"+b.host+" pruned", "ingress/"+b.host+" created")
			b.isGreen(t)
			b.ends(t)
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

// Where the new one is refused all the same, the old one is put back as it was.
func TestTransferIsPutBack(t *testing.T) {
	t.Parallel()
	for _, withFile := range []bool{false, true} {
		b := newBlueGreen(t, "ingress")
		was, command := need(t, b.routes, b.blue.Namespace(), b.host), slices.Clone(b.hands)
		if withFile {
			command = append(command, "-f", b.greenFile)
		}
		webhook, _ := unique(t, b, "its body is too large")
		webhook.starts(t, b)
		mustRun(t, 1, command...).Prints(t, "ingress/"+b.host+" pruned", "ingress/"+b.host+" created (put back)").Says(t, "its body is too large")
		b.blueServes(t, was)
		if find(t, ingresses, b.green.Namespace(), b.host) != nil {
			t.Error("the new route is there")
		}
		b.ends(t)
	}
}

// What could not be put back does not go, nor does anything for a refusal that names another reason.
func TestTransferThatAWebhookRefuses(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]struct{ blue, green, says string }{
		"another reason":     {"", "no %[1]s today", "today"},
		"another name":       {"", "%[1]s is already defined in ingress x%[2]s/%[1]s and %[2]s/%[1]s-x", "already defined"},
		"not to be put back": {"no more of these", "already defined in ingress %[2]s/%[1]s", "it could not be put back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBlueGreen(t, "ingress")
			was := need(t, b.routes, b.blue.Namespace(), b.host)
			refuser(func(namespace string, _ bool) string {
				if namespace == b.blue.Namespace() {
					return reason.blue
				}
				return fmt.Sprintf(reason.green, b.host, b.blue.Namespace())
			}).starts(t, b)
			p := startProxy(t, nil)
			runAs(t.Context(), p.kubeconfig, b.hands...).Exits(t, 1).Says(t, reason.says)
			if now := need(t, b.routes, b.blue.Namespace(), b.host); now.GetUID() != was.GetUID() {
				t.Error("the old route was deleted and made again")
			}
			if slices.Contains(p.routes(), "DELETE ingresses/"+b.host) {
				t.Errorf("the old route was deleted: %q", p.routes())
			}
			b.ends(t)
		})
	}
}
