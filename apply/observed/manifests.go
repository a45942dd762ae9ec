package observed

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Manifests are the Manifest objects of Akash's provider, by name. Akash's hostname operator looks the lease, service and
// port of each ProviderHost up in them. One that it does not find ends its loop, for all tenants, and after three times it
// ignores the lease until it is restarted (provider: operator/hostname, event-failure-limit).
type Manifests map[string]*unstructured.Unstructured

// OperatorManifests returns the Manifests if Akash's hostname operator runs, and nil if not or if the user may not see that.
// With leases it returns only theirs.
func OperatorManifests(ctx context.Context, c *command.Command, of ...lease.ID) (Manifests, error) {
	found, err := findOperators(ctx, c)
	var manifests Manifests
	if err == nil && found.Hostname && !found.Off {
		manifests, err = readManifests(ctx, c, of...)
	}
	if apierrors.IsForbidden(err) || cluster.IsMissingKind(err) {
		return nil, nil
	}
	return manifests, err
}

// fewLeases is the number of leases up to which their Manifests are read one by one.
const fewLeases = 10

// readManifests reads all Manifests, or those of a few leases.
func readManifests(ctx context.Context, c *command.Command, of ...lease.ID) (Manifests, error) {
	manifests := Manifests{}
	add := func(m *unstructured.Unstructured) { manifests[m.GetName()] = m }
	if len(of) == 0 || len(of) > fewLeases {
		list, err := c.Cluster.Objects(ctx, kinds.Manifest.Resource(), c.Options.Config.ManifestNamespace, metav1.ListOptions{})
		for _, m := range list {
			add(m)
		}
		return manifests, err
	}
	for _, id := range of {
		m, err := c.Cluster.Get(ctx, kinds.Manifest, c.Options.Config.ManifestNamespace, id.Namespace())
		if err != nil {
			return nil, err
		}
		if m != nil {
			add(m)
		}
	}
	return manifests, nil
}

// OurManifests returns what this program runs for a deployment group, or for all if g is zero: the Manifests that it has
// written, each before everything else in the namespace that it is named after. It reads only metadata. It returns none if
// the cluster does not serve the kind.
func OurManifests(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group) ([]deployed.Manifest, error) {
	var opts metav1.ListOptions
	if g != (lease.Group{}) {
		opts.LabelSelector = labels.Set{
			lease.LabelOwner: g.Owner, lease.LabelDSeq: strconv.FormatUint(g.DSeq, 10), lease.LabelGSeq: strconv.FormatUint(uint64(g.GSeq), 10),
		}.String()
	}
	found, err := cluster.ListMetas(ctx, c, kinds.Manifest.Resource(), cfg.ManifestNamespace, opts, deployed.ReadManifest)
	if cluster.IsMissingKind(err) {
		return nil, nil
	}
	return found, err
}

// SeenManifests is OurManifests of all groups for a user who may not be allowed to list Manifests, and then sees none.
func SeenManifests(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) ([]deployed.Manifest, error) {
	found, err := OurManifests(ctx, c, cfg, lease.Group{})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	return found, err
}

// Lacks returns what the hostname operator would not find for a ProviderHost of the lease, or "". It finds a service with
// instances that has a global port of that number.
func (m Manifests) Lacks(id lease.ID, service string, port uint16) string {
	switch {
	case m[id.Namespace()] == nil:
		return "no Manifest"
	case service != "" && m.Port(id, service, port) == nil:
		return fmt.Sprintf("no service %s with instances and a global port %d in its Manifest", service, port)
	}
	return ""
}

// Warnings warns of the hosts of a request at whose ProviderHosts the hostname operator would stop. Nil Manifests warn of
// nothing.
func (m Manifests) Warnings(r state.Request) (warnings lease.Problems) {
	if m == nil {
		return nil
	}
	for _, h := range r.Hosts {
		if h.Path != "/" || strings.HasPrefix(h.Host, "*.") { // it has no ProviderHost
			continue
		}
		if lacks := m.Lacks(r.Lease, h.Service, h.Port); lacks != "" {
			warnings.Warn(h.At, "%s: lease %s has %s: Akash's hostname operator stops at its ProviderHost, for all tenants, "+
				"and ignores the lease from then on. Deliver it when the tenant has sent the manifest", h.Host, r.Lease, lacks)
		}
	}
	return warnings
}

// Port returns what the hostname operator looks for in the Manifest of a lease, nil if it is not there: the service, with
// instances, and a global port of that number.
func (m Manifests) Port(id lease.ID, service string, port uint16) map[string]any {
	manifest := m[id.Namespace()]
	if manifest == nil {
		return nil
	}
	services, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "group", "services")
	for _, v := range services {
		s, ok := v.(map[string]any)
		if !ok || s["name"] != service || s["count"] == int64(0) {
			continue
		}
		exposes, _, _ := unstructured.NestedSlice(s, "expose")
		for _, v := range exposes {
			e, _ := v.(map[string]any)
			external, _ := e["external_port"].(int64)
			if external == 0 {
				external, _ = e["port"].(int64)
			}
			if e["global"] == true && external == int64(port) {
				return e
			}
		}
	}
	return nil
}
