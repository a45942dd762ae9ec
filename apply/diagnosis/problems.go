// Package diagnosis reads what problems and explanations are computed from.
package diagnosis

import (
	"context"
	"iter"
	"maps"
	"runtime"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Problems reads the cluster and finds its problems, limited to the leases of a namespace if one is given. A run counts
// as crashed if it has written nothing for crashedAfter.
func Problems(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, crashedAfter time.Duration, namespace string,
) ([]state.Problem, error) {
	s, err := Read(ctx, c, cfg, kinds.Records)
	if err != nil {
		return nil, err
	}
	return ProblemsIn(ctx, c, cfg, s, Definitions(s, maps.Keys(s.Definitions)), crashedAfter, namespace)
}

// ProblemsIn is Problems for a cluster that was read, with the definitions that the ledger keeps.
func ProblemsIn(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, s *observed.Snapshot, defs []diagnose.KeptDefinition,
	crashedAfter time.Duration, namespace string,
) ([]state.Problem, error) {
	facts, err := Facts(ctx, s, commandOf(c, cfg), defs, crashedAfter, "")
	if err != nil {
		return nil, err
	}
	found := diagnose.Problems(facts)
	if namespace == "" {
		return found, nil
	}
	return diagnose.InNamespace(found, facts.Contents.Claims, namespace), nil
}

// Reading is what a snapshot has to contain to find problems.
var Reading = reading.Reading{Addresses: true, Further: kinds.Records, Ledger: true}

// Read reads what problems are found by and things explained, with those kinds of DNS records.
func Read(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, records []kinds.Kind) (*observed.Snapshot, error) {
	how := Reading
	how.Further, how.Shows = records, true
	return reading.ReadWithOperators(ctx, commandOf(c, cfg), how)
}

// commandOf returns a command that shows what is in a cluster.
func commandOf(c *cluster.Cluster, cfg *config.ProviderConfig) *command.Command {
	return command.New(c, command.Options{Config: cfg, Operators: observed.OperatorsAuto})
}

// Facts returns what problems are computed from, with the definitions that the ledger keeps; own is the nonce of the announcement of the
// command that asks.
func Facts(
	ctx context.Context, s *observed.Snapshot, c *command.Command, defs []diagnose.KeptDefinition, crashedAfter time.Duration, own string,
) (facts diagnose.Facts, err error) {
	cfg := c.Options.Config
	facts = factsOf(s, cfg, c.Cluster.Now(), kinds.Service, kinds.IPAddressPool)
	if facts.Routers, err = reading.Routers(ctx, c.Cluster, s); err != nil {
		return facts, err
	}
	facts.Contents.Reservations = s.Reservations
	if facts.Lost, err = reservation.Lost(ctx, c.Cluster, cfg, facts.Contents); err != nil {
		return facts, err
	}
	// They are read after the ledger: what a lease ran that was released since is not seen.
	if facts.Manifests, err = reading.SeenManifests(ctx, c.Cluster, cfg); err != nil {
		return facts, err
	}
	if facts.ClosedBy, err = closedBy(ctx, s, c.Ledger); err != nil {
		return facts, err
	}
	facts.Book = view.NewBook(cfg, facts.Contents, view.SubjectPools)
	facts.Objects, facts.Namespaces, facts.Definitions = objectsOf(s, facts.Routers), s.Namespaces(), defs
	facts.Runs, facts.Own, facts.Failing, facts.CrashedAfter = s.Runs, own, s.Failing, crashedAfter
	if s.Manifests != nil {
		facts.Lacks = s.Manifests.Lacks
	}
	facts.Records, err = records.OwnRecords(ctx, s, c)
	return facts, err
}

// closedBy returns the nonce of the uninstall that has closed the ledger. The mark and the announcements of the snapshot
// are of different moments: a mark without an announcement is read again.
func closedBy(ctx context.Context, s *observed.Snapshot, l ledger.Ledger) (string, error) {
	if s.ClosedBy == "" || slices.ContainsFunc(s.Runs, func(a *state.Announcement) bool { return a.Nonce == s.ClosedBy }) {
		return s.ClosedBy, nil
	}
	if left, err := l.Announcements.HasLeftMark(ctx, s.ClosedBy); !left || err != nil {
		return "", err
	}
	return s.ClosedBy, nil
}

// Definitions returns the stored definitions of these names in the form that the search for problems needs, sorted by their names. All
// processors decode them.
func Definitions(s *observed.Snapshot, names iter.Seq[string]) []diagnose.KeptDefinition {
	var out []diagnose.KeptDefinition
	for _, name := range slices.Sorted(names) {
		if d := s.Definitions[name]; d != nil && !d.Deleting {
			out = append(out, diagnose.KeptDefinition{
				ObjectRef: state.ObjectRef{Kind: "lease", Name: d.Name, UID: string(d.UID), ResourceVersion: d.ResourceVersion},
				Run:       d.Run, Written: d.Written,
			})
		}
	}
	group := parallel.New(runtime.GOMAXPROCS(0))
	for i := range out {
		group.Go(func() (err error) {
			if out[i].Def, err = s.Definitions[out[i].Name].Decode(); err != nil {
				out[i].Unreadable = err.Error()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil { // a fault of the program
		panic(err)
	}
	return out
}

// objectsOf returns the objects of leases.
func objectsOf(s *observed.Snapshot, routers state.Routers) []state.OwnObject {
	var out []state.OwnObject
	for _, kind := range kinds.OfLease {
		for live := range s.Of(kind) {
			if state.IsWorkloadService(live) {
				continue
			}
			o := ownObject(kind, live, s.Ownership(live))
			o.Kept = o.Ours && s.Stays(kind, live)
			o.ByProvider = o.ByOperators && s.Declared(kind, live, o.Lease.Group())
			o.Reports = state.Reports(live, routers)
			out = append(out, o)
		}
	}
	return out
}

// ownObject returns what the search for problems needs of an object.
func ownObject(kind kinds.Kind, o *unstructured.Unstructured, whose state.Ownership) state.OwnObject {
	out := state.OwnObject{
		ObjectRef: observed.RefOf(kind, o), Ownership: whose, Since: o.GetCreationTimestamp().Time, WrongWallet: state.WrongWalletOf(o),
		Definition:  o.GetAnnotations()[lease.AnnotationDefinition],
		ByOperators: slices.Contains(kinds.ServingKinds, kind) && o.GetLabels()[lease.LabelManaged] == "true",
		ForOperator: o.GetAnnotations()[lease.AnnotationUpdatedAt] != "",
		Deleting:    o.GetDeletionTimestamp() != nil, Finalizers: o.GetFinalizers(),
	}
	switch kind {
	case kinds.Service:
		service := state.ServiceObjectOf(o)
		out.Uses, out.SharingKey = state.AddressUses(o), service.SharingKey
		out.Port = state.PortWant{Protocol: service.Protocol, ExternalPort: service.Port, Service: service.Service, Port: service.ContainerPort}
	case kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o)
		out.SharingKey, out.Port = port.SharingKey, state.PortWant{Protocol: port.Protocol, ExternalPort: port.Port, Service: port.Service}
		container, _, _ := unstructured.NestedInt64(o.Object, "spec", "port")
		out.Port.Port = uint16(container)
	default:
		out.Uses = state.HostUses(o)
	}
	if slices.Contains(kinds.RouteKinds, kind) {
		out.Routing = state.RoutingOf(o)
	}
	if slices.Contains(kinds.ClaimLike, kind) {
		_, old := managed.OfVersion(o, kind.GroupVersion())
		out.OldVersions = old > 0
	}
	for e := range managed.Of(o) {
		_, ofGroup := managed.GroupOf(e.Manager)
		if (ofGroup || e.Manager == lease.FieldManager) && e.Time != nil && e.Time.After(out.Written) {
			out.Written = e.Time.Time
		}
	}
	return out
}

// unlikeDefined says, for hosts of the things, which HTTP options the route that Akash's hostname operator made has instead
// of those of the definition with which its lease was last applied.
func unlikeDefined(s *observed.Snapshot, things []thing.Thing) map[string]string {
	unlike, defs := map[string]string{}, map[lease.Group]*lease.Definition{}
	for _, c := range s.List() {
		part := c.Part(state.RouteKey("/"))
		if c.Kind != state.Host || part == nil || !slices.ContainsFunc(things, func(t thing.Thing) bool {
			return t.Host == c.Thing || t.Kind == thing.Lease && t.Group == part.Lease.Group()
		}) {
			continue
		}
		route := operatorsRoute(s, part.Lease, c.Thing)
		if route == nil {
			continue
		}
		g := part.Lease.Group()
		if _, read := defs[g]; !read {
			if defs[g] = nil; s.Definitions[kept.Name(g)] != nil {
				defs[g], _ = s.Definitions[kept.Name(g)].Decode() // one that cannot be decoded is a problem of its own
			}
		}
		if def := defs[g]; def != nil {
			if e := def.Routed(c.Thing, "/"); e != nil {
				unlike[c.Thing] = observed.Unlike(route, e.HTTP)
			}
		}
	}
	return unlike
}

// operatorsRoute returns the route of a host that Akash's hostname operator made for a lease, or nil.
func operatorsRoute(s *observed.Snapshot, id lease.ID, host string) *unstructured.Unstructured {
	for _, kind := range observed.HostnameKinds {
		live := s.At(kind, id.Namespace(), host)
		if live == nil {
			continue
		}
		if whose := s.Ownership(live); whose.Shared && !whose.Ours {
			return live
		}
	}
	return nil
}
