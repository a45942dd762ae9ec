package ledger

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// GoneError reports that the ledger's namespace does not exist.
type GoneError struct {
	Namespace string
	// Object is an object that a lease was applied with: the ledger was lost. It is empty if there is none, as before install.
	Object string
}

func (e *GoneError) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("the ledger's namespace %s does not exist; make it with: kubectl akash-net install", e.Namespace)
	}
	return fmt.Sprintf("the ledger is lost: its namespace %s does not exist, and leases have objects, such as %s; %s", e.Namespace, e.Object, state.RestoreLedger)
}

// Lost returns the error for a ledger that is lost. It returns nil for one that is there, that never was, or of which that cannot be told.
func (l Ledger) Lost(ctx context.Context) *GoneError {
	meta, err := l.namespace(ctx)
	if err == nil && meta == nil {
		if gone := l.gone(ctx); gone.Object != "" {
			return gone
		}
	}
	return nil
}

// gone looks for an object that a lease was applied with. What the user may not list has none.
func (l Ledger) gone(ctx context.Context) *GoneError {
	gone := &GoneError{Namespace: l.Namespace}
	for _, kind := range slices.Concat(kinds.ServingKinds, kinds.ClaimLike) {
		applied, _ := cluster.ListMetas(ctx, l.cluster, kind.Resource(), "", metav1.ListOptions{LabelSelector: lease.LabelOwner}, func(m *metav1.ObjectMeta) (string, bool) {
			return m.Namespace + "/" + m.Name, m.Annotations[lease.AnnotationDefinition] != ""
		})
		if len(applied) > 0 {
			gone.Object = kind.Singular + " " + applied[0]
			break
		}
	}
	return gone
}
