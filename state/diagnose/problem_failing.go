package diagnose

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// findFailing finds the leases that the reconciler fails to bring to what they are to be.
func (p *problems) findFailing() {
	for _, f := range p.Failing {
		namespace := ""
		if id, err := lease.ParseID(f.Lease); err == nil {
			namespace = id.Namespace()
		}
		p.add(state.Problem{
			Problem: state.LeaseFails, Thing: f.Lease, Namespace: namespace, Lease: f.Lease, Since: metav1.NewTime(f.Since),
			Message: fmt.Sprintf("the reconciler has failed %s: %s", times(f.Count), strings.ReplaceAll(f.Error, "\n", "; ")),
			Plan:    "fix the cause that the message names; the reconciler tries again by itself, at " + f.Next.UTC().Format(time.RFC3339) + " at the latest",
			Manual:  true, Command: "kubectl akash-net history " + f.Lease,
		})
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
