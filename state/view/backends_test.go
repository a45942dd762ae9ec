package view

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
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

// What answers behind a port of the Service "web": testdata/backends.txt. A block has Services and EndpointSlices; it asks for port 80/TCP.
func TestEndpoints(t *testing.T) {
	datadriven.RunTest(t, "testdata/backends.txt", func(t *testing.T, d *datadriven.TestData) string {
		port, family := "80/TCP", ""
		d.MaybeScanArgs(t, "port", &port)
		d.MaybeScanArgs(t, "family", &family)
		protocol, number := state.Part{Key: claimtest.WordKey(port)}.ProtocolPort()
		var b Backends
		for line := range strings.Lines(d.Input) {
			addBackend(t, &b, "n", line)
		}
		got, err := json.Marshal(b.of("n", "web", number, protocol, config.Family(family)))
		if err != nil {
			t.Fatal(err)
		}
		if elsewhere := b.of("m", "web", number, protocol, config.Family(family)); elsewhere != nil && elsewhere.Total > 0 {
			t.Errorf("%s: another namespace has %+v", d.Pos, elsewhere)
		}
		return string(got) + "\n"
	})
}
