package view

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// addBackend adds a Service or an EndpointSlice of a namespace:
//
//	backend NAME [PORT[/PROTOCOL][=PORTNAME]...] [external]
//	slice SERVICE FAMILY PORTNAME,... [ENDPOINT[:WORD...]...]     words are ready, unready, ending; a name "pod…" is a pod's, others are addresses
//
// "backends" and "slices" say that they were read, even if there are none.
func addBackend(t *testing.T, b *Backends, namespace, line string) {
	t.Helper()
	words := strings.Fields(line)
	switch words[0] {
	case "backends":
		b.ResetServices(true)
	case "slices":
		b.ResetSlices(true)
	case "backend":
		o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: words[1]}}
		for _, word := range words[2:] {
			if word == "external" {
				o.Spec.Type = corev1.ServiceTypeExternalName
				continue
			}
			text, name, _ := strings.Cut(word, "=")
			number, protocol, _ := strings.Cut(text, "/")
			port, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			o.Spec.Ports = append(o.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(port), Protocol: corev1.Protocol(protocol)})
		}
		b.AddService(o)
	case "slice":
		o := wordSlice(words[1], words[2], words[3], words[4:])
		o.Namespace = namespace
		b.AddSlice(o)
	default:
		t.Fatalf("%q is nothing", line)
	}
}

func wordSlice(service, family, ports string, endpoints []string) *discoveryv1.EndpointSlice {
	o := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressType(family)}
	if service != "-" {
		o.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	}
	for name := range strings.SplitSeq(ports, ",") {
		port := discoveryv1.EndpointPort{}
		if name != "-" {
			port.Name = &name
		}
		o.Ports = append(o.Ports, port)
	}
	for _, text := range endpoints {
		words := strings.Split(text, ":")
		e := discoveryv1.Endpoint{Addresses: []string{words[0]}}
		if strings.HasPrefix(words[0], "pod") {
			e.Addresses[0] = family + " of " + words[0]
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: words[0], UID: types.UID("uid of " + words[0])}
		}
		yes, no := true, false
		for _, word := range words[1:] {
			switch word {
			case "ready":
				e.Conditions.Ready = &yes
			case "unready":
				e.Conditions.Ready = &no
			case "ending":
				e.Conditions.Terminating = &yes
			}
		}
		o.Endpoints = append(o.Endpoints, e)
	}
	return o
}

// What answers behind a port of the Service "web".
func TestEndpoints(t *testing.T) {
	for _, tt := range []struct {
		name, port string
		family     config.Family
		lines      []string
		want       string
	}{
		{"all are ready", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:ready pod2:ready"}, `{"ready":2,"total":2}`},
		{"none is ready", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:unready pod2:unready"}, `{"ready":0,"total":2}`},
		{"an unset condition means ready", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1 10.0.0.2"}, `{"ready":2,"total":2}`},
		{"no pods", "80/TCP", "", []string{"backend web 80", "slices"}, `{"ready":0,"total":0}`},
		{"an empty slice, as the controller makes it without pods", "80/TCP", "", []string{"backend web 80", "slice web IPv4 -"}, `{"ready":0,"total":0}`},
		{"endpoints that end are on their way out", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:ready pod2:unready:ending"}, `{"ready":1,"total":1}`},
		{"a Service that publishes what is not ready", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:ready:ending"}, `{"ready":1,"total":1}`},

		{"several slices are one list", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:ready", "slice web IPv4 - pod2:unready"}, `{"ready":1,"total":2}`},
		{"a pod with two families is one endpoint", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:ready", "slice web IPv6 - pod1:ready"}, `{"ready":1,"total":1}`},
		{"an endpoint that moves between slices is one, and ready where one says so", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:unready", "slice web IPv4 - pod1:ready", "slice web IPv4 - pod1:unready"}, `{"ready":1,"total":1}`},
		{"an endpoint that ends in one slice alone stays", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - pod1:unready:ending", "slice web IPv4 - pod1:unready"}, `{"ready":0,"total":1}`},
		{"addresses without a pod", "80/TCP", "", []string{"backend web 80", "slice web IPv4 - 10.0.0.1:ready 10.0.0.2:unready", "slice web IPv4 - 10.0.0.1:ready"}, `{"ready":1,"total":2}`},
		{"an address reaches its family", "80/TCP", config.IPv6, []string{"backend web 80", "slice web IPv4 - pod1:ready", "slice web IPv6 - pod2:unready"}, `{"ready":0,"total":1}`},
		{"nothing routes to names", "80/TCP", "", []string{"backend web 80", "slice web FQDN - shop.example.com:ready"}, `{"ready":0,"total":0}`},

		{"of several ports the one that is asked for", "80/TCP", "", []string{"backend web 443=b 80=a", "slice web IPv4 b pod1:ready", "slice web IPv4 a pod2:unready"}, `{"ready":0,"total":1}`},
		{"a port of each protocol", "53/UDP", "", []string{"backend web 53/TCP=t 53/UDP=u", "slice web IPv4 t pod1:ready", "slice web IPv4 u,v pod2:unready"}, `{"ready":0,"total":1}`},
		{"the Service has no such port", "80/TCP", "", []string{"backend web 8080", "slice web IPv4 - pod1:ready"}, `{"ready":0,"total":0,"missing":"port"}`},
		{"the Service has the port of another protocol", "53/UDP", "", []string{"backend web 53", "slice web IPv4 - pod1:ready"}, `{"ready":0,"total":0,"missing":"port"}`},
		{"a port that is no port", "80/TCP", "", []string{"backend web 65616", "slice web IPv4 - pod1:ready"}, `{"ready":0,"total":0,"missing":"port"}`},

		{"there is no Service", "80/TCP", "", []string{"backend other 80", "slice other IPv4 - pod1:ready"}, `{"ready":0,"total":0,"missing":"Service"}`},
		{"there are no Services at all", "80/TCP", "", []string{"backends", "slices"}, `{"ready":0,"total":0,"missing":"Service"}`},
		{"the slice outlives the Service", "80/TCP", "", []string{"backends", "slice web IPv4 - pod1:ready"}, `{"ready":0,"total":0,"missing":"Service"}`},
		{"a slice of no Service", "80/TCP", "", []string{"backend web 80", "slice - IPv4 - pod1:ready"}, `{"ready":0,"total":0}`},

		{"nothing was read", "80/TCP", "", nil, "null"},
		{"slices may not be read", "80/TCP", "", []string{"backend web 80"}, "null"},
		{"slices may not be read, and the Service is missing", "80/TCP", "", []string{"backends"}, `{"ready":0,"total":0,"missing":"Service"}`},
		{"Services may not be read", "80/TCP", "", []string{"slice web IPv4 a pod1:ready", "slice web IPv4 b pod2:unready"}, `{"ready":1,"total":2}`},
		{"a Service that stands for a name outside", "80/TCP", "", []string{"backend web 80 external", "slices"}, "null"},
	} {
		number, protocol, _ := strings.Cut(tt.port, "/")
		port, _ := strconv.ParseUint(number, 10, 16)
		var b Backends
		for _, line := range tt.lines {
			addBackend(t, &b, "n", line)
		}
		got, err := json.Marshal(b.of("n", "web", uint16(port), lease.Protocol(protocol), tt.family))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s %v, want %s", tt.name, got, err, tt.want)
		}
		if elsewhere := b.of("m", "web", uint16(port), lease.Protocol(protocol), tt.family); elsewhere != nil && elsewhere.Total > 0 {
			t.Errorf("%s: another namespace has %+v", tt.name, elsewhere)
		}
	}
}
