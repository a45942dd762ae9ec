package records

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Holder returns the other deployment group that may write a host's records: it holds a part of the host's claim, which may
// be nil, and its records are older than those of the group. It is empty if there is none. A DNS name has one writer.
func Holder(s *observed.Snapshot, group lease.Group, claim *state.Claim, host string) string {
	records := slices.Clone(s.Records[host])
	slices.SortStableFunc(records, func(a, b observed.Owned) int {
		return cmp.Or(a.Live.GetCreationTimestamp().Compare(b.Live.GetCreationTimestamp().Time), cmp.Compare(a.Live.GetUID(), b.Live.GetUID()))
	})
	for _, o := range records {
		switch {
		case o.Group == group:
			return ""
		case len(claim.PartsOf(o.Group)) > 0:
			return o.Group.String()
		}
	}
	return ""
}

// Replaced is a record that must be gone before others are created, and the reason.
type Replaced struct {
	observed.Owned
	Why string
}

// ToReplace returns the records of a host that must be deleted before the group's wanted ones are written: those that
// cannot be updated and, if any record is to be created, all that are not wanted. recreated has the names of the wanted
// records whose live object is deleted.
func ToReplace(s *observed.Snapshot, group lease.Group, host string, objects []render.Object) (old []Replaced, recreated map[string]bool) {
	recreated = map[string]bool{}
	created := ""
	wanted := sets.New[*unstructured.Unstructured]()
	for _, o := range objects {
		live := s.Find(o)
		if live == nil {
			created = o.String()
			continue
		}
		wanted.Insert(live)
		if why := whyReplaced(o, live); why != "" {
			created, recreated[o.Name] = o.String(), true
			id, _ := lease.IDFromLabels(live.GetLabels())
			old = append(old, Replaced{observed.Owned{Kind: o.Kind, Live: live, Group: id.Group()}, why})
		}
	}
	if created == "" {
		return old, recreated
	}
	for _, o := range s.Records[host] {
		if wanted.Has(o.Live) {
			continue
		}
		why := "by " + created
		if o.Group != group {
			why += ", from deployment " + o.Group.String()
		}
		old = append(old, Replaced{o, why})
	}
	return old, recreated
}

// Targets returns where the hosts of a lease are reached, by the names of their records: read now if fresh is true, and
// otherwise as in the snapshot, but for the Gateway, which is read once.
func Targets(
	ctx context.Context, s *observed.Snapshot, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID,
	unknown []render.UnknownHost, fresh bool,
) (render.Published, error) {
	return Reader(s, c, cfg, id, fresh).Targets(ctx, unknown)
}

// Reader returns a reader of the addresses and names under which the hosts of a lease are reached.
func Reader(s *observed.Snapshot, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID, fresh bool) *published.Reader {
	return &published.Reader{Cluster: c, Config: cfg, Lease: id, Live: s, Gateway: s.Gateway, Fresh: fresh}
}
