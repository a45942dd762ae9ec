package orders

import (
	"context"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The operator's roles and that for capacity are enough to reserve, to move, and to give up; and the guard takes what is
// written for a claim as it should be.
func TestRolesAndGuard(t *testing.T) {
	free(t)
	harness.Node(t, "roles-1", nil, harness.Amounts("4", "8Gi"))
	harness.Bind(t, "bidder", "akash-net-operator", "akash-net-capacity", "ledger/akash-net-operator")
	harness.Run(t.Context(), "install", "--guard").Exits(t, 0)
	order, cfg := newOrder(t), harness.Configure(t, `ip: {ranges: ["203.0.113.0/31"]}`)
	file := sdl(t, group{resources: small, addresses: 1})
	harness.Eventually(t, "the roles are known", func(ctx context.Context) (bool, error) {
		return harness.Run(ctx, "order", "reserve", order.String(), "-f", file, "--config", cfg, "--expires", "5m", "--as", "bidder").Code == 0, nil
	})
	reserve(t, 0, order, sdl(t, group{resources: small, addresses: 2, count: 2}), "--config", cfg, "--as", "bidder").Prints(t, "moved (2 CPU, 2Gi memory, 2Gi disk, 2 addresses")
	reserve(t, 4, newOrder(t), file, "--config", cfg, "--as", "bidder").Says(t, "1 leased address wanted, none is free")
	harness.Run(t.Context(), "state", "orders", "--as", "bidder").Exits(t, 0).Prints(t, "2 addresses")
	harness.Run(t.Context(), "order", "release", order.String(), "--as", "bidder").Exits(t, 0)
}
