// Package reading reads what a command decides by: an observed.Snapshot of claims, objects, namespaces and Akash's operators, and single
// claims and definitions. It writes nothing.
package reading

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Reading selects what a snapshot contains.
type Reading struct {
	// Addresses also reads MetalLB's pools and all Services; Pools reads the pools alone.
	Addresses, Pools bool
	// Kinds are the kinds of objects of leases; nil for all that a lease may have. Further are kinds in addition to those.
	Kinds, Further []kinds.Kind
	// owner reads only objects with the label of one owner. The namespaces are then copied from before.
	owner  string
	before *observed.Snapshot
	// Definitions are the groups whose stored definitions are read.
	Definitions []lease.Group
	// Ledger reads everything in the ledger: the definitions of all groups, reservations, announcements.
	Ledger bool
	// Shows is true for what writes nothing: which of Akash's operators run may stay unknown.
	Shows bool
	// Holders reads definitions only of groups that hold or note something on a claim: other groups rarely have one.
	Holders bool
}

// selector returns the label selector for a kind: of one owner, if the reading is of one. Pools belong to no owner.
func (how Reading) selector(kind kinds.Kind) string {
	switch {
	case slices.Contains(kinds.Pools, kind):
		return ""
	case kind == kinds.Service && !how.Addresses:
		return lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB
	case how.owner == "":
		return ""
	}
	return labels.Set{lease.LabelOwner: how.owner}.String()
}

// kinds returns the kinds of objects to list.
func (how Reading) kinds() []kinds.Kind {
	all := slices.Concat(kinds.OfLease, how.Further)
	if how.Kinds != nil {
		all = slices.Concat(how.Kinds, how.Further)
	}
	if how.owner == "" {
		all = append(all, kinds.Others...)
	}
	if how.Addresses || how.Pools {
		all = append(all, kinds.Pools...)
	}
	return all
}

// definitions reads the stored definitions.
func (how Reading) definitions(ctx context.Context, l ledger.Ledger, claims []*state.Claim) (map[string]*kept.Definition, error) {
	groups := how.Definitions
	if how.Holders {
		holders := sets.New[lease.Group]()
		for _, c := range claims {
			holders.Insert(c.Writers()...)
		}
		groups = slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return !holders.Has(g) })
	}
	return readDefinitions(ctx, l, groups)
}

// claims reads the claims, only of one owner if the reading is of one, or everything in the ledger.
func (how Reading) claims(ctx context.Context, l ledger.Ledger, s *observed.Snapshot) (claims []*state.Claim, err error) {
	switch {
	case how.Ledger:
		all, err := l.All(ctx)
		s.Definitions, s.Reservations, s.Failing = byName(all.Definitions), all.Reservations, all.Failing
		return all.Claims, err
	case how.owner != "":
		return l.ListOwner(ctx, how.owner)
	}
	return l.List(ctx)
}

// Read takes a snapshot: the claims first, then the objects. So a claim may be given up if no object of this later reading
// depends on it; and what was read stands if the claims and the definitions are the same when the command's turn comes, and
// no other command was announced when the claims were read.
func Read(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how Reading) (*observed.Snapshot, error) {
	if s, err := readWatched(ctx, c, l, how); !errors.Is(err, cluster.ErrUnwatched) {
		return s, err
	}
	s := observed.NewSnapshot()
	s.HoldersOnly = how.Holders
	var metas []*metav1.ObjectMeta
	lists := make(map[string][]*listed.Object)
	var mu sync.Mutex
	claims, err := how.claims(ctx, l, s)
	if err != nil {
		return nil, err
	}
	group, reading := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		if how.Ledger {
			s.Runs, err = l.Announcements.List(reading)
		} else {
			s.Definitions, err = how.definitions(reading, l, claims)
		}
		return err
	})
	if how.owner == "" {
		group.Go(func() (err error) {
			metas, err = c.Metas(reading, cluster.Namespaces, "")
			return err
		})
	}
	if how.owner == "" && how.Addresses {
		group.Go(func() (err error) {
			nodes, err := NodeUses(reading, c)
			s.SetNodes(nodes)
			return err
		})
	}
	for _, kind := range how.kinds() {
		group.Go(func() error {
			list, err := c.List(reading, kind.Resource(), "", metav1.ListOptions{LabelSelector: how.selector(kind)})
			mu.Lock()
			defer mu.Unlock()
			if cluster.IsMissingKind(err) && kinds.Optional(kind) {
				s.Lacks[kind], err = true, nil
			}
			lists[kind.Plural] = list
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if how.Ledger {
		announced := map[string]*state.Announcement{}
		for _, a := range s.Runs {
			announced[a.Nonce] = a
		}
		for _, claim := range claims {
			claim.Meet(announced, c.Now())
		}
	}
	if how.before != nil {
		s.WithNamespacesOf(how.before)
	}
	s.AddNamespaces(metas, l.Objects.Namespace)
	if s.Gateways, err = gatewaysOf(ctx, c, lists); err != nil {
		return nil, err
	}
	s.AddClaims(claims)
	s.Index(lists)
	return s, nil
}

// Look reads everything of an owner again: the claims first, then the objects that may depend on them. What one of his
// deployments holds may be served by another. It reads only objects with the owner's label, unless an object of his has
// lost its labels.
func Look(ctx context.Context, c *command.Command, before *observed.Snapshot, owner string) (*observed.Snapshot, error) {
	how := Reading{Addresses: true, Further: recordsRead(before)}
	if !unlabelled(before, owner) {
		how.owner, how.before = owner, before
	}
	s, err := Read(ctx, c.Cluster, c.Ledger, how)
	if err != nil {
		return nil, err
	}
	return s.WithOperators(before), nil
}

// unlabelled reports whether an object of the owner has lost the labels that name its lease.
func unlabelled(s *observed.Snapshot, owner string) bool {
	for group := range s.Written.Keys() {
		if group.Owner == owner && slices.ContainsFunc(s.Written.Of(group), func(o observed.Object) bool {
			return slices.Contains(s.Ownership(o.Live).Lost, state.MarkLabels)
		}) {
			return true
		}
	}
	return false
}

// recordsRead returns the kinds of DNS records in a snapshot.
func recordsRead(s *observed.Snapshot) (further []kinds.Kind) {
	for _, kind := range kinds.Records {
		if s.HasRead(kind) {
			further = append(further, kind)
		}
	}
	return further
}

// ReadAll reads all kinds of objects that leases have, the operators, and the stored definitions of the given groups.
func ReadAll(ctx context.Context, c *command.Command, definitions ...lease.Group) (*observed.Snapshot, error) {
	return ReadWithOperators(ctx, c, Reading{Addresses: true, Further: kinds.RecordsOf(c.Options.Config), Definitions: definitions})
}

// ReadWithOperators is Read that also finds out which of Akash's operators run, and reads the Manifests that they use.
func ReadWithOperators(ctx context.Context, c *command.Command, how Reading) (*observed.Snapshot, error) {
	var s *observed.Snapshot
	var found observed.Operators
	var manifests observed.Manifests
	group, groupCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = Read(groupCtx, c.Cluster, c.Ledger, how)
		return err
	})
	group.Go(func() (err error) {
		if found, err = findOperators(groupCtx, c); err == nil && found.Hostname {
			manifests, err = readManifests(groupCtx, c)
		}
		if how.Shows && (apierrors.IsForbidden(err) || cluster.IsMissingKind(err)) {
			found.Unknown, manifests, err = true, nil, nil
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.Operators, s.Manifests = found, manifests
	return s, nil
}
