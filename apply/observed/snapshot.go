// Package observed reads what a command decides by: claims, objects, namespaces and Akash's operators as they are at one moment,
// and what they mean for a deployment group. It writes nothing.
package observed

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Snapshot is what a run has read before it decides: one LIST of each kind.
type Snapshot struct {
	Claims     map[string]*state.Claim
	Namespaces map[string]bool
	// Closing is true where an uninstall is removing the ledger.
	Closing bool
	// Written are the objects that this program wrote, by the deployment group of their labels, in
	// the order in which they are to go; serving are those of them that serve traffic, by the name
	// of the claim that they rest on; held are the claims on which a group has written.
	Written map[lease.Group][]Owned
	// Theirs are the routes and Services of a group that Akash's operators wrote and this program did not.
	Theirs  map[lease.Group][]Owned
	Serving map[string][]Owned
	Held    map[lease.Group][]*state.Claim
	// Shared are the objects of a deployment group on which Akash's provider, or an operator, has written.
	Shared map[lease.Group][]Owned
	// Records are the DNS records that this program wrote, by their host.
	Records map[string][]Owned
	// Tenants are the leases whose namespaces are known by their labels.
	Tenants  map[string]lease.ID
	HostUses map[string][]state.Use
	// AddressUses are the Services that use each address, whoever wrote them.
	AddressUses map[netip.Addr][]state.Use
	// Ports are the ProviderLeasedIPs by name: a port of an IP endpoint has one.
	Ports map[string]state.PortObject
	Live  map[string]map[string]*unstructured.Unstructured
	// Lacks are the kinds that the cluster does not serve.
	Lacks     map[kinds.Kind]bool
	Addresses *state.Picker
	// Operators are Akash's that run in the cluster; manifests, by name, what its hostname operator
	// goes by. They are read where routes are written or removed.
	Operators operators
	Manifests map[string]*unstructured.Unstructured
	// Definitions are those that are kept, by the names of their objects, as far as they were asked for.
	Definitions map[string]*kept.Definition
	// HoldersOnly is true where the definitions were read only of groups that held something.
	HoldersOnly bool
	// Runs are the announcements of commands, where those were asked for.
	Runs    []*state.Announcement
	Gateway published.Gateway
	indexed index
}

// Reading says what a snapshot is taken of.
type Reading struct {
	// Addresses reads MetalLB's pools too, and all Services; Pools reads the pools alone.
	Addresses, Pools bool
	// Further are kinds beside those that every lease may have.
	Further []kinds.Kind
	// ClaimsFirst reads the claims before anything else: what is given up by them has then been looked
	// at later than they were.
	ClaimsFirst bool
	// of reads only what belongs to one deployment group by its labels. The namespaces are then those of an
	// earlier reading (before).
	of     *lease.Group
	before *Snapshot
	// Definitions are the deployment groups whose kept definitions are read too; AllDefinitions reads those of all.
	Definitions    []lease.Group
	AllDefinitions bool
	// Holders reads the definitions only of groups that hold or note something on a claim: of the others there is
	// hardly ever one.
	Holders bool
	// Runs reads the announcements of commands.
	Runs bool
}

// selector selects what belongs to the deployment group.
func (how Reading) selector() string {
	if how.of == nil {
		return ""
	}
	return labels.Set{
		lease.LabelOwner: how.of.Owner, lease.LabelDSeq: strconv.FormatUint(how.of.DSeq, 10), lease.LabelGSeq: strconv.FormatUint(uint64(how.of.GSeq), 10),
	}.String()
}

// KeptThings reads the definitions that are kept.
func (how Reading) kept(ctx context.Context, l ledger.Ledger, claims []*state.Claim) (map[string]*kept.Definition, error) {
	if how.AllDefinitions {
		return listDefinitions(ctx, l, "", func(string) bool { return true })
	}
	groups := how.Definitions
	if how.Holders {
		holders := map[lease.Group]bool{}
		for _, c := range claims {
			for _, g := range c.Writers() {
				holders[g] = true
			}
		}
		groups = slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return !holders[g] })
	}
	return readDefinitions(ctx, l, groups)
}

// claims reads the claims, of one owner where the reading is of one group.
func (how Reading) claims(ctx context.Context, l ledger.Ledger) ([]*state.Claim, error) {
	if how.of != nil {
		return l.ListOwner(ctx, how.of.Owner)
	}
	return l.List(ctx)
}

// Read takes a snapshot: one LIST of each kind.
func Read(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how Reading) (*Snapshot, error) {
	s := &Snapshot{
		HoldersOnly: how.Holders,
		Claims:      map[string]*state.Claim{}, Namespaces: map[string]bool{}, Tenants: map[string]lease.ID{},
		HostUses: map[string][]state.Use{}, AddressUses: map[netip.Addr][]state.Use{}, Ports: map[string]state.PortObject{},
		Shared: map[lease.Group][]Owned{}, Written: map[lease.Group][]Owned{}, Theirs: map[lease.Group][]Owned{}, Serving: map[string][]Owned{}, Records: map[string][]Owned{}, Held: map[lease.Group][]*state.Claim{}, Live: map[string]map[string]*unstructured.Unstructured{}, Lacks: map[kinds.Kind]bool{},
	}
	var claims []*state.Claim
	var metas []*metav1.ObjectMeta
	lists := make(map[string][]*unstructured.Unstructured)
	var mu sync.Mutex
	if how.ClaimsFirst {
		var err error
		if claims, err = how.claims(ctx, l); err != nil {
			return nil, err
		}
	}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		if !how.ClaimsFirst {
			if claims, err = how.claims(ctx, l); err != nil {
				return err
			}
		}
		s.Definitions, err = how.kept(ctx, l, claims)
		return err
	})
	if how.Runs {
		group.Go(func() (err error) {
			s.Runs, err = l.Announcements(ctx)
			return err
		})
	}
	if how.of == nil {
		group.Go(func() (err error) {
			metas, err = c.Metas(ctx, cluster.Namespaces, "")
			return err
		})
	}
	all := slices.Concat(kinds.OfLease, how.Further)
	if how.of == nil {
		all = append(all, kinds.Others...)
	}
	if how.Addresses || how.Pools {
		all = append(all, kinds.Pools...)
	}
	for _, kind := range all {
		group.Go(func() error {
			opts := metav1.ListOptions{LabelSelector: how.selector()}
			switch {
			case slices.Contains(kinds.Pools, kind):
				opts.LabelSelector = ""
			case kind == kinds.Service && !how.Addresses:
				opts.LabelSelector = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB
			}
			list, err := c.Objects(ctx, kind.Resource(), "", opts)
			mu.Lock()
			defer mu.Unlock()
			if _, ok := errors.AsType[*cluster.MissingKindError](err); ok && kinds.Optional(kind) {
				s.Lacks[kind], err = true, nil
			}
			lists[kind.Plural] = list
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if how.Runs {
		announced := map[string]*state.Announcement{}
		for _, a := range s.Runs {
			announced[a.Nonce] = a
		}
		for _, claim := range claims {
			claim.Meet(announced, c.Now())
		}
	}
	for _, c := range claims {
		s.Claims[c.Name()] = c
		for _, g := range c.Writers() {
			s.Held[g] = append(s.Held[g], c)
		}
	}
	if how.before != nil {
		s.Namespaces, s.Tenants = how.before.Namespaces, how.before.Tenants
	}
	for _, m := range metas {
		s.Closing = s.Closing || m.Name == l.Namespace && m.Annotations[lease.AnnotationClosing] != ""
		s.Namespaces[m.Name] = m.DeletionTimestamp == nil
		if id, ok := lease.IDFromLabels(m.Labels); ok {
			s.Tenants[m.Name] = id
		}
	}
	s.Index(claims, lists)
	return s, nil
}
