package observed_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
)

// Nobody judges a route before a controller has taken its Gateway.
func TestTaken(t *testing.T) {
	gateway := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	condition := func(kind, status string) any { return map[string]any{"type": kind, "status": status} }
	for name, tt := range map[string]struct {
		gateway *unstructured.Unstructured
		want    bool
	}{
		"there is no Gateway":               {nil, false},
		"without a condition":               {gateway(), false},
		"as the API server makes it":        {gateway(condition("Accepted", "Unknown"), condition("Programmed", "Unknown")), false},
		"accepted":                          {gateway(condition("Accepted", "True")), true},
		"only something else is said of it": {gateway(condition("Accepted", "Unknown"), condition("Programmed", "False")), false},
		"refused, which somebody has said":  {gateway(condition("Programmed", "Unknown"), condition("Accepted", "False")), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := observed.Taken(tt.gateway); got != tt.want {
				t.Errorf("taken: %t, want %t", got, tt.want)
			}
		})
	}
}
