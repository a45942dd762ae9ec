package inventory_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Words lists the amounts that are not 0, summed over all nodes.
func TestHoldWords(t *testing.T) {
	one := inventory.Hold{
		Nodes:   map[string]inventory.Amounts{"a": {CPU: 500, Memory: 64 << 20, GPU: 1}, "b": {CPU: 500, EphemeralStorage: 1 << 30}},
		Storage: map[string]uint64{"beta3": 2 << 30, "beta2": 1}, Addresses: 1,
	}
	for want, c := range map[string]struct {
		hold   inventory.Hold
		models []string
	}{
		"": {},
		"1 CPU, 64Mi memory, 1Gi disk, 1 GPU, 1 beta2, 2Gi beta3, 1 address":                {one, nil},
		"1 CPU, 64Mi memory, 1Gi disk, 1 nvidia/t4 or amd/x, 1 beta2, 2Gi beta3, 1 address": {one, []string{"nvidia/t4", "amd/x"}},
		"2 addresses": {inventory.Hold{Addresses: 2, Storage: map[string]uint64{"beta2": 0}}, nil},
	} {
		if got := c.hold.Words(c.models); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
