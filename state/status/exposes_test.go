package status_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/status"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// What a lease asks for, by expose: hosts for a global expose of TCP and external port 80; node ports for any other
// global expose; addresses for a global expose with an endpoint.
func TestWhatExposesAskFor(t *testing.T) {
	for _, port := range []int{80, 53} {
		for _, external := range []int{0, 80, 8080} {
			for _, proto := range []string{"TCP", "UDP"} {
				for _, global := range []bool{false, true} {
					for _, ip := range []string{"", "public"} {
						outside := external
						if external == 0 {
							outside = port
						}
						wantHosts := global && proto == "TCP" && outside == 80
						wantPorts := global && (proto != "TCP" || external != 80)
						wantIPs := global && ip != ""
						fields := fmt.Sprintf(`{"name":"web","expose":[{"port":%d,"external_port":%d,"proto":%q,"global":%t,"ip":%q}]}`, port, external, proto, global, ip)
						o := status.Objects{Manifest: manifestOf(t, fields), Deployments: []appsv1.Deployment{deployment("web", 1, 1, 1)}}
						all, err := o.Of("p")
						one, err2 := o.Service("web")
						if err != nil || err2 != nil {
							t.Fatal(err, err2)
						}
						got := [3]bool{one.URIs != nil, all.ForwardedPorts != nil, all.IPs != nil}
						if want := [3]bool{wantHosts, wantPorts, wantIPs}; got != want {
							t.Errorf("%s asks for hosts, ports and addresses: %v, want %v", fields, got, want)
						}
					}
				}
			}
		}
	}
}

// One matching expose of one service is enough.
func TestOneExposeAsks(t *testing.T) {
	services := `{"name":"db"},{"name":"web","expose":[{"port":1,"proto":"TCP","service":"db"},{"port":2,"proto":"UDP","global":true,"ip":"x"}]}`
	o := status.Objects{Manifest: manifestOf(t, services), StatefulSets: []appsv1.StatefulSet{statefulSet("db", 1, 1, 1, 1)}}
	got, err := o.Of("")
	if err != nil || got.ForwardedPorts == nil || got.IPs == nil || len(got.ForwardedPorts)+len(got.IPs) > 0 {
		t.Errorf("%s, %v", text(t, got), err)
	}
}

// Services that are not in the form of Akash's provider are not shown.
func TestServicesOfOthers(t *testing.T) {
	web := []appsv1.Deployment{deployment("web", 1, 1, 1)}
	address := func(change func(*corev1.Service)) corev1.Service {
		s := onAddress("web-ip", "web", port(80, 8080, 0, "TCP"), "203.0.113.7")
		change(&s)
		return s
	}
	node := func(change func(*corev1.Service)) corev1.Service {
		s := nodePorts("web", port(22, 22, 30022, "TCP"))
		change(&s)
		return s
	}
	said := golden.Cases{}
	for name, service := range map[string]corev1.Service{
		"a port on the nodes":             node(func(*corev1.Service) {}),
		"no NodePort":                     node(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }),
		"another name":                    node(func(s *corev1.Service) { s.Name = "web" }),
		"no ports":                        node(func(s *corev1.Service) { s.Spec.Ports = nil }),
		"no port yet":                     node(func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 0 }),
		"a name for the container's port": node(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("ssh") }),
		"an address":                      address(func(*corev1.Service) {}),
		"an address of another's":         address(func(s *corev1.Service) { s.Labels = nil }),
		"an address of no balancer":       address(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }),
		"a host name for an address":      address(func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "x"}} }),
		"an address of no ports":          address(func(s *corev1.Service) { s.Spec.Ports = nil }),
		"an address of no service":        address(func(s *corev1.Service) { s.Spec.Selector = nil }),
	} {
		o := status.Objects{Deployments: web, Services: []corev1.Service{service}}
		got, err := o.Of("")
		if err != nil {
			t.Fatal(err)
		}
		said[name] = fmt.Sprintf("ports %s, addresses %s\n", text(t, got.ForwardedPorts), text(t, got.IPs))
	}
	said.Check(t, "testdata/others.golden")
}

// The answer does not depend on the order of objects and does not change them.
func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	services := []corev1.Service{
		nodePorts("web", port(22, 22, 30022, "TCP"), port(53, 53, 30053, "UDP")), nodePorts("db", port(1, 1, 30001, "")),
		onAddress("a", "web", port(80, 8080, 0, "TCP"), "203.0.113.7", "2001:db8::1"), onAddress("b", "web", port(80, 8080, 0, "UDP"), "203.0.113.7"),
		onAddress("c", "web", port(443, 8080, 0, "TCP"), "203.0.113.8"), onAddress("d", "db", port(5432, 5432, 0, "TCP"), "203.0.113.7"), onAddress("e", "db", port(5432, 5432, 0, "TCP")),
	}
	hosts := []status.Host{host("a.example.com", "web"), host("b.example.com", "db"), host("c.example.com", "web"), host("d.example.com", "gone")}
	deployments := []appsv1.Deployment{deployment("web", 3, 2, 1), deployment("db", 9, 9, 9), {ObjectMeta: metav1.ObjectMeta{Name: "x"}}}
	sets := []appsv1.StatefulSet{statefulSet("db", 1, 1, 1, 0), {ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
	rapid.Check(t, func(t *rapid.T) {
		one := status.Objects{Services: services, Hosts: hosts, Deployments: deployments, StatefulSets: sets}
		other := status.Objects{Services: rapid.Permutation(services).Draw(t, "services"), Hosts: rapid.Permutation(hosts).Draw(t, "hosts"),
			Deployments: rapid.Permutation(deployments).Draw(t, "deployments"), StatefulSets: rapid.Permutation(sets).Draw(t, "sets")}
		before := slices.Clone(other.Services)
		a, err := one.Of("p")
		b, err2 := other.Of("p")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, other.Services); diff != "" {
			t.Error(diff)
		}
		if len(a.Services) != 2 || a.Services["db"].Total != 1 || a.Services["web"].Total != 3 {
			t.Errorf("%+v", a.Services)
		}
	})
}
