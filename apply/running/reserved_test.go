package running

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// A plan shows what is reserved before and after: for which group, where, for whom and until when, as far as it is said.
func TestTakeover(t *testing.T) {
	order := lease.Order{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 1}
	bid := &reserved.Part{Asked: "g", Expires: "2026-11-01T12:00:00Z", Hold: inventory.Hold{
		Nodes: map[string]inventory.Amounts{"n2": {CPU: 1000}, "n1": {CPU: 1000}},
	}}
	won := *bid
	won.Expires, won.Provider = "", "akash1p"
	got := takeover(&reserved.Claim{Order: order, UID: "u", ResourceVersion: "7", Bound: bid}, &won)
	if got.Action != plan.Claim || got.Kind != "order" || got.Name != order.String() || got.UID != "u" || got.ResourceVersion != "7" {
		t.Errorf("the change is %+v", got)
	}
	holds := bid.Hold.Words(nil)
	if holds == "" {
		t.Fatal("nothing is held")
	}
	before := map[string]any{"group": "g", "holds": holds, "nodes": "n1 n2", "expires": "2026-11-01T12:00:00Z"}
	after := map[string]any{"group": "g", "holds": holds, "nodes": "n1 n2", "provider": "akash1p"}
	if diff := cmp.Diff([]map[string]any{before, after}, []map[string]any{got.Before, got.After}); diff != "" {
		t.Error(diff)
	}
	if got := takeover(&reserved.Claim{Order: order}, &won); got.Before != nil {
		t.Errorf("nothing was reserved, and before is %v", got.Before)
	}
}
