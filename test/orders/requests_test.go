package orders

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What a reservation asks of the ledger does not grow with the number of other reservations.
func TestRequestsDoNotGrow(t *testing.T) {
	harness.NeedsLong(t)
	free(t)
	harness.Node(t, "many-1", nil, harness.Amounts("9", "9Gi"))
	var requests atomic.Int64
	kubeconfig := harness.Kubeconfig(t, harness.Proxy(t, harness.Plane.Config, func(p *httputil.ReverseProxy) {
		next := p.Transport
		p.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "/leases") {
				requests.Add(1)
			}
			return next.RoundTrip(r)
		})
	}))
	file := sdl(t, group{resources: small})
	count := func() int64 {
		requests.Store(0)
		harness.RunAs(t.Context(), kubeconfig, "reserve", "--order", newOrder(t).String(), "-f", file).Exits(t, 0)
		return requests.Load()
	}
	alone := count()
	const others = 600 // more than a page
	config := rest.CopyConfig(harness.Plane.Config)
	config.QPS = -1
	ledger := dynamic.NewForConfigOrDie(config).Resource(leases).Namespace("akash-net")
	work, ctx := parallel.WithContext(t.Context())
	work.SetLimit(16)
	for range others {
		claim := reserved.Claim{Order: newOrder(t), Bound: &reserved.Part{Asked: "x", By: "ann@laptop", Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"elsewhere": {CPU: 1000}}}}}
		work.Go(func() error {
			body, err := json.Marshal(claim.Configuration("akash-net"))
			if err == nil {
				_, err = ledger.Patch(ctx, reserved.Name(claim.Order), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: claim.Order.FieldManager()})
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
