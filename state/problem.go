package state

import (
	"net/netip"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
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
	// Mend is how repair does it.
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
	x.Mend.Group, x.Mend.Definition = g, true
	x.Plan, x.Manual, x.Command = "apply its definition again", true, "kubectl akash-net repair -f FILE"
	return x
}

// Mend is the work that mends a problem. At most one of its fields says what to do; the others say
// with what.
type Mend struct {
	// Definition is true where applying the definition of Group again mends it, Kept where the one that the ledger
	// keeps does. With Prune what was applied and that one does not name goes.
	Definition, Kept, Prune bool
	// Forget is a kept definition that goes, unless it has changed or the lease of Group holds something.
	Forget *ObjectRef
	// Unmark ends the run of a group on a claim, Leave gives up parts of it; Keys are the parts.
	Unmark, Leave *Claim
	Group         lease.Group
	Keys          []string
	// Groups are those of a run that has crashed and left nothing: its announcement goes.
	Groups []lease.Group
	// Release is a claim that its holders give up with all that serves it.
	Release *Claim
	// Discard is an object of the ledger that goes, whatever it may be.
	Discard *Claim
	// Unreserve is the reservation of an order that goes, as it was read.
	Unreserve *ObjectRef
	// Delete are objects that go, pinned to what was read; they may go with Leave.
	Delete []ObjectRef
	// Reject are routes of whoever that go, unless they have changed.
	Reject []ObjectRef
	// Undeclared is the name of the ProviderHost, or of a Service the ProviderLeasedIP, that would stand for what
	// Reject serves: as long as it is as it was read nobody has asked for it.
	Undeclared string
	// Reserve is a claim of which the Keys of Group are a mere reservation once Delete or Reject are gone.
	Reserve *Claim
	// Follow is a claim of which the Keys of Group go to the lease of the same owner that Declared name, which
	// are objects of Akash's provider, one for each key.
	Follow   *Claim
	Declared []ObjectRef
	// Namespace is that of a lease whose parts Leave gives up because it is gone; empty where they go for
	// another reason.
	Namespace string
	// Unserved is true where Delete is one of Akash's objects that nothing serves.
	Unserved bool
	// Take is what a lease is to hold, because it is served already by the objects of Serving.
	Take    *Hold
	Serving []ObjectRef
	// Rewrite is a route that is to lead where the claim says.
	Rewrite *ObjectRef
	// Part is what a lease holds of the host of Rewrite or Record.
	Part Part
	// Record is the host whose DNS records are to say what they should.
	Record string
	// Reshare is a Service that is to ask with SharingKey.
	Reshare    *ObjectRef
	SharingKey string
	// Reask is a Service that is to ask for Address, Regrant one that is to be granted anew.
	Reask, Regrant *ObjectRef
	// Pool is true where a pool is to be made for Address; with Alone it is a pool of that address only.
	Pool, Alone bool
	Address     netip.Addr
	// Narrow is a pool that gives up the addresses of Ranges; with Exclude the configuration excludes
	// them too, with Unused none of them may be in use.
	Narrow          *ObjectRef
	Ranges          []config.Range
	Exclude, Unused bool
	// MoveRoutes is true if the routes of Group are to move to the configured kind.
	MoveRoutes bool
	// Clear is a route in whose status stale reports stand.
	Clear *ObjectRef
	// Mark is an object of ours that is to have its marks again, with Hash as that of its definition; Own is
	// a claim of which the managers of its leases are to own their parts again.
	Mark *ObjectRef
	Hash string
	Own  *Claim
	// DropManagedFields is an object that has managed fields of a version that is gone, which are dropped.
	DropManagedFields *ObjectRef
	// Also are mends of other problems that mend this one.
	Also []Mend
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
