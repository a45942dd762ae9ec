package state

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
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
	// Mend is how repair fixes it; nil if somebody else has to.
	Mend Mend `json:"-"`
}

// Name returns the name of the problem for repair, for example "BlockedHost/bad.example.com".
func (x Problem) Name() string { return x.Problem + "/" + x.Thing }

// Repair returns the command that fixes the problem: Command, or a repair of this problem alone; empty if somebody else has to.
func (x Problem) Repair() string {
	if x.Command == "" && x.Mend != nil {
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
	x.Mend = ApplyDefinition{Group: g}
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

// DeclaredAs returns the name of the ProviderHost or ProviderLeasedIP that would declare what the object serves.
func (o *OwnObject) DeclaredAs(host string) string {
	if o.Kind == "service" {
		return lease.LeasedIPName(o.SharingKey, o.Port.Protocol, o.Port.ExternalPort)
	}
	return host
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
