// Package observed reads what a command decides by: claims, objects, namespaces and Akash's operators at one moment,
// and what they mean for a deployment group. It writes nothing.
package observed

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Snapshot is what a run has read before it decides: one LIST of each kind. The work on many leases reads one snapshot at
// the same time, so nobody changes it: With and WithClaim return others.
type Snapshot struct {
	claims     map[string]*state.Claim
	Namespaces map[string]bool
	// ClosedBy is the nonce of the uninstall that has closed the ledger; empty while the ledger is open.
	ClosedBy string
	// Written are the objects that this program wrote, by the deployment group in their labels, in the order in which
	// to delete them.
	Written Index[lease.Group]
	// Theirs are a group's routes and Services that only Akash's operators wrote.
	Theirs Index[lease.Group]
	// Serving are the objects in Written that serve traffic, by the name of the claim that they depend on.
	Serving Index[string]
	// Held are the claims on which a group has written.
	Held map[lease.Group][]*state.Claim
	// Shared are a group's objects on which Akash's provider or an operator has written.
	Shared Index[lease.Group]
	// Records are the DNS records that this program wrote, by host.
	Records Index[string]
	// Tenants are the leases in namespace labels, by namespace.
	Tenants  map[string]lease.ID
	HostUses map[string][]state.Use
	// AddressUses are the Services that use each address, whoever wrote them.
	AddressUses map[netip.Addr][]state.Use
	// NodeUses are the addresses of the nodes, if addresses were asked for.
	NodeUses []state.Use
	// Ports are the ProviderLeasedIPs by name: one for each port of an IP endpoint.
	Ports map[string]state.PortObject
	// portsOf are the same by their sharing key.
	portsOf map[string][]state.PortObject
	// lists are the objects by their kind's plural, again those that were read again since; nil for one that is gone.
	lists map[string]objectList
	again map[objectKey]*cluster.Object
	// Lacks are the kinds that the cluster does not serve.
	Lacks     map[kinds.Kind]bool
	Addresses *state.Addresses
	// Operators are the Akash operators that run in the cluster, Manifests the objects that the hostname operator
	// reads, by name. Only ReadWithOperators reads them.
	Operators operators
	Manifests Manifests
	// Definitions are the stored definitions that were asked for, by object name.
	Definitions map[string]*kept.Definition
	// HoldersOnly is true if only definitions of groups with claims were read.
	HoldersOnly bool
	// Runs are the announcements of commands, Reservations those of orders, and Failing the leases that reconcilers record as
	// failing: if everything in the ledger was asked for.
	Runs         []*state.Announcement
	Reservations []*reserved.Claim
	Failing      []state.Failing
	// Gateway caches the target of the Gateway.
	Gateway *published.Gateway
	// memory has what the objects say by themselves, if they were read before.
	memory *cluster.Memory
	// gateways are the listeners of Gateways, if routes of others are attached to any.
	gateways admission.Gateways
	// labels are those of the namespaces by name.
	labels map[string]map[string]string
	// byClaim, byOthers and standing answer lookups of many leases. They are made on first use, so that the work on a lease
	// does not grow with the number of leases.
	byClaim  func() *claimIndex
	byOthers func() map[lease.Group]int
	standing func() Index[string]
}

// Reading selects what a snapshot contains.
type Reading struct {
	// Addresses also reads MetalLB's pools and all Services; Pools reads the pools alone.
	Addresses, Pools bool
	// Kinds are the kinds of objects of leases; nil for all that a lease may have. Further are kinds in addition to those.
	Kinds, Further []kinds.Kind
	// owner reads only objects with the label of one owner. The namespaces are then copied from before.
	owner  string
	before *Snapshot
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
func (how Reading) claims(ctx context.Context, l ledger.Ledger, s *Snapshot) (claims []*state.Claim, err error) {
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
func Read(ctx context.Context, c *cluster.Cluster, l ledger.Ledger, how Reading) (*Snapshot, error) {
	s := NewSnapshot()
	s.HoldersOnly, s.memory = how.Holders, c.Memory()
	var metas []*metav1.ObjectMeta
	lists := make(map[string][]*cluster.Object)
	var mu sync.Mutex
	claims, err := how.claims(ctx, l, s)
	if err != nil {
		return nil, err
	}
	group, reading := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		if how.Ledger {
			s.Runs, err = l.Announcements(reading)
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
			s.NodeUses, err = NodeUses(reading, c)
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
		s.Namespaces, s.Tenants, s.labels = how.before.Namespaces, how.before.Tenants, how.before.labels
	}
	s.addNamespaces(metas, l.Namespace)
	if s.gateways, err = gatewaysOf(ctx, c, lists); err != nil {
		return nil, err
	}
	s.AddClaims(claims)
	s.index(claims, lists)
	return s, nil
}

// NewSnapshot returns a snapshot of an empty cluster.
func NewSnapshot() *Snapshot {
	s := &Snapshot{
		claims: map[string]*state.Claim{}, Held: map[lease.Group][]*state.Claim{},
		Namespaces: map[string]bool{}, Tenants: map[string]lease.ID{}, labels: map[string]map[string]string{},
		HostUses: map[string][]state.Use{}, AddressUses: map[netip.Addr][]state.Use{}, Ports: map[string]state.PortObject{}, portsOf: map[string][]state.PortObject{},
		Shared: Index[lease.Group]{}, Written: Index[lease.Group]{}, Theirs: Index[lease.Group]{}, Serving: Index[string]{}, Records: Index[string]{},
		lists: map[string]objectList{}, Lacks: map[kinds.Kind]bool{}, Gateway: &published.Gateway{},
	}
	s.byClaim = sync.OnceValue(func() *claimIndex { return indexClaims(s.claims) })
	s.byOthers = sync.OnceValue(s.countOthers)
	s.standing = sync.OnceValue(s.findStanding)
	return s
}

// AddClaims adds claims, without an index of them.
func (s *Snapshot) AddClaims(claims []*state.Claim) {
	for _, c := range claims {
		s.claims[c.Name()] = c
	}
	s.Held = heldBy(claims)
}

func (s *Snapshot) addNamespaces(metas []*metav1.ObjectMeta, ledgerNamespace string) {
	for _, m := range metas {
		if m.Name == ledgerNamespace {
			s.ClosedBy = m.Annotations[lease.AnnotationClosing]
		}
		s.Namespaces[m.Name], s.labels[m.Name] = m.DeletionTimestamp == nil, m.Labels
		if id, ok := lease.IDFromLabels(m.Labels); ok {
			s.Tenants[m.Name] = id
		}
	}
}

// Look reads everything of an owner again: the claims first, then the objects that may depend on them. What one of his
// deployments holds may be served by another. It reads only objects with the owner's label, unless an object of his has
// lost its labels.
func Look(ctx context.Context, c *command.Command, before *Snapshot, owner string) (*Snapshot, error) {
	how := Reading{Addresses: true, Further: recordsRead(before)}
	if !before.unlabelled(owner) {
		how.owner, how.before = owner, before
	}
	s, err := Read(ctx, c.Cluster, c.Ledger, how)
	if err != nil {
		return nil, err
	}
	return s.WithOperators(before), nil
}

// unlabelled reports whether an object of the owner has lost the labels that name its lease.
func (s *Snapshot) unlabelled(owner string) bool {
	for group := range s.Written {
		if group.Owner == owner && slices.ContainsFunc(s.Written.Of(group), func(o Owned) bool {
			return slices.Contains(s.Ownership(o.Live).Lost, state.MarkLabels)
		}) {
			return true
		}
	}
	return false
}

// recordsRead returns the kinds of DNS records in a snapshot.
func recordsRead(s *Snapshot) (further []kinds.Kind) {
	for _, kind := range kinds.Records {
		if s.HasRead(kind) {
			further = append(further, kind)
		}
	}
	return further
}

// ReadAll reads all kinds of objects that leases have, the operators, and the stored definitions of the given groups.
func ReadAll(ctx context.Context, c *command.Command, definitions ...lease.Group) (*Snapshot, error) {
	return ReadWithOperators(ctx, c, Reading{Addresses: true, Further: kinds.RecordsOf(c.Options.Config), Definitions: definitions})
}

// ReadWithOperators is Read that also finds out which of Akash's operators run, and reads the Manifests that they use.
func ReadWithOperators(ctx context.Context, c *command.Command, how Reading) (*Snapshot, error) {
	var s *Snapshot
	var found operators
	var manifests Manifests
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

// FewDefinitions is up to how many stored definitions are read by GET rather than by one LIST.
const FewDefinitions = 16

// readDefinitions reads the definitions stored for deployment groups, by object name.
func readDefinitions(ctx context.Context, l ledger.Ledger, groups []lease.Group) (map[string]*kept.Definition, error) {
	if len(groups) > FewDefinitions {
		names := sets.New[string]()
		for _, g := range groups {
			names.Insert(kept.Name(g))
		}
		return listDefinitions(ctx, l, OnlyOwner(groups), names.Has)
	}
	read := make([]*kept.Definition, len(groups))
	work, ctx := parallel.WithContext(ctx)
	for i, g := range groups {
		work.Go(func() (err error) {
			read[i], err = ReadDefinition(ctx, l, g)
			return err
		})
	}
	err := work.Wait()
	return byName(slices.DeleteFunc(read, func(d *kept.Definition) bool { return d == nil })), err
}

// ReadDefinition reads the definition stored for a deployment group, and retries unclear answers. It returns nil if
// there is none.
func ReadDefinition(ctx context.Context, l ledger.Ledger, g lease.Group) (d *kept.Definition, err error) {
	err = UntilKept(ctx, l, g, func(ctx context.Context) (err error) {
		d, err = l.Definition(ctx, g)
		return err
	})
	return d, err
}

func listDefinitions(
	ctx context.Context, l ledger.Ledger, owner string, want func(name string) bool,
) (map[string]*kept.Definition, error) {
	list, err := l.Definitions(ctx, owner, want)
	return byName(list), err
}

func byName(definitions []*kept.Definition) map[string]*kept.Definition {
	found := map[string]*kept.Definition{}
	for _, d := range definitions {
		found[d.Name] = d
	}
	return found
}

// UntilKept retries an operation on a stored definition while it loses races or its effect is unclear.
func UntilKept(ctx context.Context, l ledger.Ledger, g lease.Group, try func(context.Context) error) error {
	if err := l.Until(ctx, try); err != nil {
		return fmt.Errorf("the definition of lease %s in the ledger: %w", g, err)
	}
	return nil
}

// KeptDefinitions returns the definitions with which deployment groups were last applied, in the order of the groups.
// It leaves out groups without a stored definition, and fails if one cannot be decoded.
func KeptDefinitions(
	ctx context.Context, c *cluster.Cluster, ledgerNamespace string, groups []lease.Group,
) ([]*lease.Definition, error) {
	found, err := readDefinitions(ctx, ledger.New(c, ledgerNamespace), groups)
	if err != nil {
		return nil, err
	}
	var defs []*lease.Definition
	for _, g := range groups {
		d := found[kept.Name(g)]
		if d == nil {
			continue
		}
		def, err := d.Decode()
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
	}
	return defs, nil
}
