package orders

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// An order is explained from its bid to its lease, with what the lease's pods use; who may not list pods is told all but
// that.
func TestExplain(t *testing.T) {
	free(t)
	harness.Node(t, "told-1", rtx4090, harness.Amounts("4", "8Gi", "nvidia.com/gpu", "1"))
	id := harness.LeaseOf(harness.NewOwner(t), 7)
	order, file := "order/"+id.Order().String(), sdl(t, group{resources: oneGPU, host: harness.NewHost("t")})
	explain := func(code int, more ...string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), append([]string{"explain", order}, more...)...).Exits(t, code)
	}
	if r := explain(1).Says(t, "order "+id.Order().String()+" has reserved nothing"); r.Stdout != "" {
		t.Errorf("said twice: %s", r)
	}
	explain(0, "--ignore-not-found").Prints(t, "order "+id.Order().String()+" has reserved nothing\n")
	reserve(t, 0, id.Order(), file, "--expires", "5m")
	explain(0).Prints(t, "has reserved 1 CPU, 1Gi memory, 1Gi disk, 1 nvidia/rtx4090, for a bid\n",
		"  It stands since ", "  Node told-1: 1 CPU", "  It ends at ", "  Nothing of it is in use.\n", "order release")
	r := explain(1, "nobody.example.com", "endpoint/none", "-o", "json").Prints(t, "no IP endpoint named none")
	if strings.Index(r.Stdout, order) > strings.Index(r.Stdout, "nobody.example.com") {
		t.Errorf("the order of the arguments is another: %s", r)
	}
	harness.Run(t.Context(), "__complete", "explain", order[:20]).Exits(t, 0).Prints(t, order+"\n")
	harness.Run(t.Context(), "state", order, "-o", "name").Exits(t, 0).Prints(t, order+"\n")
	harness.Run(t.Context(), "explain", "order/"+id.String()).Exits(t, 2).Says(t, "not of the form OWNER/DSEQ/GSEQ/OSEQ")
	harness.Run(t.Context(), "release", order).Exits(t, 2).Says(t, order+" is not what this command takes")

	t.Cleanup(func() { harness.Run(context.WithoutCancel(t.Context()), "release", id.String()) })
	harness.Run(t.Context(), "apply", "-f", file, "--lease", id.String(), "--workloads", "--wait=false").Exits(t, 0)
	explain(0).Prints(t, ", for its lease at "+id.Provider+"\n", "Nothing of it is in use", "It has no end", "release "+id.Group().String())
	pod(t, id.Namespace(), "web-1", "told-1", uses("500m", "1Gi"), "")
	explain(0).Prints(t, "In use by the lease's pods, volumes and addresses: 500m CPU, 1Gi memory. Kept for it: 500m CPU, 1Gi disk, 1 GPU.\n")

	reader := fmt.Sprint("reader-", harness.Number())
	harness.Bind(t, reader, "ledger/akash-net-viewer")
	harness.Eventually(t, "the role is known", func(ctx context.Context) (bool, error) {
		return harness.Run(ctx, "explain", order, "--as", reader).Code == 0, nil
	})
	explain(0, "--as", reader).Prints(t, "for its lease at "+id.Provider, "What its lease uses of it could not be read: ", "is forbidden")
}
