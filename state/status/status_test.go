package status_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/akash-net/kubectl-akash-net/lease/manifest"
	"github.com/akash-net/kubectl-akash-net/state/status"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

var ours = map[string]string{"akash.network": "true"}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Labels: ours} }

func deployment(name string, replicas, ready, available int32) appsv1.Deployment {
	return appsv1.Deployment{ObjectMeta: named(name), Status: appsv1.DeploymentStatus{
		ObservedGeneration: 3, Replicas: replicas, UpdatedReplicas: 1, ReadyReplicas: ready, AvailableReplicas: available}}
}

func statefulSet(name string, replicas, ready, available, current int32) appsv1.StatefulSet {
	return appsv1.StatefulSet{ObjectMeta: named(name), Status: appsv1.StatefulSetStatus{
		ObservedGeneration: 5, Replicas: replicas, UpdatedReplicas: 1, ReadyReplicas: ready, AvailableReplicas: available, CurrentReplicas: current}}
}

func port(port, target, node int32, protocol corev1.Protocol) corev1.ServicePort {
	return corev1.ServicePort{Port: port, TargetPort: intstr.FromInt32(target), NodePort: node, Protocol: protocol}
}

func nodePorts(service string, ports ...corev1.ServicePort) corev1.Service {
	return corev1.Service{ObjectMeta: named(service + "-np"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: ports}}
}

// onAddress returns a Service of MetalLB. Without addresses it is pending.
func onAddress(name, service string, p corev1.ServicePort, addresses ...string) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"akash.network/service-target": "metal-lb"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{p}, Selector: map[string]string{"akash.network/manifest-service": service}}}
	for _, a := range addresses {
		s.Status.LoadBalancer.Ingress = append(s.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
	}
	return s
}

func manifestOf(t *testing.T, services string) *manifest.Manifest {
	t.Helper()
	m := &manifest.Manifest{}
	if err := json.Unmarshal([]byte(`{"spec":{"group":{"services":[`+services+`]}}}`), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func expose(service, fields string) string {
	return `{"name":"` + service + `","expose":[{"port":80,"proto":"TCP",` + fields + `}]}`
}

func host(name, service string) (h status.Host) {
	h.Name, h.Spec.Hostname, h.Spec.Service = name, name, service
	return h
}

const (
	plain80 = `"global":true`
	asked80 = `"global":true,"external_port":80`
	inside  = `"service":"other"`
)

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestLease(t *testing.T) {
	web := []appsv1.Deployment{deployment("web", 1, 1, 1)}
	said := golden.Cases{}
	tests := map[string]struct {
		manifest string
		objects  status.Objects
	}{
		"nothing is asked for":                            {expose("web", inside), status.Objects{Deployments: web}},
		"port 80 without a number outside asks for ports": {expose("web", plain80), status.Objects{Deployments: web}},
		"port 80 by its number does not":                  {expose("web", asked80), status.Objects{Deployments: web}},
		"UDP 80 is a port on the nodes": {expose("web", `"external_port":80,"global":true,"proto":"UDP"`),
			status.Objects{Deployments: web, Services: []corev1.Service{nodePorts("web", port(80, 80, 30080, "UDP"))}}},
		"ports of the containers, in order, without those that have none": {expose("web", plain80),
			status.Objects{Deployments: web, Services: []corev1.Service{nodePorts("web", port(22, 2222, 31000, ""), port(23, 23, 0, "TCP"), port(53, 53, 31001, "UDP"))}}},
		"hosts of a service, by their objects' names": {expose("web", asked80),
			status.Objects{Deployments: web, Hosts: []status.Host{host("b.example.com", "web"), host("c.example.com", "db"), host("a.example.com", "web")}}},
		"a pending address does not hide the others": {expose("web", asked80+`,"ip":"pub"`),
			status.Objects{Deployments: web, Services: []corev1.Service{
				onAddress("web-ip-1", "web", port(80, 8080, 0, "TCP")),
				onAddress("web-ip-2", "web", port(5353, 53, 0, "TCP"), "203.0.113.7"), onAddress("web-ip-3", "web", port(53, 53, 0, "UDP"), "203.0.113.7", "2001:db8::7")}}},
		"all addresses are pending": {expose("web", asked80+`,"ip":"pub"`),
			status.Objects{Deployments: web, Services: []corev1.Service{onAddress("web-ip-1", "web", port(80, 8080, 0, "TCP"))}}},
		"without a Manifest what is there counts": {"",
			status.Objects{Deployments: web, Services: []corev1.Service{nodePorts("web", port(22, 22, 31000, "TCP"))}}},
		"a Deployment that is not Akash's": {expose("web", inside),
			status.Objects{Deployments: append([]appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Name: "alien"}}}, web...)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.manifest != "" {
				tt.objects.Manifest = manifestOf(t, tt.manifest)
			}
			got, err := tt.objects.Of("p.example.com")
			if err != nil {
				t.Fatal(err)
			}
			said[name] = text(t, got) + "\n"
		})
	}
	said.Check(t, "testdata/lease.golden")
}

// Upstream counts a StatefulSet's currentReplicas, which a rollout sets to 0, or to all before any is ready.
func TestAvailable(t *testing.T) {
	o := status.Objects{
		Deployments:  []appsv1.Deployment{deployment("web", 3, 2, 1), deployment("both", 9, 9, 9)},
		StatefulSets: []appsv1.StatefulSet{statefulSet("db", 1, 1, 1, 0), statefulSet("slow", 2, 0, 0, 2), statefulSet("both", 1, 0, 0, 0)},
	}
	got, err := o.Of("")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][3]int32{"web": {1, 2, 3}, "db": {1, 1, 1}, "slow": {0, 0, 2}, "both": {0, 0, 1}} {
		s := got.Services[name]
		if have := [3]int32{s.Available, s.ReadyReplicas, s.Total}; have != want || s.AvailableReplicas != s.Available {
			t.Errorf("%s: available, ready and total are %v, want %v", name, have, want)
		}
	}
}

func TestPublicNameIsLeftOut(t *testing.T) {
	o := status.Objects{Deployments: []appsv1.Deployment{deployment("web", 1, 1, 1)}, Services: []corev1.Service{nodePorts("web", port(22, 22, 31000, "TCP"))}}
	got, err := o.Of("")
	if err != nil {
		t.Fatal(err)
	}
	if out := text(t, got.ForwardedPorts); strings.Contains(out, "host") {
		t.Errorf("without a public name: %s", out)
	}
}

func TestService(t *testing.T) {
	hosts := []status.Host{host("db.example.com", "db"), host("a.example.com", "web")}
	web := []appsv1.Deployment{deployment("web", 1, 1, 1)}
	said := golden.Cases{}
	tests := map[string]struct {
		manifest string
		hosts    []status.Host
	}{
		"all hosts of the lease": {expose("web", plain80), hosts},
		"none yet":               {expose("web", asked80), nil},
		"not by host names":      {expose("web", inside), hosts},
		"UDP":                    {expose("web", `"global":true,"proto":"UDP"`), hosts},
		"another port":           {expose("web", `"global":true,"external_port":8080`), hosts},
		"without a Manifest":     {"", hosts},
		// a Deployment with a RAM mount is one as any other
		"a RAM mount": {`{"name":"web","params":{"storage":[{"name":"shm","mount":"/dev/shm"}]},"expose":[{"port":80,"proto":"TCP","service":"db"}]}`, hosts},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := status.Objects{Deployments: web, Hosts: tt.hosts}
			if tt.manifest != "" {
				o.Manifest = manifestOf(t, tt.manifest)
			}
			got, err := o.Service("web")
			if err != nil {
				t.Fatal(err)
			}
			said[name] = text(t, got) + "\n"
		})
	}
	said.Check(t, "testdata/service.golden")
}

func TestMissing(t *testing.T) {
	var empty status.Objects
	recorded := status.Objects{Manifest: manifestOf(t, expose("web", plain80))}
	runs := status.Objects{Manifest: recorded.Manifest, Deployments: []appsv1.Deployment{deployment("db", 1, 1, 1)}}
	_, nothing := empty.Of("")
	_, noService := empty.Service("web")
	if !errors.Is(nothing, status.ErrNothing) || !errors.Is(noService, status.ErrNothing) {
		t.Error("without Manifest and workloads:", nothing, noService)
	}
	if _, err := recorded.Of(""); !errors.Is(err, status.ErrNoWorkloads) {
		t.Error("without workloads:", err)
	}
	for name, want := range map[string]string{"web": `its service "web" has no Deployment and no StatefulSet`, "nope": `it has no service "nope": it has db`} {
		if _, err := runs.Service(name); err == nil || err.Error() != want {
			t.Errorf("service %s: %v, want %s", name, err, want)
		}
	}
	if _, err := recorded.Service("nope"); err == nil || !strings.Contains(err.Error(), "nothing runs for it") {
		t.Error(err)
	}
}
