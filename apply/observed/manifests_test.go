package observed

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// manifest is a Manifest of Akash's provider with one service and one port.
func manifest(service string, count, port, external int64, global bool) *unstructured.Unstructured {
	expose := map[string]any{"port": port, "external_port": external, "global": global}
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": map[string]any{"services": []any{
		map[string]any{"name": service, "count": count, "expose": []any{expose}},
	}}}}}
}

// Akash's hostname operator finds a port by the global port of a service with instances.
func TestLacks(t *testing.T) {
	tests := []struct {
		name     string
		manifest *unstructured.Unstructured
		lacks    string
	}{
		{"no Manifest", nil, "no Manifest"},
		{"an empty Manifest", &unstructured.Unstructured{Object: map[string]any{}}, noPort},
		{"the port as it is seen from outside", manifest("web", 1, 8080, 80, true), ""},
		{"a port that says no other outside", manifest("web", 1, 80, 0, true), ""},
		{"the container's port alone", manifest("web", 1, 80, 8080, true), noPort},
		{"another service", manifest("api", 1, 80, 80, true), noPort},
		{"no instances", manifest("web", 0, 80, 80, true), noPort},
		{"within the lease only", manifest("web", 1, 80, 80, false), noPort},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := Manifests{}
			if tt.manifest != nil {
				m[statetest.Shop.Namespace()] = tt.manifest
			}
			if got := m.Lacks(statetest.Shop, "web", 80); got != tt.lacks {
				t.Errorf("it lacks %q, want %q", got, tt.lacks)
			}
		})
	}
}

const noPort = "no service web with instances and a global port 80 in its Manifest"

// Only hosts that have a ProviderHost are warned of: not paths and wildcards, and nothing while no operator runs.
func TestWarnings(t *testing.T) {
	r := state.Request{Lease: statetest.Shop, Hosts: []state.HostWant{
		{Host: "shop.example.com", Path: "/", Service: "web", Port: 80, At: lease.Place{File: "f", Line: 3, Column: 5}},
		{Host: "shop.example.com", Path: "/v1", Service: "api", Port: 80},
		{Host: "*.example.com", Path: "/", Service: "web", Port: 80},
	}}
	const want = "f:3:5: shop.example.com: lease "
	if got := (Manifests{}).Warnings(r); len(got) != 1 || got.Failed() || got[0].Error()[:len(want)] != want {
		t.Errorf("got %v", got)
	}
	if got := (Manifests{statetest.Shop.Namespace(): manifest("web", 1, 80, 80, true)}).Warnings(r); len(got) != 0 {
		t.Errorf("got %v, and the operator finds it", got)
	}
	if got := Manifests(nil).Warnings(r); len(got) != 0 {
		t.Errorf("got %v, and no operator runs", got)
	}
}
