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
		namespace, history := "", "" // only what has a namespace has a story
		if id, err := lease.ParseID(f.Lease); err == nil {
			if namespace = id.Namespace(); p.Namespaces[namespace] {
				history = "kubectl akash-net history " + f.Lease
			}
		}
		again := "tries again by itself, at %s at the latest"
		if p.Now.After(f.Next) {
			again = "was to try again at %s: it does so now, or has ended"
		}
		p.add(state.Problem{
			Problem: state.LeaseFails, Thing: f.Lease, Namespace: namespace, Lease: f.Lease, Since: metav1.NewTime(f.Since),
			Message: fmt.Sprintf("the reconciler has failed %s: %s", times(f.Count), strings.ReplaceAll(f.Error, "\n", "; ")),
			Plan:    "fix the cause that the message names; the reconciler " + fmt.Sprintf(again, f.Next.UTC().Format(time.RFC3339)),
			Manual:  true, Command: history,
		})
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
