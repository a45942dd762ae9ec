package incluster_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What install applies is what the base has, but for the image, and what is only for clusters with Akash's operators.
func TestInstallAppliesTheBase(t *testing.T) {
	t.Parallel()
	base := kustomize(t, "manifests/reconciler")
	spec, _ := templateOf(t, one(t, base, "Deployment"))
	ours, err := manifests.Reconciler(config.Default(), spec.Containers[0].Image)
	if err != nil {
		t.Fatal(err)
	}
	ours = slices.DeleteFunc(ours, func(o *unstructured.Unstructured) bool { return o.GetNamespace() == manifests.OperatorsNamespace })
	if diff := cmp.Diff(byName(t, base), byName(t, ours)); diff != "" {
		t.Errorf("(-kustomize +install):\n%s", diff)
	}
}

func byName(t *testing.T, all []*unstructured.Unstructured) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range all {
		text, err := json.MarshalIndent(o.Object, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprint(o.GetKind(), " ", o.GetNamespace(), "/", o.GetName())] = string(text)
	}
	return out
}

// In another namespace of the ledger everything is there, and all rights are those of the ServiceAccount there.
func TestAnotherNamespace(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.LedgerNamespace = "books"
	all, err := manifests.Reconciler(cfg, image)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"namespace":"akash-net"`) {
			t.Errorf("%s %s names the default namespace: %s", o.GetKind(), o.GetName(), text)
		}
	}
}

// The API server takes every object as it is: no field is misspelt, no value is wrong.
func TestTheClusterAcceptsThem(t *testing.T) {
	t.Parallel()
	for _, folder := range overlays {
		var list []string
		for _, o := range kustomize(t, folder) {
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(text))
		}
		if err := harness.Kubectl(t.Context(), strings.Join(list, "---\n"), nil, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts", "-f", "-"); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// The patch for an API server on another port opens that one in place of those where it usually is, and leaves name servers open.
func TestAPIServerOnAnotherPort(t *testing.T) {
	t.Parallel()
	opens := func(folder string) (open []string) {
		var policy networkingv1.NetworkPolicy
		convert(t, one(t, kustomize(t, folder), "NetworkPolicy"), &policy)
		for _, rule := range policy.Spec.Egress {
			for _, p := range rule.Ports {
				open = append(open, fmt.Sprint(*p.Protocol, "/", p.Port))
			}
		}
		return open
	}
	for folder, want := range map[string][]string{
		"manifests/reconciler":                          {"UDP/53", "TCP/53", "TCP/443", "TCP/6443"},
		"manifests/examples/reconciler/api-server-port": {"UDP/53", "TCP/53", "TCP/16443"},
	} {
		if diff := cmp.Diff(want, opens(folder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}

// In the place of Akash's operators the reconciler is where Akash's provider looks for them: Services of their names with a port called
// rest. It answers there over plain HTTP, and nobody but the provider reaches that port.
func TestInPlaceOfOperators(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "manifests/examples/reconciler/in-place-of-operators")
	deployment := one(t, all, "Deployment")
	spec, _ := templateOf(t, deployment)
	labels, _, err := unstructured.NestedStringMap(deployment.Object, "spec", "template", "metadata", "labels")
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]int32{}
	for _, p := range spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	if !slices.Contains(spec.Containers[0].Args, fmt.Sprint("--listen-as-operators=0.0.0.0:", ports["rest"])) {
		t.Errorf("it does not listen at the port: %q", spec.Containers[0].Args)
	}
	found := map[string]bool{}
	for _, o := range all {
		if o.GetKind() != "Service" {
			continue
		}
		var s corev1.Service
		convert(t, o, &s)
		for _, p := range s.Spec.Ports {
			if p.Name == "rest" && p.Protocol == corev1.ProtocolTCP && ports[p.TargetPort.StrVal] > 0 && s.Namespace == deployment.GetNamespace() && cmp.Equal(s.Spec.Selector, labels) {
				found[s.Namespace+"/"+s.Name] = true
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{"akash-services/operator-hostname": true, "akash-services/operator-ip": true}, found); diff != "" {
		t.Errorf("where the provider finds it (-want +got):\n%s", diff)
	}
	var policy networkingv1.NetworkPolicy
	convert(t, one(t, all, "NetworkPolicy"), &policy)
	at := func(port int32, from ...networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicyIngressRule {
		tcp, number := corev1.ProtocolTCP, intstr.FromInt32(port)
		return networkingv1.NetworkPolicyIngressRule{From: from, Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &number}}}
	}
	provider := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "provider"}}}
	want := networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: labels}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Ingress: []networkingv1.NetworkPolicyIngressRule{at(ports["https"]), at(ports["rest"], provider)}, Egress: policy.Spec.Egress,
	}
	if diff := cmp.Diff(want, policy.Spec); diff != "" || policy.Namespace != deployment.GetNamespace() {
		t.Errorf("who reaches the pods in %s (-want +got):\n%s", policy.Namespace, diff)
	}
	for _, o := range all {
		subjects, _, err := unstructured.NestedSlice(o.Object, "subjects")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range subjects {
			if s.(map[string]any)["namespace"] != deployment.GetNamespace() {
				t.Errorf("%s %s is bound to another namespace", o.GetKind(), o.GetName())
			}
		}
	}
}

// Each pod is admitted where the strictest of the Pod Security Standards is enforced, and would not be with less.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	const namespace = "restricted"
	clients := kubernetes.NewForConfigOrDie(harness.Plane.Config)
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	if _, err := clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	admit := func(spec corev1.PodSpec) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Spec: spec}
		_, err := clients.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{FieldValidation: "Strict"})
		return err
	}
	for _, folder := range overlays {
		for _, o := range kustomize(t, folder) {
			spec, found := templateOf(t, o)
			if !found {
				continue
			}
			if err := admit(spec); err != nil {
				t.Errorf("%s, %s: %v", folder, o.GetKind(), err)
			}
			for what, less := range map[string]func(*corev1.PodSpec){
				"seccomp":    func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil },
				"a user":     func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil },
				"privileges": func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil },
				"abilities":  func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil },
			} {
				worse := *spec.DeepCopy()
				if less(&worse); admit(worse) == nil {
					t.Errorf("%s, %s: it is admitted without a rule about %s", folder, o.GetKind(), what)
				}
			}
			for _, c := range spec.Containers {
				if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem || c.Resources.Requests.Memory().IsZero() {
					t.Errorf("%s, %s: container %s writes its root filesystem, or says not what it needs", folder, o.GetKind(), c.Name)
				}
			}
		}
	}
}

// The program has each flag that a container is given: its help would not be shown otherwise.
func TestContainersHaveFlagsOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, folder := range overlays {
		for _, o := range kustomize(t, folder) {
			spec, found := templateOf(t, o)
			if !found {
				continue
			}
			args := spec.Containers[0].Args
			if len(spec.Containers[0].Command) > 0 {
				args = append([]string{"reconcile"}, args...) // of the program that does nothing else
			}
			harness.Run(t.Context(), append(slices.Clone(args), "--help")...).Exits(t, 0).Prints(t, "--leader-elect")
		}
	}
}

// Prometheus' operator reads its objects, Prometheus reads the rules, and a rule asks for nothing but metrics that there are.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "manifests/reconciler/monitoring")
	var monitor monitoring.ServiceMonitor
	var rule monitoring.PrometheusRule
	convert(t, one(t, all, "ServiceMonitor"), &monitor)
	convert(t, one(t, all, "PrometheusRule"), &rule)

	service := one(t, kustomize(t, "manifests/reconciler"), "Service")
	for key, value := range monitor.Spec.Selector.MatchLabels {
		if service.GetLabels()[key] != value {
			t.Errorf("the ServiceMonitor selects %s=%s, which the Service has not: %v", key, value, service.GetLabels())
		}
	}

	text, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"up", "leader_election_master_status", "akash_net_failing_leases", "akash_net_unserved_hosts", "akash_net_pool_addresses", "akash_net_pool_free_addresses", "workqueue_depth"}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
			if err != nil {
				t.Fatal(err)
			}
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				if v, ok := node.(*parser.VectorSelector); ok && !slices.Contains(known, v.Name) {
					t.Errorf("alert %s asks for %s", r.Alert, v.Name)
				}
				return nil
			})
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" || r.For == 0 {
				t.Errorf("alert %s says not what is wrong, how bad it is, or since when", r.Alert)
			}
		}
	}
}

// convert reads an object as its type, and fails if it has a field that the type has not.
func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
		t.Fatalf("%s: %v", o.GetKind(), err)
	}
}

// templateOf returns the pod of a Deployment or a CronJob.
func templateOf(t *testing.T, o *unstructured.Unstructured) (spec corev1.PodSpec, found bool) {
	t.Helper()
	path := map[string][]string{
		"Deployment": {"spec", "template", "spec"}, "CronJob": {"spec", "jobTemplate", "spec", "template", "spec"},
	}[o.GetKind()]
	if path == nil {
		return spec, false
	}
	fields, _, err := unstructured.NestedMap(o.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &spec, true); err != nil {
		t.Fatal(err)
	}
	return spec, true
}
