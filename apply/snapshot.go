package apply

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

// snapshot is what a run has read before it decides: one LIST of each kind.
type snapshot struct {
	claims     map[string]*state.Claim
	namespaces map[string]bool
	// closing is true where an uninstall is removing the ledger.
	closing bool
	// written are the objects that this program wrote, by the deployment group of their labels, in
	// the order in which they are to go; serving are those of them that serve traffic, by the name
	// of the claim that they rest on; held are the claims on which a group has written.
	written map[lease.Group][]owned
	// theirs are the routes and Services of a group that Akash's operators wrote and this program did not.
	theirs  map[lease.Group][]owned
	serving map[string][]owned
	held    map[lease.Group][]*state.Claim
	// shared are the objects of a deployment group on which Akash's provider, or an operator, has written.
	shared map[lease.Group][]owned
	// records are the DNS records that this program wrote, by their host.
	records map[string][]owned
	// tenants are the leases whose namespaces are known by their labels.
	tenants  map[string]lease.ID
	hostUses map[string][]state.Use
	// addressUses are the Services that use each address, whoever wrote them.
	addressUses map[netip.Addr][]state.Use
	// ports are the ProviderLeasedIPs by name: a port of an IP endpoint has one.
	ports map[string]state.PortObject
	live  map[string]map[string]*unstructured.Unstructured
	// lacks are the kinds that the cluster does not serve.
	lacks     map[kinds.Kind]bool
	addresses *state.Picker
	// operators are Akash's that run in the cluster; manifests, by name, what its hostname operator
	// goes by. They are read where routes are written or removed.
	operators operators
	manifests map[string]*unstructured.Unstructured
	// definitions are those that are kept, by the names of their objects, as far as they were asked for.
	definitions map[string]*kept.Definition
	// holdersOnly is true where the definitions were read only of groups that held something.
	holdersOnly bool
	// runs are the announcements of commands, where those were asked for.
	runs    []*state.Announcement
	gateway published.Gateway
	indexed index
}

// reading says what a snapshot is taken of.
type reading struct {
	// addresses reads MetalLB's pools too, and all Services.
	addresses bool
	// further are kinds beside those that every lease may have.
	further []kinds.Kind
	// claimsFirst reads the claims before anything else: what is given up by them has then been looked
	// at later than they were.
	claimsFirst bool
	// of reads only what belongs to one deployment group by its labels. The namespaces are then those of an
	// earlier reading (before).
	of     *lease.Group
	before *snapshot
	// definitions are the deployment groups whose kept definitions are read too; allDefinitions reads those of all.
	definitions    []lease.Group
	allDefinitions bool
	// holders reads the definitions only of groups that hold or note something on a claim: of the others there is
	// hardly ever one.
	holders bool
	// runs reads the announcements of commands.
	runs bool
}

// selector selects what belongs to the deployment group.
func (how reading) selector() string {
	if how.of == nil {
		return ""
	}
	return labels.Set{
		lease.LabelOwner: how.of.Owner, lease.LabelDSeq: strconv.FormatUint(how.of.DSeq, 10), lease.LabelGSeq: strconv.FormatUint(uint64(how.of.GSeq), 10),
	}.String()
}

// kept reads the definitions that are kept.
func (how reading) kept(ctx context.Context, l ledger.Ledger, claims []*state.Claim) (map[string]*kept.Definition, error) {
	if how.allDefinitions {
		return listDefinitions(ctx, l, "", func(string) bool { return true })
	}
	groups := how.definitions
	if how.holders {
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
func (how reading) claims(ctx context.Context, l ledger.Ledger) ([]*state.Claim, error) {
	if how.of != nil {
		return l.ListOwner(ctx, how.of.Owner)
	}
	return l.List(ctx)
}

func readBy(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how reading) (*snapshot, error) {
	s := &snapshot{
		holdersOnly: how.holders,
		claims:      map[string]*state.Claim{}, namespaces: map[string]bool{}, tenants: map[string]lease.ID{},
		hostUses: map[string][]state.Use{}, addressUses: map[netip.Addr][]state.Use{}, ports: map[string]state.PortObject{},
		shared: map[lease.Group][]owned{}, written: map[lease.Group][]owned{}, theirs: map[lease.Group][]owned{}, serving: map[string][]owned{}, records: map[string][]owned{}, held: map[lease.Group][]*state.Claim{}, live: map[string]map[string]*unstructured.Unstructured{}, lacks: map[kinds.Kind]bool{},
	}
	var claims []*state.Claim
	var metas []*metav1.ObjectMeta
	lists := make(map[string][]*unstructured.Unstructured)
	var mu sync.Mutex
	if how.claimsFirst {
		var err error
		if claims, err = how.claims(ctx, l); err != nil {
			return nil, err
		}
	}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		if !how.claimsFirst {
			if claims, err = how.claims(ctx, l); err != nil {
				return err
			}
		}
		s.definitions, err = how.kept(ctx, l, claims)
		return err
	})
	if how.runs {
		group.Go(func() (err error) {
			s.runs, err = l.Announcements(ctx)
			return err
		})
	}
	if how.of == nil {
		group.Go(func() (err error) {
			metas, err = c.Metas(ctx, cluster.Namespaces, "")
			return err
		})
	}
	all := slices.Concat(kinds.OfLease, how.further)
	if how.of == nil {
		all = append(all, kinds.Others...)
	}
	if how.addresses {
		all = append(all, kinds.Pools...)
	}
	for _, kind := range all {
		group.Go(func() error {
			opts := metav1.ListOptions{LabelSelector: how.selector()}
			switch {
			case slices.Contains(kinds.Pools, kind):
				opts.LabelSelector = ""
			case kind == kinds.Service && !how.addresses:
				opts.LabelSelector = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB
			}
			list, err := c.Objects(ctx, kind.Resource(), "", opts)
			mu.Lock()
			defer mu.Unlock()
			if _, ok := errors.AsType[*cluster.MissingKindError](err); ok && kinds.Optional(kind) {
				s.lacks[kind], err = true, nil
			}
			lists[kind.Plural] = list
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if how.runs {
		announced := map[string]*state.Announcement{}
		for _, a := range s.runs {
			announced[a.Nonce] = a
		}
		for _, claim := range claims {
			claim.Meet(announced, c.Now())
		}
	}
	for _, c := range claims {
		s.claims[c.Name()] = c
		for _, g := range c.Writers() {
			s.held[g] = append(s.held[g], c)
		}
	}
	if how.before != nil {
		s.namespaces, s.tenants = how.before.namespaces, how.before.tenants
	}
	for _, m := range metas {
		s.closing = s.closing || m.Name == l.Namespace && m.Annotations[lease.AnnotationClosing] != ""
		s.namespaces[m.Name] = m.DeletionTimestamp == nil
		if id, ok := lease.IDFromLabels(m.Labels); ok {
			s.tenants[m.Name] = id
		}
	}
	s.index(claims, lists)
	return s, nil
}
