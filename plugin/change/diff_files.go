package change

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

// clusterOfFiles returns a cluster with the objects in the files of --ledger, and the provider's configuration: that of --config,
// or of the ConfigMap among the objects. unread are the errors in the files; the cluster has the other objects. unowned is the
// number of objects that were exported without managed fields.
func clusterOfFiles(
	ctx context.Context, c *session.Session, from *flags.Ledger,
) (of *cluster.Cluster, cfg *config.ProviderConfig, unread lease.Problems, unowned int, err error) {
	if cfg, err = c.Configuration(ctx, nil); err != nil {
		return nil, nil, nil, 0, err
	}
	var objects []*unstructured.Unstructured
	found, err := from.Read(ctx, c.In, cfg.Limits, true, func(o *unstructured.Unstructured) { objects = append(objects, o) })
	if err != nil {
		return nil, nil, nil, 0, err
	}
	c.Warn(found)
	if of, unowned, err = apply.OfFiles(objects); err == nil && c.ConfigFile == "" {
		cfg, err = c.Configuration(ctx, of)
	}
	return of, cfg, found.Errors(), unowned, err
}

// readOnly runs a command that writes nothing, and so has nothing to give back: it ends with the context, whatever it is doing.
func readOnly(ctx context.Context, run func(context.Context) error) error {
	_, err := parallel.Abandonable(ctx, func() (any, error) { return nil, run(ctx) })
	return err
}

// openLedger returns the cluster or the files to compare with, and the provider's configuration. All files count: without one of
// them the diff would show what is not so.
func (f *diffFlags) openLedger(ctx context.Context, c *session.Session) (*cluster.Cluster, *config.ProviderConfig, error) {
	if !f.ledger.IsFiles() {
		return c.Open(ctx, f.concurrency)
	}
	of, cfg, unread, unowned, err := clusterOfFiles(ctx, c, &f.ledger)
	switch {
	case len(unread) > 0:
		return nil, nil, unread
	case err != nil:
		return nil, nil, err
	}
	if unowned > 0 {
		objects := "1 object was"
		if unowned > 1 {
			objects = fmt.Sprint(unowned, " objects were")
		}
		c.Warn(lease.Problems{{Warning: true, Message: "--ledger: " + objects +
			" exported without managed fields, so values that apply would remove are not shown; export with: kubectl get -o yaml " +
			"--show-managed-fields"}})
	}
	return of, cfg, nil
}
