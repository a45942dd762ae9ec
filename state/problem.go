package state

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// The kinds of problem.
const (
	CrashedRun         = "CrashedRun"
	NamespaceGone      = "NamespaceGone"
	RouteWithoutClaim  = "RouteWithoutClaim"
	NotServed          = "NotServed"
	TwoRoutes          = "TwoRoutes"
	StrayRoute         = "StrayRoute"
	RouteDiffers       = "RouteDiffers"
	MixedDefinitions   = "MixedDefinitions"
	HoldEnded          = "HoldEnded"
	BlockedHost        = "BlockedHost"
	PoolOverlap        = "PoolOverlap"
	PoolDiffers        = "PoolDiffers"
	PoolExhausted      = "PoolExhausted"
	AddressWithoutPool = "AddressWithoutPool"
	UnclaimedAddress   = "UnclaimedAddress"
	SharingKeyMismatch = "SharingKeyMismatch"
	GrantDiffers       = "GrantDiffers"
	OldManagedFields   = "OldManagedFields"
	LostMarks          = "LostMarks"
	UnreadableClaim    = "UnreadableClaim"
	StaleReport        = "StaleReport"
	StrayRecord        = "StrayRecord"
	RecordDiffers      = "RecordDiffers"
	MigrationUnderWay  = "MigrationUnderWay"
	NotDeclared        = "NotDeclared"
	NothingLeft        = "NothingLeft"
	AsksForNothing     = "AsksForNothing"
	Terminating        = "Terminating"
	AddressSquatted    = "AddressSquatted"
	MissingRoute       = "MissingRoute"
	StrayDefinition    = "StrayDefinition"
	StrayWorkload      = "StrayWorkload"
	LeaseFails         = "LeaseFails"
	WrongWallet        = "WrongWallet"

	UnreadableDefinition = "UnreadableDefinition"
	OperatorStops        = "OperatorStops"

	RoomGone    = "RoomGone"
	NodeAddress = "NodeAddress"

	// Drift is an object that somebody has changed. Where it no longer serves what its lease's kept definition has, repair puts it back,
	// and does nothing for what it serves now; other fields are found by a plan of the kept definitions, and are not taken back by repair.
	Drift = "Drift"
)

// ProblemKinds lists all kinds of problem that repair knows.
var ProblemKinds = []string{
	CrashedRun, NamespaceGone, RouteWithoutClaim, NotServed, TwoRoutes, StrayRoute,
	RouteDiffers, MixedDefinitions, HoldEnded, BlockedHost, PoolOverlap, PoolDiffers, PoolExhausted,
	AddressWithoutPool, UnclaimedAddress, SharingKeyMismatch, GrantDiffers, OldManagedFields, LostMarks,
	UnreadableClaim, StaleReport, StrayRecord, RecordDiffers, MigrationUnderWay, Terminating,
	AddressSquatted, NotDeclared, NothingLeft, AsksForNothing, MissingRoute, StrayDefinition, UnreadableDefinition,
	OperatorStops, WrongWallet, RoomGone, NodeAddress, StrayWorkload, LeaseFails, Drift,
}

// Problem is a fault in the cluster and how to fix it.
type Problem struct {
	Problem string `json:"problem"`
	// Thing is the host, the address or the object with the problem.
	Thing     string      `json:"thing"`
	Namespace string      `json:"namespace,omitempty"`
	Lease     string      `json:"lease,omitempty"`
	Since     metav1.Time `json:"since,omitzero"`
	Message   string      `json:"message"`
	// Plan describes the fix in one line. If Manual is true, repair does not fix the problem by itself: Command makes
	// it do so, or opens the object that needs an edit.
	Plan    string `json:"plan"`
	Manual  bool   `json:"manual,omitempty"`
	Command string `json:"command,omitempty"`
	// Named is true for a manual problem that repair fixes when the user names it. Sound is true if nothing is broken:
	// the problem is reported but does not count as unfixed.
	Named bool `json:"-"`
	Sound bool `json:"-"`
	// Fix is how repair fixes it; nil if somebody else has to.
	Fix *Fix `json:"-"`
}

// Name returns the name of the problem for repair, for example "BlockedHost/bad.example.com".
func (x Problem) Name() string { return x.Problem + "/" + x.Thing }

// ID returns the lease of the problem, without order and provider if it names only a deployment group.
func (x Problem) ID() lease.ID {
	if id, err := lease.ParseID(x.Lease); err == nil {
		return id
	}
	g, err := lease.ParseGroup(x.Lease)
	if err != nil {
		return lease.ID{}
	}
	return lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}
}

// Repair returns the command that fixes the problem: Command, or a repair of this problem alone; empty if somebody else has to.
func (x Problem) Repair() string {
	if x.Command == "" && x.Fix != nil {
		return "kubectl akash-net repair " + Typed(x.Name())
	}
	return x.Command
}

// Same reports whether y is the same problem, found again.
func (x Problem) Same(y Problem) bool {
	return x.Name() == y.Name() && x.Namespace == y.Namespace && x.Lease == y.Lease
}

// ByName returns the problem as one that repair fixes only when the user names it.
func (x Problem) ByName() Problem {
	x.Manual, x.Named, x.Command = true, true, "kubectl akash-net repair "+Typed(x.Name())
	return x
}

// Typed returns a name as typed in a shell, quoted if the shell would expand or split it.
func Typed(name string) string {
	if strings.ContainsAny(name, "* ") {
		return "'" + name + "'"
	}
	return name
}

// ByDefinition returns the problem as one that repair fixes by applying a definition of the group from a file.
func (x Problem) ByDefinition(g lease.Group) Problem {
	x.Fix = &Fix{Do: Heal, Group: g}
	x.Plan, x.Manual, x.Command = "apply its definition again", true, "kubectl akash-net repair -f FILE"
	return x
}

// ObjectRef identifies an object and the version of it that was read.
type ObjectRef struct {
	Kind, Namespace, Name string
	UID, ResourceVersion  string
}

// OwnObject is an object of a lease, with the facts that the search for problems needs.
type OwnObject struct {
	ObjectRef
	Ownership
	Since time.Time
	// Written is when this program last wrote the object, by the API server's clock. It is zero if it never did.
	Written time.Time
	// WrongWallet says which wallet of a ProviderHost or a ProviderLeasedIP does not decode.
	WrongWallet string
	// Definition is the hash of the definition that the object was rendered from, if the object still has it.
	Definition string
	// Kept is true for an object of this program that Akash's provider declares. It stays when its lease is released.
	Kept bool
	// ByProvider is true for a route or a Service whose ProviderHost or ProviderLeasedIP Akash's provider declares for the same
	// lease: Akash's operators write over it as often as they start.
	ByProvider bool
	// ForOperator is true for a ProviderHost whose route Akash's hostname operator writes.
	ForOperator bool
	// Uses are the hosts or the addresses that the object serves.
	Uses []Use
	// ByOperators is true for a route or a Service in the form that Akash's operators write, for which a ProviderHost
	// or a ProviderLeasedIP exists.
	ByOperators bool
	// Port is the leased port of a Service or a ProviderLeasedIP, SharingKey its IP endpoint.
	Port       PortWant
	SharingKey string
	// Routing is what a route takes, nil for any other object.
	Routing *Routing
	// Reports are the reports of routers in its status.
	Reports []Report
	// OldVersions is true if managed fields have another API version than the object.
	OldVersions bool
	// Deleting is true for an object with a deletion timestamp. Finalizers delay its deletion.
	Deleting   bool
	Finalizers []string
}

// Of reports whether the object belongs to the deployment group.
func (o *OwnObject) Of(g lease.Group) bool { return o.HasLease && o.Lease.Group() == g }

// String returns kind namespace/name.
func (o ObjectRef) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// DeclaredAs returns the kind and the name of the ProviderHost or ProviderLeasedIP that would declare what the object serves.
func (o *OwnObject) DeclaredAs(host string) ObjectRef {
	if o.Kind == "service" {
		return ObjectRef{Kind: kinds.ProviderLeasedIP.Singular, Name: lease.LeasedIPName(o.SharingKey, o.Port.Protocol, o.Port.ExternalPort)}
	}
	return ObjectRef{Kind: kinds.ProviderHost.Singular, Name: host}
}

// Declares reports whether a ProviderHost or a ProviderLeasedIP names the backend.
func (o *OwnObject) Declares(service string, port uint16) bool {
	return o.Port.Service == service && o.Port.Port == port ||
		slices.ContainsFunc(o.Uses, func(u Use) bool { return u.Service == service && u.Port == port })
}

// StandsForPort reports whether the object is a ProviderLeasedIP whose lease holds its port of the claimed address or
// endpoint. For an endpoint a Service counts too, because no Service of an endpoint names an address.
func (o *OwnObject) StandsForPort(c *Claim) bool {
	part := c.Part(o.Port.Key())
	kind := o.Kind == kinds.ProviderLeasedIP.Singular || o.Kind == "service" && c.Kind == Endpoint
	return kind && c.Kind.HasPorts() && c.SharingKey == o.SharingKey && part != nil && o.Of(part.Lease.Group())
}

// Way says how repair fixes a problem.
type Way string

// The ways. A deployment group is healed, or its routes move to the configured kind; parts of claims are given up, or their marks of
// crashed commands end, or they follow what Akash's provider has declared, or a lease claims what it serves; the other ways write or
// delete single objects, or the configuration.
const (
	// Heal applies the definition of Group again: Kept is true if that is the one that the ledger keeps; else somebody has to give one.
	// Reclaim takes back what kubectl users have changed of the group's objects. Prune also deletes what was applied for the group and is
	// not in the definition.
	Heal Way = "Heal"
	// MoveRoutes migrates the routes of Group to the configured kind.
	MoveRoutes Way = "MoveRoutes"
	// GiveUp gives up Parts, after it has deleted Objects, which rest on them; with Namespace because that of their lease is gone. It does
	// so for Each.
	GiveUp Way = "GiveUp"
	// EndRun removes the mark of a crashed run from Parts.
	EndRun Way = "EndRun"
	// Follow hands Parts to the lease to which Akash's provider has moved them. Objects are the provider's that say so, one for each part.
	Follow Way = "Follow"
	// Take claims Hold, which Objects serve already.
	Take Way = "Take"
	// Release releases a claim for all who hold a part of it, with the objects that serve it.
	Release Way = "Release"
	// Forget drops a kept definition, unless the lease of Group holds something.
	Forget Way = "Forget"
	// Drop deletes an object of the ledger as it was read: the reservation of an order, or what cannot be read.
	Drop Way = "Drop"
	// EndAnnouncement ends a command that has crashed and left nothing else; Of are the deployment groups that it named. OpenLedger opens
	// the ledger that a crashed uninstall with the nonce Value has closed.
	EndAnnouncement Way = "EndAnnouncement"
	OpenLedger      Way = "OpenLedger"
	// DeleteObjects deletes Objects, which this program wrote, in this order; with Unserved one of Akash's that nothing serves. Reject
	// deletes routes or Services, whoever wrote them, unless they have changed, or the object that declares what they serve (Undeclared).
	// Parts are only reserved from then on.
	DeleteObjects Way = "DeleteObjects"
	Reject        Way = "Reject"
	// RewriteRoute points a route at the backend of Part, ClearReports removes the reports of routers that are gone from its status.
	RewriteRoute Way = "RewriteRoute"
	ClearReports Way = "ClearReports"
	// WriteRecords writes the DNS records of the host Value anew; Part is what the lease holds of it.
	WriteRecords Way = "WriteRecords"
	// SetSharingKey makes a Service ask for its address with the sharing key Value, AskAddress for Address. It drops its grant of another
	// one, as DropGrant does, so that MetalLB grants anew.
	SetSharingKey Way = "SetSharingKey"
	AskAddress    Way = "AskAddress"
	DropGrant     Way = "DropGrant"
	// MakePool makes the pool of Address: the configured one or, with Alone, one of this address only. NarrowPool takes Ranges out of a
	// pool of ours; Exclude also excludes them from ip.ranges, with Unused none of them may be in use.
	MakePool   Way = "MakePool"
	NarrowPool Way = "NarrowPool"
	// RestoreMarks writes the labels and annotations again by which this program knows an object, DropManagedFields first drops the managed
	// fields of API versions that are gone; Value is the hash of its definition. OwnParts makes the field managers of a claim's leases own
	// their parts again.
	RestoreMarks      Way = "RestoreMarks"
	DropManagedFields Way = "DropManagedFields"
	OwnParts          Way = "OwnParts"
)

// Fix is how repair fixes a problem, with what its writes are pinned to. Way says which fields mean something.
type Fix struct {
	Do    Way
	Group lease.Group
	Parts ClaimParts
	// Objects are as they were read.
	Objects []ObjectRef
	Of      []lease.Group
	Each    []*Fix
	Hold    Hold
	Part    Part
	Address netip.Addr
	Ranges  []config.Range

	Undeclared ObjectRef

	Namespace, Value                                       string
	Kept, Reclaim, Prune, Unserved, Alone, Exclude, Unused bool
}

// Is reports whether a problem is fixed in a way. One that somebody else has to fix has no way.
func (f *Fix) Is(way Way) bool { return f != nil && f.Do == way }

// Object returns the object that is written.
func (f *Fix) Object() ObjectRef { return f.Objects[0] }

// Groups returns the deployment groups that the fix writes for, as far as it names them: it also writes for the leases that own its objects.
func (f *Fix) Groups() []lease.Group {
	groups := append([]lease.Group{f.Group, f.Parts.Group}, f.Of...)
	if f.Do == Release || f.Do == Follow || f.Do == OwnParts {
		groups = append(groups, f.Parts.Claim.Writers()...)
	}
	for _, each := range f.Each {
		groups = append(groups, each.Groups()...)
	}
	return groups
}

// ClaimParts are parts that a deployment group holds of a claim, as they were read.
type ClaimParts struct {
	Claim *Claim
	Group lease.Group
	Keys  []string
}

// Has returns true for one of the parts.
func (c ClaimParts) Has(p Part) bool { return slices.Contains(c.Keys, p.Key) }
