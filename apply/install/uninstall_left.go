package install

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/report"
)

// tellLeft reports what commands on leases have written and an uninstall leaves: the pools and the namespaces of leases. Somebody else's
// Services may have addresses of a pool, and workloads may run in a namespace.
func (i *Installer) tellLeft(ctx context.Context) error {
	pools := metav1.ListOptions{LabelSelector: lease.LabelOurs + "=true"}
	for _, kind := range kinds.Pools {
		if err := i.tellLeftOf(ctx, kind, pools, "a Service may have an address of it; delete it if none has"); err != nil {
			return err
		}
	}
	leased := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true," + lease.LabelDSeq}
	return i.tellLeftOf(ctx, kinds.Namespace, leased, "what its lease runs may be in it; delete it if nothing is")
}

// tellLeftOf reports the objects of a kind that this program has written.
func (i *Installer) tellLeftOf(ctx context.Context, kind kinds.Kind, opts metav1.ListOptions, why string) error {
	left, err := cluster.ListMetas(ctx, i.Cluster, kind.Resource(), "", opts, func(meta *metav1.ObjectMeta) (*metav1.ObjectMeta, bool) {
		return meta, slices.ContainsFunc(slices.Collect(managed.Of(meta)), isOfThisProgram)
	})
	if err != nil {
		if cluster.IsMissingKind(err) {
			return nil
		}
		return i.Cluster.Explain(err, "list", kind.Resource())
	}
	for _, meta := range left {
		i.Report(report.Event{
			Time: time.Now(), Action: report.Kept, Kind: strings.ToLower(kind.Kind), Namespace: meta.Namespace, Name: meta.Name, Message: why,
		})
	}
	return nil
}

// isOfThisProgram reports whether this program has written the entry: by an apply, or as it creates namespaces, which it never changes
// later (decision 57).
func isOfThisProgram(e managed.Entry) bool { return e.Ours() || e.Manager == lease.FieldManager }
