package workloads

import (
	"context"
	"errors"
	"fmt"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Beside returns what this program runs for the deployment group in other namespaces than the given one, by namespace.
func Beside(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group, namespace string) (map[string]*Live, error) {
	manifests, err := observed.OurManifests(ctx, c, cfg, g)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range manifests {
		if m.Namespace != namespace {
			names = append(names, m.Namespace)
		}
	}
	return runsIn(ctx, c, cfg, names)
}

// Unmarked is what runs for a deployment group in namespaces without a Manifest of ours.
type Unmarked struct {
	// Ours is what this program runs there, by namespace: somebody has deleted its Manifest.
	Ours map[string]*Live
	// Akashs are the namespaces in which Akash's provider runs something.
	Akashs []string
	// Unseen says which role the user lacks to see what runs; nil if nothing is hidden.
	Unseen *cluster.RoleError
}

// FindUnmarked returns what runs for the deployment group in those of the namespaces that have no Manifest of ours. It is an
// error if this program runs something there that the user may not see.
func FindUnmarked(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group, namespaces []string, marked map[string]*Live,
) (found Unmarked, err error) {
	var names []string
	for _, name := range namespaces {
		if marked[name] != nil {
			continue
		}
		runs, err := RunIn(ctx, c, g, name)
		unseen, hidden := errors.AsType[*cluster.RoleError](err)
		switch {
		case err != nil && !hidden:
			return found, err
		case runs == deployed.Ours && hidden:
			return found, fmt.Errorf("lease %s runs something in namespace %s: its Services are there, and no Manifest. Nothing was released: %w",
				g, name, err)
		case runs == deployed.Ours:
			names = append(names, name)
		case runs == deployed.Akashs:
			found.Akashs = append(found.Akashs, name)
		case hidden:
			found.Unseen = unseen
		}
	}
	found.Ours, err = runsIn(ctx, c, cfg, names)
	return found, err
}

func runsIn(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, namespaces []string) (_ map[string]*Live, err error) {
	found := map[string]*Live{}
	for _, name := range namespaces {
		if found[name], err = Read(ctx, c, cfg, name, true); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// All returns what the namespace contains of the kinds that leases run, and the Manifest.
func (l *Live) All() []deployed.Object { return l.objects }

// Of returns what the group has applied, in the order in which it is deleted: the Manifest last.
func (l *Live) Of(g lease.Group) []deployed.Object { return deployed.Release(l.objects, g) }
