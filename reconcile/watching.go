package reconcile

import (
	"context"
	"io"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// OfManifests is the name of the source that the Manifests of Akash's provider are, OfEvents that of leases whose manifests came with
// events. No list says which leases the latter has, so none is released but by an event.
const (
	OfManifests = kept.OfManifests
	OfEvents    = "akash-events"
)

// Watching configures a reconciler that watches.
type Watching struct {
	Rest    *rest.Config
	Cluster *cluster.Cluster
	Command command.Options
	Limits  Limits
	// Set are the sources by kind and name: of the reconcilers with the same set one works.
	Set []string
	// Sources say which leases there are to be. Names are the sources' names, empty for one that owns no lease.
	Sources []sources.Source
	Names   []string
	// Manifests reads what the Manifests in the cluster say, as the source of the name OfManifests; nil if they are no source.
	Manifests func(context.Context, *cluster.Cluster) sources.Set
	// Events carries out what events say of leases, until the context ends; nil if there are none. defined returns the definition with which
	// a source names a deployment group, nil if none does.
	Events func(ctx context.Context, c *cluster.Cluster, defined func(lease.Group) *lease.Definition)
	// Elect is true if only one of several reconcilers works at a time.
	Elect bool
	// Resync is how often everything is decided anew, though nothing is seen to have changed.
	Resync time.Duration
	// Listen is where it answers over HTTP.
	Listen Listen
	// Say receives who is elected, Complain what goes wrong and belongs to no lease, Warn what a source warns of, and Log what
	// controller-runtime says.
	Say      func(string)
	Complain func(error)
	Warn     func(lease.Problems)
	Log      io.Writer
}
