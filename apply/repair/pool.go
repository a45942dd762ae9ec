package repair

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// narrow takes addresses out of a pool of ours; one of which nothing is left goes. The configuration
// is to exclude them first, so that the next apply does not ask for them again. The note says what
// people have to write where this program cannot.
func (r *repair) narrow(ctx context.Context, m state.NarrowPool) (note string, err error) {
	if m.Exclude {
		if note, err = r.exclude(ctx, m.Ranges); err != nil {
			return "", err
		}
	}
	// It is read again: another mend may have taken something out of it.
	live, err := r.Cluster.Get(ctx, kinds.IPAddressPool, m.Pool.Namespace, m.Pool.Name)
	if err != nil || live == nil || string(live.GetUID()) != m.Pool.UID {
		return note, err
	}
	texts, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "addresses")
	var rest []any
	if m.Unused {
		if err := r.unused(ctx, m.Ranges); err != nil {
			return "", err
		}
	}
	changed := false
	for _, text := range texts {
		was, err := config.ParseRange(text)
		if err != nil || !slices.ContainsFunc(m.Ranges, was.Overlaps) {
			rest = append(rest, text)
			continue
		}
		changed = true
		for _, piece := range (config.Ranges{Exclude: m.Ranges}).Pieces(was) {
			rest = append(rest, piece.MetalLB())
		}
	}
	switch {
	case !changed:
		return note, nil
	case len(rest) > 0:
		o := executor.Applied(live)
		if err := unstructured.SetNestedSlice(o.Object, rest, "spec", "addresses"); err != nil {
			return "", err
		}
		err := r.Cluster.Seize(ctx, render.Object{Kind: kinds.IPAddressPool, Namespace: live.GetNamespace(), Name: live.GetName(), Config: o}, lease.FieldManager, live)
		if cluster.IsOvertaken(err) {
			err = report.ErrChanged
		}
		return note, err
	}
	work, advertisement := r.runFor(lease.Group{}), r.snapshot.Live[kinds.L2Advertisement.Plural][live.GetNamespace()+"/"+live.GetName()]
	if advertisement != nil && advertisement.GetLabels()[lease.LabelOurs] == "true" {
		if err := work.Remove(ctx, observed.Owned{Kind: kinds.L2Advertisement, Live: advertisement}, report.Deleted); err != nil {
			return "", err
		}
	}
	return note, work.Remove(ctx, observed.Owned{Kind: kinds.IPAddressPool, Live: live}, report.Deleted)
}

// unused says that one of the addresses is in use by now.
func (r *repair) unused(ctx context.Context, ranges []config.Range) error {
	now, err := observed.Addresses(ctx, r.Cluster, r.Options.Config.LedgerNamespace)
	if err != nil {
		return err
	}
	for _, a := range now.InUse() {
		if slices.ContainsFunc(ranges, func(x config.Range) bool { return x.Contains(a) }) {
			return report.ErrChanged
		}
	}
	return nil
}

// exclude makes the cluster's configuration exclude addresses. Where the configuration is a file, or
// not this user's to write, the note says what it needs.
func (r *repair) exclude(ctx context.Context, ranges []config.Range) (note string, err error) {
	var lines []string
	for _, x := range ranges {
		lines = append(lines, `"!`+x.MetalLB()+`"`)
	}
	add := "add " + strings.Join(lines, ", ") + " to spec.ip.ranges of "
	if r.asked.ConfigFile != "" {
		return add + r.asked.ConfigFile, nil
	}
	text, place, err := r.Cluster.Config(ctx)
	if err != nil {
		return "", err
	}
	document, unread := config.Exclude([]byte(text), ranges)
	if unread == nil && string(document) != text {
		err = r.writeConfig(ctx, text, string(document))
	}
	switch {
	case unread != nil:
		return add + place + ", by hand: " + unread.Error(), nil //nolint:nilerr // the note tells of it
	case apierrors.IsForbidden(err):
		return add + place + ", which is not yours to write", nil
	}
	return "", err
}

// writeConfig replaces the configuration in the ConfigMap, as it was read.
func (r *repair) writeConfig(ctx context.Context, was, document string) error {
	client := r.Cluster.Dynamic.Resource(cluster.ConfigMaps).Namespace(config.Default().LedgerNamespace)
	live, err := client.Get(ctx, manifests.ConfigMapName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if text, _, _ := unstructured.NestedString(live.Object, "data", manifests.ConfigMapKey); text != was {
		return fmt.Errorf("configmap %s/%s: %w", live.GetNamespace(), live.GetName(), report.ErrChanged)
	}
	o := executor.Applied(live)
	delete(o.Object, "spec")
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	if err := unstructured.SetNestedField(o.Object, document, "data", manifests.ConfigMapKey); err != nil {
		return err
	}
	return r.Cluster.Write(ctx, func(write context.Context) error {
		_, err := client.Apply(write, o.GetName(), o, metav1.ApplyOptions{FieldManager: lease.FieldManager, Force: true})
		return err
	})
}

// makePool makes the pool of an address: the configured one, or one of it alone.
func (r *repair) makePool(ctx context.Context, m state.MakePool) error {
	opts := r.Options
	if m.Alone {
		cfg := *opts.Config
		cfg.IP.Mode, cfg.IP.Ranges = config.ModeDedicated, config.Ranges{}
		opts.Config = &cfg
	}
	a := apply.New(r.Cluster, opts)
	work := objects.New(a.Command, nil, state.Request{})
	work.Snapshot, work.Pools, work.Quiet = r.snapshot, pools.New(a.Options.Config, r.snapshot), true
	work.Addresses = render.Addresses{"": []netip.Addr{m.Address}}
	return work.Pools.Ensure(ctx, work.Addresses, work)
}
