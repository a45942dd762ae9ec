package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/report"
)

// collect returns the definitions in the input. An error in a file stops the command. The Manifests of a cluster are those of
// many tenants, and a bad one stops no other: unread names it, and goes beside what becomes of the others.
func collect(
	ctx context.Context, c *console.Console, in *flags.Input, from *cluster.Cluster, cfg *config.ProviderConfig, allowEmpty bool,
) (defs []*lease.Definition, unread, err error) {
	defs, err = in.Collect(ctx, c, from, cfg)
	problems, ok := errors.AsType[lease.Problems](err)
	if err != nil && (!in.FromCluster || !ok) {
		return nil, nil, err
	}
	if !in.FromCluster {
		return defs, nil, checkNotEmpty(defs, allowEmpty)
	}
	defs, unread = ofManifests(defs, problems, cfg, allowEmpty)
	if len(defs) == 0 {
		return nil, nil, cmp.Or(unread, checkNotEmpty(defs, allowEmpty))
	}
	return defs, unread, nil
}

// ofManifests returns the definitions in Manifests that can be applied, and an error that names each of the others. problems are those
// of what could not be read.
func ofManifests(
	all []*lease.Definition, problems lease.Problems, cfg *config.ProviderConfig, allowEmpty bool,
) (defs []*lease.Definition, unread error) {
	manifests := map[lease.Group]int{}
	for _, def := range all {
		manifests[def.Lease.Group()]++
	}
	var others lease.Problems // what they say is their mend
	defs = slices.DeleteFunc(slices.Clone(all), func(def *lease.Definition) bool {
		found, before := apply.Invalid(def, cfg).Errors(), len(others)
		problems = append(problems, found...)
		if empty, ok := errors.AsType[lease.Problems](checkNotEmpty([]*lease.Definition{def}, allowEmpty)); ok {
			others = append(others, empty...)
		}
		if n := manifests[def.Lease.Group()]; n > 1 {
			others.Add(def.At, "deployment group %s has %d Manifests, and nothing is changed for it; delete that of a lease that is over: "+
				"kubectl -n %s delete manifests.akash.network %s", def.Lease.Group(), n, cfg.ManifestNamespace, def.Lease.Namespace())
		}
		return len(found)+len(others) > before
	})
	if len(problems)+len(others) > 0 {
		unread = slices.Concat(problems, left(problems, cfg), others)
	}
	return defs, unread
}

// beside returns the error of the work on those definitions that could be read, with that about the others.
func beside(unread, err error) error {
	if unread == nil {
		return err
	}
	failures := report.Failures{err}
	errors.As(err, &failures)
	return report.Gather(append([]error{unread}, failures...))
}

// left says of each Manifest with problems what becomes of it, and what to type.
func left(problems lease.Problems, cfg *config.ProviderConfig) (out lease.Problems) {
	said := map[string]bool{}
	for _, p := range problems {
		name, ok := strings.CutPrefix(p.At.File, "manifests/")
		if !ok || said[name] {
			continue
		}
		said[name] = true
		out = append(out, lease.Problem{Message: fmt.Sprintf("Manifest %s is left out: nothing is changed for its lease. The tenant's next manifest "+
			"replaces it; to mend it yourself: kubectl -n %s edit manifests.akash.network %[1]s", name, cfg.ManifestNamespace)})
	}
	return out
}
