package observed

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Addresses reads all claims, and who claims and who uses which address, in order to propose free addresses.
func Addresses(
	ctx context.Context, c *cluster.Cluster, ledgerNamespace string,
) (claims []*state.Claim, addresses *state.Addresses, err error) {
	var uses, ofNodes []state.Use
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		claims, err = ledger.New(c, ledgerNamespace).List(ctx)
		return err
	})
	group.Go(func() error {
		services, err := c.Objects(ctx, kinds.Service.Resource(), "", metav1.ListOptions{})
		for _, o := range services {
			uses = append(uses, state.ServiceUses(o)...)
		}
		return err
	})
	group.Go(func() (err error) {
		ofNodes, err = NodeUses(ctx, c)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return claims, state.NewAddresses(claims, append(uses, ofNodes...)), nil
}

// HeldThings returns the claimed things and the deployment groups that claim them, each once. With a group it returns only
// the things that this group claims, and all groups that claim them; the zero group selects all things.
func HeldThings(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, of lease.Group) ([]thing.Thing, error) {
	claims, err := ledger.New(c, ledgerNamespace).List(ctx)
	var things []thing.Thing
	seen := map[lease.Group]bool{}
	for _, claim := range claims {
		if of != (lease.Group{}) && !slices.Contains(claim.Groups(), of) {
			continue
		}
		if t, err := thing.Parse(claim.Thing); err == nil {
			t.Endpoint = ""
			things = append(things, t)
		}
		for _, g := range claim.Groups() {
			if !seen[g] {
				seen[g] = true
				things = append(things, thing.Thing{Kind: thing.Lease, Group: g})
			}
		}
	}
	return things, err
}

// EachManifest yields the Manifest objects of Akash's provider as JSON, sorted by name.
func EachManifest(ctx context.Context, c *cluster.Cluster, namespace string, yield func(name string, version lease.Manifest, data []byte) error) error {
	objects, err := c.Objects(ctx, cluster.AkashResource("manifests"), namespace, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if err := yield(o.GetName(), lease.Manifest{UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion()}, data); err != nil {
			return err
		}
	}
	return nil
}
