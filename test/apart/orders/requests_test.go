package orders

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What a reservation asks of the ledger does not grow with the number of other reservations.
func TestRequestsDoNotGrow(t *testing.T) {
	free(t)
	harness.Node(t, "many-1", nil, harness.Amounts("9", "9Gi"))
	var requests atomic.Int64
	counts := through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofLedger(r) {
			requests.Add(1)
		}
		return next.RoundTrip(r)
	})
	file := sdl(t, group{resources: small})
	count := func() int64 {
		requests.Store(0)
		if err := reserves(t, file)(t.Context(), connect(t, counts), newOrder(t)); err != nil {
			t.Fatal(err)
		}
		return requests.Load()
	}
	alone := count()
	const others = 600 // more than a page
	ledger := connect(t).Dynamic.Resource(leases).Namespace("akash-net")
	work := parallel.New(16)
	order, elsewhere := newOrder(t), inventory.Hold{Nodes: map[string]inventory.Amounts{"elsewhere": {CPU: 1000}}}
	for range others {
		order.DSeq++
		claim := reserved.Claim{Order: order, Bound: &reserved.Part{Asked: "x", By: "ann@laptop", Hold: elsewhere}}
		work.Go(func() error {
			body, err := json.Marshal(claim.Configuration("akash-net"))
			if err == nil {
				_, err = ledger.Patch(t.Context(), reserved.Name(claim.Order), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: claim.Order.FieldManager()})
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	if beside := count(); beside != alone {
		t.Errorf("beside %d reservations a reservation makes %d requests, alone %d", others, beside, alone)
	}
}
