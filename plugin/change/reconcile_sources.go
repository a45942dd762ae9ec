package change

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
)

// manifests returns how the Manifests in the cluster are read; nil if they are no source.
func (f *reconcileFlags) manifests(cfg *config.ProviderConfig, in input.Options) func(context.Context, *cluster.Cluster) sources.Set {
	if !f.fromCluster && !f.heal {
		return nil
	}
	return func(ctx context.Context, from *cluster.Cluster) sources.Set {
		set, all, problems := sources.Set{Left: map[string]bool{}}, []*lease.Definition(nil), lease.Problems(nil)
		err := observed.EachManifest(ctx, from, cfg.ManifestNamespace, func(name string, version lease.Manifest, data []byte) error {
			def, about := input.ManifestObject(name, data, in)
			if problems, set.Left[name] = append(problems, about...), true; def != nil {
				def.Manifest = &version
				all = append(all, def)
			}
			return nil
		})
		switch {
		case cluster.IsMissingKind(err) && !f.fromCluster:
			return sources.Set{}
		case err != nil:
			return sources.Set{Err: err}
		}
		set.Warnings = problems.Warnings()
		set.Definitions, set.Err = ofManifests(all, problems.Errors(), cfg, f.allowEmpty)
		for _, def := range set.Definitions {
			delete(set.Left, def.Lease.Namespace()) // which the Manifest is named after
		}
		if set.Complete = true; !f.fromCluster {
			set.Err, set.Warnings = nil, nil // nothing of it is applied
		}
		return set
	}
}

// read reads the files once. Standard input may be one of them, which nobody can watch.
func (f *reconcileFlags) read(ctx context.Context, c *session.Session, in input.Options, size int64) (set sources.Set, err error) {
	if !slices.Contains(f.files.Files, "-") {
		files, err := sources.NewFiles(f.files, in, size)
		if err != nil {
			return set, err
		}
		files.AllowEmpty = f.allowEmpty
		return sources.Once(ctx, files)
	}
	var problems lease.Problems
	err = f.files.Each(ctx, c.In, size, func(r io.Reader, name string) error {
		found, err := input.Read(ctx, r, name, in, func(def *lease.Definition) error {
			set.Definitions = append(set.Definitions, def)
			return nil
		})
		problems = append(problems, found...)
		return err
	})
	if unread, ok := errors.AsType[lease.Problems](err); ok {
		problems, err = append(problems, unread...), nil
	}
	return sources.SetOf(set.Definitions, problems, f.allowEmpty), err
}
