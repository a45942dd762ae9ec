package repair

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// narrow removes addresses from one of this program's pools, and deletes a pool without addresses. If asked, it first
// excludes the addresses in the configuration, so that the next apply does not ask for them again. The note says what
// people have to write if this program cannot.
func (r *repair) narrow(ctx context.Context, m *state.Fix) (note string, err error) {
	if m.Exclude {
		if note, err = r.exclude(ctx, m.Ranges); err != nil {
			return "", err
		}
	}
	// Read the pool again: another repair may have removed something from it.
	live, err := r.command.Cluster.Get(ctx, kinds.IPAddressPool, m.Object().Namespace, m.Object().Name)
	if err != nil || live == nil || string(live.GetUID()) != m.Object().UID {
		return note, err
	}
	texts, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "addresses")
	var rest []any
	if m.Unused {
		if err := r.checkUnused(ctx, m.Ranges); err != nil {
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
		return note, asChanged(r.command.Cluster.Seize(ctx, cluster.Applicable(kinds.IPAddressPool, o), lease.FieldManager, live))
	}
	x := executor.New(command.New(r.command.Cluster, r.options()), state.Request{})
	for _, kind := range kinds.Advertisements {
		advertisement := r.snapshot.At(kind, live.GetNamespace(), live.GetName())
		if advertisement == nil || advertisement.GetLabels()[lease.LabelOurs] != "true" {
			continue
		}
		if err := x.Remove(ctx, observed.Object{Kind: kind, Live: advertisement}, report.Deleted); err != nil {
			return "", err
		}
	}
	return note, x.Remove(ctx, observed.Object{Kind: kinds.IPAddressPool, Live: live}, report.Deleted)
}

// checkUnused returns ErrChanged if one of the addresses is in use.
func (r *repair) checkUnused(ctx context.Context, ranges []config.Range) error {
	_, now, err := reading.Addresses(ctx, r.command.Cluster, r.command.Options.Config.LedgerNamespace)
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

// exclude adds addresses to the exclusions of the cluster's configuration. If the configuration is a file, or the user
// may not write it, the note says what to add.
func (r *repair) exclude(ctx context.Context, ranges []config.Range) (note string, err error) {
	var lines []string
	for _, x := range ranges {
		lines = append(lines, `"!`+x.MetalLB()+`"`)
	}
	add := "add " + strings.Join(lines, ", ") + " to spec.ip.ranges of "
	if r.asked.ConfigFile != "" {
		return add + r.asked.ConfigFile, nil
	}
	live, err := r.command.Cluster.ConfigMap(ctx, config.Default().LedgerNamespace)
	if err != nil {
		return "", err
	}
	text, place, unread := cluster.ConfigText(live)
	var document []byte
	if unread == nil {
		document, unread = config.Exclude([]byte(text), ranges)
	}
	if unread == nil && string(document) != text {
		_, err = r.command.Cluster.ReplaceConfig(ctx, live, string(document))
	}
	switch {
	case cluster.IsOvertaken(err):
		return "", fmt.Errorf("%s: %w", place, report.ErrChanged)
	case unread != nil:
		return add + place + ", by hand: " + unread.Error(), nil //nolint:nilerr // the note contains it
	case apierrors.IsForbidden(err):
		return add + place + ", which is not yours to write", nil
	}
	return "", err
}

// makePool creates the pool of an address: the configured one, or one for this address alone.
func (r *repair) makePool(ctx context.Context, m *state.Fix) error {
	cfg := *r.command.Options.Config
	if m.Alone {
		cfg.IP.Mode, cfg.IP.Ranges = config.ModeDedicated, config.Ranges{}
	}
	objects, err := r.snapshot.PoolsFor(&cfg, render.Addresses{"": []netip.Addr{m.Address}})
	if err != nil {
		return err
	}
	out := &engine.Write{}
	for _, o := range objects {
		out.Objects = append(out.Objects, engine.Desired{Object: o, Manager: lease.FieldManager})
	}
	return r.write(ctx, engine.Want{Write: out})
}
