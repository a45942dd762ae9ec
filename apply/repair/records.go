package repair

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// rerecord replaces or updates the DNS records of a host so that they have the wanted values, whoever has changed them.
// Each write is pinned to the version that was read.
func (r *repair) rerecord(ctx context.Context, m state.WriteRecords) error {
	group := m.Part.Lease.Group()
	wanted, err := records.Wanted(ctx, r.command, r.snapshot, m.Host, m.Part)
	if err != nil {
		return err
	}
	var deleted []*unstructured.Unstructured
	remove := func(o observed.Owned) error {
		deleted = append(deleted, o.Live)
		_, err := r.removeWhile(ctx, o.Kind, o.Live, observed.OfTenant(o.Live))
		return err
	}
	replaced, again := records.ToReplace(r.snapshot, group, m.Host, wanted.Objects)
	for _, old := range replaced {
		if err := remove(old.Owned); err != nil {
			return err
		}
	}
	for _, o := range r.snapshot.Records[m.Host] {
		isWanted := slices.ContainsFunc(wanted.Objects, func(w render.Object) bool { return r.snapshot.Find(w) == o.Live })
		if o.Group != group || isWanted || slices.Contains(deleted, o.Live) {
			continue
		}
		if err := remove(o); err != nil {
			return err
		}
	}
	if kept, err := r.stillThere(ctx, deleted, cmp.Or(r.command.Options.Wait, records.ReplacedWait)); err != nil || kept != nil {
		return cmp.Or(err, errors.New("what is to be replaced is still being deleted"))
	}
	for _, o := range wanted.Objects {
		live := r.snapshot.Find(o)
		switch {
		case live == nil || again[o.Name]:
			err = r.write(ctx, records.Prepared(o, nil, r.command.Cluster.Now()), nil)
		case !reflect.DeepEqual(live.Object["spec"], cluster.Rendered(o).Object["spec"]):
			err = asChanged(r.command.Cluster.Seize(ctx, records.Prepared(o, live, r.command.Cluster.Now()), lease.FieldManager, live))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
