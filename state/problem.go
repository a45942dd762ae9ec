package state

import (
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
	TerminatingClaim   = "TerminatingClaim"
	AddressSquatted    = "AddressSquatted"
	MissingRoute       = "MissingRoute"
	StrayDefinition    = "StrayDefinition"

	UnreadableDefinition = "UnreadableDefinition"
)

// ProblemKinds are all kinds of problem.
var ProblemKinds = []string{
	CrashedRun, NamespaceGone, RouteWithoutClaim, NotServed, TwoRoutes, StrayRoute,
	RouteDiffers, MixedDefinitions, HoldEnded, BlockedHost, PoolOverlap, PoolDiffers, PoolExhausted,
	AddressWithoutPool, UnclaimedAddress, SharingKeyMismatch, GrantDiffers, OldManagedFields, LostMarks,
	UnreadableClaim, StaleReport, StrayRecord, RecordDiffers, MigrationUnderWay, TerminatingClaim,
	AddressSquatted, NotDeclared, NothingLeft, AsksForNothing, MissingRoute, StrayDefinition, UnreadableDefinition,
}

// Problem is one thing that is not as it should be, and what mends it.
type Problem struct {
	Problem string `json:"problem"`
	// Thing is the host, the address, or the object that it is about.
	Thing     string      `json:"thing"`
	Namespace string      `json:"namespace,omitempty"`
	Lease     string      `json:"lease,omitempty"`
	Since     metav1.Time `json:"since,omitzero"`
	Message   string      `json:"message"`
	// Plan is what mends it, one line. Manual is true where repair waits for somebody's word: Command
	// gives it, or where it is not repair's to mend opens what is.
	Plan    string `json:"plan"`
	Manual  bool   `json:"manual,omitempty"`
	Command string `json:"command,omitempty"`
	// Named is true for a manual problem that repair mends when it is named, Sound where nothing is
	// broken: it is told, and does not count as left.
	Named bool `json:"-"`
	Sound bool `json:"-"`
	// Mend is how repair does it; nil where somebody else has to.
	Mend Mend `json:"-"`
}

// Name is the problem as it is named to repair: "BlockedHost/bad.example.com".
func (x Problem) Name() string { return x.Problem + "/" + x.Thing }

// Same is true for a problem that another look has found again.
func (x Problem) Same(y Problem) bool {
	return x.Name() == y.Name() && x.Namespace == y.Namespace && x.Lease == y.Lease
}

// ByName makes a problem wait for being named.
func (x Problem) ByName() Problem {
	x.Manual, x.Named, x.Command = true, true, "kubectl akash-net repair "+Typed(x.Name())
	return x
}

// Typed is a name as it is typed in a shell: the asterisk of a wildcard stands for no file.
func Typed(name string) string {
	if strings.ContainsAny(name, "* ") {
		return "'" + name + "'"
	}
	return name
}

// ByDefinition makes a problem of a deployment group wait for its definition.
func (x Problem) ByDefinition(g lease.Group) Problem {
	x.Mend = ApplyDefinition{Group: g}
	x.Plan, x.Manual, x.Command = "apply its definition again", true, "kubectl akash-net repair -f FILE"
	return x
}

// ObjectRef names an object as it was read.
type ObjectRef struct {
	Kind, Namespace, Name string
	UID, ResourceVersion  string
}

// OwnObject is an object of a lease as the search for problems needs it.
type OwnObject struct {
	ObjectRef
	Ownership
	Since time.Time
	// Written is when this program last wrote it, by the API server's clock; zero where it never did.
	Written time.Time
	// Definition is the hash of the definition it was rendered from, as far as it still carries it.
	Definition string
	// Kept is true for an object of ours that Akash's provider declares: it stays when its lease is released.
	Kept bool
	// ForOperator is true for a ProviderHost whose route is left to Akash's hostname operator.
	ForOperator bool
	// Uses are the hosts or the addresses that it serves.
	Uses []Use
	// ByOperators is true for a route or a Service of the form that Akash's operators read: a ProviderHost
	// or a ProviderLeasedIP stands for it.
	ByOperators bool
	// Port is the leased port that a Service or a ProviderLeasedIP stands for, SharingKey its IP endpoint.
	Port       PortWant
	SharingKey string
	// Reports are what routers say of it in its status.
	Reports []Report
	// OldVersions is true when managed fields are of another API version than the object.
	OldVersions bool
}

// Of is true for an object of a deployment group.
func (o *OwnObject) Of(g lease.Group) bool { return o.HasLease && o.Lease.Group() == g }

// String is kind namespace/name.
func (o ObjectRef) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// DeclaredAs is the name of the ProviderHost or the ProviderLeasedIP that would stand for what an object serves.
func (o *OwnObject) DeclaredAs(host string) string {
	if o.Kind == "service" {
		return lease.LeasedIPName(o.SharingKey, o.Port.Protocol, o.Port.ExternalPort)
	}
	return host
}

// StandsForPort is true for a ProviderLeasedIP whose lease has its port of the claimed address or endpoint. Of
// an endpoint no Service names an address: there its Services stand for the port too.
func (o *OwnObject) StandsForPort(c *Claim) bool {
	part := c.Part(PortKey(o.Port.Protocol, o.Port.ExternalPort))
	kind := o.Kind == kinds.ProviderLeasedIP.Singular || o.Kind == "service" && c.Kind == Endpoint
	return kind && c.Kind.HasPorts() && c.SharingKey == o.SharingKey && part != nil && o.Of(part.Lease.Group())
}
