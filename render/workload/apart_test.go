package workload_test

import (
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render/workload"
	"github.com/akash-net/kubectl-akash-net/test/workgen"
)

// The fields that a tenant's pod and its container may have, whatever the tenant writes: none that reaches the node or another
// pod.
var (
	podFields       = []string{"affinity", "automountServiceAccountToken", "containers", "imagePullSecrets", "runtimeClassName", "securityContext", "serviceAccountName", "volumes"}
	containerFields = []string{"args", "command", "env", "image", "imagePullPolicy", "name", "ports", "resources", "securityContext", "volumeMounts"}
	volumeFields    = []string{"emptyDir", "name"}
)

func onlyFields(t *rapid.T, what string, o any, allowed []string) map[string]any {
	fields := o.(map[string]any)
	for name := range fields {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s has the field %s", what, name)
		}
	}
	return fields
}

func list(o any) []any { l, _ := o.([]any); return l }

func TestAPodReachesNothingOfItsNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		for _, o := range d.all.Objects {
			if o.Kind.Kind != "Deployment" && o.Kind.Kind != "StatefulSet" {
				continue
			}
			template := as[map[string]any](t, o)["spec"].(map[string]any)["template"].(map[string]any)
			onlyFields(t, o.String()+"'s template", template, []string{"metadata", "spec"})
			onlyFields(t, o.String()+"'s metadata", template["metadata"], []string{"labels"})
			spec := onlyFields(t, o.String()+"'s pod", template["spec"], podFields)
			for _, c := range list(spec["containers"]) {
				onlyFields(t, o.String()+"'s container", c, containerFields)
			}
			for _, v := range list(spec["volumes"]) {
				onlyFields(t, o.String()+"'s volume", v, volumeFields)
			}
			if len(list(spec["containers"])) != 1 {
				t.Errorf("%s has %d containers", o, len(list(spec["containers"])))
			}
			pod := as[runs](t, o).Spec.Template.Spec
			s := pod.Containers[0].SecurityContext
			if *s.Privileged || *s.AllowPrivilegeEscalation || *pod.AutomountServiceAccountToken != (pod.ServiceAccountName != "") {
				t.Errorf("%s: %+v, token %t, account %q", o, s, *pod.AutomountServiceAccountToken, pod.ServiceAccountName)
			}
		}
	})
}

// An account may read what its words say, in its own namespace, and there is none for who has no words.
func TestRights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		for _, o := range d.all.Objects {
			switch o.Kind.Kind {
			case "Role":
				for _, r := range as[rbacv1.Role](t, o).Rules {
					if slices.ContainsFunc(r.Verbs, func(v string) bool { return v != "get" && v != "list" && v != "watch" }) ||
						slices.ContainsFunc(r.Resources, func(s string) bool { return !slices.Contains([]string{"pods", "pods/log", "deployments", "events"}, s) }) {
						t.Errorf("%s grants %+v", o, r)
					}
				}
			case "RoleBinding":
				b := as[rbacv1.RoleBinding](t, o)
				if len(b.Subjects) != 1 || b.Subjects[0] != (rbacv1.Subject{Kind: "ServiceAccount", Name: o.Name, Namespace: o.Namespace}) || b.RoleRef.Kind != "Role" || b.RoleRef.Name != o.Name {
					t.Errorf("%s binds %+v to %+v", o, b.RoleRef, b.Subjects)
				}
			case "ClusterRole", "ClusterRoleBinding":
				t.Errorf("%s is rendered", o)
			}
			want := d.def.Lease.Namespace()
			switch o.Kind.Kind {
			case "Namespace":
				want = ""
			case "Manifest":
				want = "lease"
			}
			if o.Namespace != want {
				t.Errorf("%s is in the namespace %q", o, o.Namespace)
			}
		}
		for _, w := range d.def.Workloads.Services {
			reads := w.Params != nil && w.Params.Permissions != nil && len(w.Params.Permissions.Read) > 0
			if _, none := find(d.all, w.Name, "Role").(struct{}); none == reads || d.runs[w.Name].Spec.Template.Spec.ServiceAccountName != map[bool]string{true: w.Name}[reads] {
				t.Errorf("%s: it reads is %t", w.Name, reads)
			}
		}
	})
}

// peer is who sends, or is sent to: a pod with its namespace, or an address outside.
type peer struct {
	namespace, pod labels.Set
	address        netip.Addr
}

func matches(s *metav1.LabelSelector, l labels.Set) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(l)
}

func (p peer) in(q netv1.NetworkPolicyPeer) bool {
	if q.IPBlock != nil {
		in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(p.address) }
		return p.address.IsValid() && in(q.IPBlock.CIDR) && !slices.ContainsFunc(q.IPBlock.Except, in)
	}
	return !p.address.IsValid() && (q.NamespaceSelector == nil || matches(q.NamespaceSelector, p.namespace)) && (q.PodSelector == nil || matches(q.PodSelector, p.pod))
}

// lets is true where the policies let a peer in to a port of a service's pods, or its pods out to it.
func lets(policies []netv1.NetworkPolicy, service labels.Set, in bool, p peer, port int32, protocol corev1.Protocol) bool {
	toPort := func(ports []netv1.NetworkPolicyPort) bool {
		return len(ports) == 0 || slices.ContainsFunc(ports, func(q netv1.NetworkPolicyPort) bool { return q.Port.IntVal == port && *q.Protocol == protocol })
	}
	for _, policy := range policies {
		if !matches(&policy.Spec.PodSelector, service) {
			continue
		}
		for _, r := range policy.Spec.Ingress {
			if in && toPort(r.Ports) && (len(r.From) == 0 || slices.ContainsFunc(r.From, p.in)) {
				return true
			}
		}
		for _, r := range policy.Spec.Egress {
			if !in && toPort(r.Ports) && (len(r.To) == 0 || slices.ContainsFunc(r.To, p.in)) {
				return true
			}
		}
	}
	return false
}

// Who reaches a service, and what a service reaches, is what its documentation says, whatever its lease exposes.
func TestLeasesAreKeptApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def, params := workgen.Definition(t)
		cfg := workgen.Config(t)
		cfg.Workloads.NetworkPolicies, cfg.Workloads.APIServers = true, nil
		all, err := workload.Lease(def, cfg, workload.Options{Scheduler: params})
		if err != nil {
			t.Fatal(err)
		}
		var policies []netv1.NetworkPolicy
		for _, o := range all.Objects {
			if o.Kind.Kind == "NetworkPolicy" {
				policies = append(policies, as[netv1.NetworkPolicy](t, o))
			}
		}
		if !slices.ContainsFunc(policies, func(p netv1.NetworkPolicy) bool {
			return len(p.Spec.PodSelector.MatchLabels) == 0 && len(p.Spec.PolicyTypes) == 2
		}) {
			t.Error("no policy isolates all pods, in and out")
		}
		ns := labels.Set{"kubernetes.io/metadata.name": def.Lease.Namespace(), "akash.network": "true", "akash.network/namespace": def.Lease.Namespace()}
		other := def.Lease
		other.DSeq++
		stranger := peer{namespace: labels.Set{"kubernetes.io/metadata.name": other.Namespace(), "akash.network": "true", "akash.network/namespace": other.Namespace()},
			// A tenant names its pods as it likes, but labels neither them nor its namespace.
			pod: labels.Set{"akash.network": "true", "akash.network/manifest-service": "ingress-nginx"}}
		at := func(address string) peer { return peer{address: netip.MustParseAddr(address)} }
		for _, s := range def.Services {
			pod := labels.Set{"akash.network": "true", "akash.network/namespace": def.Lease.Namespace(), "akash.network/manifest-service": s.Name}
			for _, port := range []int32{53, 80, 8080, 65535, 6443} {
				for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
					in := func(p peer) bool { return lets(policies, pod, true, p, port, protocol) }
					open := slices.ContainsFunc(s.Expose, func(e lease.Expose) bool {
						return int32(e.Port) == port && string(e.Protocol) == string(protocol) && e.Global && (!e.IsIngress() || e.IP != "")
					})
					leased := slices.ContainsFunc(s.Expose, func(e lease.Expose) bool {
						return int32(e.Port) == port && string(e.Protocol) == string(protocol) && e.Global && !e.IsIngress()
					})
					if in(stranger) != leased || in(at("203.0.113.7")) != open || !in(peer{namespace: ns, pod: pod}) {
						t.Errorf("%s, port %d %s: another lease %t, anybody %t, its own lease %t", s.Name, port, protocol, in(stranger), in(at("203.0.113.7")), in(peer{namespace: ns, pod: pod}))
					}
				}
			}
			strict := cfg.Workloads.StrictNetworkPolicies
			for address, want := range map[string]bool{
				"8.8.8.8": true, "10.0.0.1": false, "10.255.255.255": false, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true, "192.168.1.1": false, "192.169.0.1": true,
				"169.254.169.254": !strict, "100.64.0.1": !strict, "100.128.0.1": true, "2001:4860::1": strict, "fd00::1": false, "fe80::1": false,
			} {
				if got := lets(policies, pod, false, at(address), 443, corev1.ProtocolTCP); got != want {
					t.Errorf("%s reaches %s is %t (strict %t)", s.Name, address, got, strict)
				}
			}
			dns := peer{namespace: labels.Set{"kubernetes.io/metadata.name": "kube-system"}, pod: labels.Set{"k8s-app": "kube-dns"}}
			if !lets(policies, pod, false, dns, 53, corev1.ProtocolUDP) || lets(policies, pod, false, dns, 9153, corev1.ProtocolTCP) || lets(policies, pod, false, stranger, 80, corev1.ProtocolTCP) {
				t.Errorf("%s reaches what it should not, or no names", s.Name)
			}
		}
	})
}
