package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// isMadeAnew reports whether Akash's hostname operator has made a route of the target's kind for the host: it was restarted with another
// --ingress-mode, and leaves the old route.
func (m *leaseMigration) isMadeAnew(c *crossing) bool {
	return slices.ContainsFunc(kinds.OfTarget(m.x.Command.Options.Config.Target), func(kind kinds.Kind) bool {
		return m.byAkash(m.x.Snapshot.At(kind, c.old.Live.GetNamespace(), c.old.Live.GetName()))
	})
}

// checkMovable refuses a lease before anything is written: if Akash's hostname operator creates its routes, and has made none of the
// target's kind, or somebody else holds its hosts. It sets why for routes whose part the lease does not hold.
func (m *leaseMigration) checkMovable() error {
	if m.x.Snapshot.Operators.Hostname && slices.ContainsFunc(m.routes, func(c *crossing) bool { return !m.isMadeAnew(c) }) {
		return &report.OperatorError{Lease: m.x.Request.Lease, Why: "Akash's hostname operator makes its routes, of the kind that its flag --ingress-mode says: " +
			"change that, and it makes the others; then run this again"}
	}
	var refused []report.HeldThing
	for _, c := range m.ready() {
		claim := m.x.Snapshot.Claim(state.HostName(c.use.Host))
		switch {
		case claim == nil || claim.Deleting || len(claim.Parts) == 0 && claim.Unreadable == "":
			uses := m.x.Snapshot.HostUses.At(c.use.Host)
			i := slices.IndexFunc(uses, func(u state.Use) bool { return !u.HasLease || u.Lease.Owner != m.x.Group.Owner })
			if i >= 0 {
				by := state.Holder{Object: uses[i].String(), Since: uses[i].Since, Namespace: uses[i].Namespace}
				refused = append(refused, report.HeldThing{Kind: state.Host, Thing: c.use.Host, By: by})
			}
		case claim.Unreadable != "" || claim.Owner != m.x.Group.Owner:
			refused = append(refused, report.HeldThing{Kind: claim.Kind, Thing: claim.Thing, By: claim.HeldBy()})
		default:
			if part := claim.Part(state.RouteKey(c.use.Path)); part == nil || part.Lease.Group() != m.x.Group {
				c.why = "the lease does not hold " + lease.HostPath(c.use.Host, c.use.Path) + ": \"repair\" removes the routes that remain"
			}
		}
	}
	return report.ErrorOfHeld(m.x.Request.Lease, refused)
}

// current returns the lease's routes that have the target's kind already.
func (m *leaseMigration) current() []observed.Object {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o observed.Object) bool {
		isNew, _ := m.roleOf(o)
		return !isNew
	})
}

// superseded reports whether the new form exists and has to stay as it is: Akash's provider wrote it for the lease, or
// it was written from another definition since (timestamps have whole seconds).
func (m *leaseMigration) superseded(c *crossing) bool {
	live := m.x.Snapshot.Find(c.main())
	if live == nil {
		return false
	}
	if m.byAkash(live) {
		return true
	}
	was, is := definitionOf(c.old.Live), definitionOf(live)
	if records.ResidualTTL(c.old.Live) > 0 {
		return was != is // the old one was last written to note that it goes
	}
	return was != "" && is != "" && was != is && !lastApplied(live).Before(lastApplied(c.old.Live))
}

// byAkash reports whether Akash's provider has written a route for the lease.
func (m *leaseMigration) byAkash(live *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	id, ok := lease.IDFromLabels(live.GetLabels())
	return ok && id.Group() == m.x.Group && m.x.Snapshot.Ownership(live).Shared
}

// leadsElsewhere returns why the new route that Akash's provider wrote does not stand for the old one: it takes other requests, or
// leads to something else. Otherwise, and for a route of this program, it returns "".
func (m *leaseMigration) leadsElsewhere(c *crossing, live *unstructured.Unstructured) string {
	if !m.byAkash(live) {
		return ""
	}
	to := ""
	switch now, err := m.readAkash(live); {
	case err != nil:
		to = err.Error()
	case now.LeadsTo() != c.leadsTo:
		to = "it leads " + now.LeadsTo()
	default:
		return ""
	}
	o := c.main()
	return fmt.Sprintf("it leads %s, and %s %s/%s of Akash's provider does not: %s. If that is right, delete this one; otherwise: kubectl -n %s delete %s %s",
		c.leadsTo, o.Kind.Singular, o.Namespace, o.Name, to, o.Namespace, o.Kind.Singular, o.Name)
}

// lastApplied returns when this program last wrote an object.
func lastApplied(o *unstructured.Unstructured) time.Time {
	if e, ok := managed.Applied(o, lease.FieldManager); ok && e.Time != nil {
		return e.Time.Time
	}
	return time.Time{}
}

// stayed returns the errors of routes that were left as they are since it was called last, or nil.
func (m *leaseMigration) stayed() error {
	errs := m.failed
	if len(m.left) > 0 {
		errs = append([]error{&StayedError{Lease: m.x.Request.Lease, Routes: m.left}}, errs...)
	}
	m.left, m.failed = nil, nil
	return report.Gather(errs)
}

// companions returns the objects that accompany routes of the other kinds.
func (m *leaseMigration) companions() (out []observed.Object) {
	for _, o := range m.objects {
		if _, isRoute := m.roleOf(o); !isRoute && m.x.Command.Options.Config.Target != config.TargetHTTPRoute {
			o.Stays = m.x.Snapshot.Stays(o.Kind, o.Live)
			out = append(out, o)
		}
	}
	return out
}

// objectsByLease returns the routes, and what accompanies them, that this program or Akash's provider wrote for leases.
func objectsByLease(s *observed.Snapshot) map[lease.ID][]observed.Object {
	out := map[lease.ID][]observed.Object{}
	for _, kind := range slices.Concat(kinds.RouteKinds, kinds.Filters, kinds.Policies) {
		for o := range s.Of(kind) {
			whose := s.Ownership(o)
			id := whose.Lease
			if whose.Labelled && o.GetNamespace() == id.Namespace() && (whose.Ours || o.GetLabels()[lease.LabelManaged] == "true") {
				out[id] = append(out[id], observed.Object{Kind: kind, Live: o, Group: id.Group(), Lease: id, Ours: true})
			}
		}
	}
	return out
}

// roleOf reports whether an object is a route, and whether that has the target's kind. Others accompany routes.
func (m *leaseMigration) roleOf(o observed.Object) (isNew, isRoute bool) {
	_, _, redirect := lease.ParseRouteName(o.Live.GetName())
	isRoute = slices.Contains(kinds.RouteKinds, o.Kind) && !redirect
	return isRoute && slices.Contains(kinds.OfTarget(m.x.Command.Options.Config.Target), o.Kind), isRoute
}

// ready returns the routes that go on.
func (m *leaseMigration) ready() (out []*crossing) {
	for _, c := range m.routes {
		if c.ready {
			out = append(out, c)
		}
	}
	return out
}

// StayedError reports routes that could not be moved. The events contain the reasons.
type StayedError struct {
	Lease  lease.ID
	Routes []string
}

func (e *StayedError) Error() string {
	return fmt.Sprintf("lease %s: %d of its routes stay as they are: %s", e.Lease, len(e.Routes), strings.Join(e.Routes, ", "))
}

// SettlingError reports that old routes stay because resolvers may still have cached answers that point to them.
type SettlingError struct {
	Lease  lease.ID
	Routes []string
	// Until is when the last of them may be deleted, After how long that is from now.
	Until time.Time
	After time.Duration
}

func (e *SettlingError) Error() string {
	return fmt.Sprintf("lease %s: resolvers may lead people to %d of its old routes until %s: %s",
		e.Lease, len(e.Routes), e.Until.UTC().Format("15:04:05 UTC"), strings.Join(e.Routes, ", "))
}

// ExitCode says how a command ends with the error.
func (*SettlingError) ExitCode() int { return report.ExitTimeout }

// Advice says what follows of it.
func (e *SettlingError) Advice() string {
	return fmt.Sprintf("The same command removes them then; with --timeout=%s it waits for that now.", (e.After + time.Second).Round(time.Second))
}

func (e *SettlingError) add(c *crossing, now time.Time) {
	e.Routes = append(e.Routes, c.name())
	if c.stays.After(e.Until) {
		e.Until, e.After = c.stays, c.stays.Sub(now)
	}
}

// Annotations on an old route say for how long clients may still reach it once DNS leads elsewhere. They have to be there first, because
// the command may crash after any write. A longer time that was noted before stays.
//
// This program manages the annotations, so that its next apply of the route removes them. note returns their write, none if they are there.
func (m *leaseMigration) note(c *crossing) []engine.Desired {
	notes := map[string]string{lease.AnnotationDNSTTL: strconv.Itoa(int(c.lag.Seconds()))}
	if m.external() {
		notes[externalController(m.x.Command.Options)] = lease.FieldManager
	}
	if now := c.old.Live.GetAnnotations(); maps.Equal(merged(now, notes), now) {
		return nil
	}
	return []engine.Desired{{
		Object: annotated(c.old.Kind, c.old.Live, notes), Manager: lease.FieldManager, Message: fmt.Sprintf("it stays for %s once DNS leads elsewhere", c.lag),
	}}
}

func merged(all, more map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, all)
	maps.Copy(out, more)
	return out
}
