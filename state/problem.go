package state

import (
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// SubjectProblems is what is wrong in the book. It is shown when it is asked for.
const SubjectProblems Subject = "problems"

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
	PoolExhausted      = "PoolExhausted"
	AddressWithoutPool = "AddressWithoutPool"
	UnclaimedAddress   = "UnclaimedAddress"
	SharingKeyMismatch = "SharingKeyMismatch"
	GrantDiffers       = "GrantDiffers"
	OldManagedFields   = "OldManagedFields"
	UnreadableClaim    = "UnreadableClaim"
	StaleReport        = "StaleReport"
	StrayRecord        = "StrayRecord"
	RecordDiffers      = "RecordDiffers"
	MigrationUnderWay  = "MigrationUnderWay"
)

// Problem is one thing that is not as it should be, and what mends it.
type Problem struct {
	Problem string `json:"problem"`
	// Thing is the host, the address, or the object that it is about.
	Thing     string      `json:"thing"`
	Namespace string      `json:"namespace,omitempty"`
	Lease     string      `json:"lease,omitempty"`
	Since     metav1.Time `json:"since,omitzero"`
	Message   string      `json:"message"`
	// Plan is what repair does, one line. Manual is true where only people can decide.
	Plan   string `json:"plan"`
	Manual bool   `json:"manual,omitempty"`
	// Mend is how repair does it.
	Mend Mend `json:"-"`
}

// Mend is the work that mends a problem. At most one of its fields is set.
type Mend struct {
	// Unmark ends the run of a group on a claim, Leave gives up parts of it; Keys are the parts.
	Unmark, Leave *Claim
	Group         lease.Group
	Keys          []string
	// Delete are objects that go, pinned to what was read.
	Delete []ObjectRef
	// Take is what a lease is to hold, because it is served already.
	Take *Hold
	// Rewrite is a route that is to lead where the claim says.
	Rewrite *ObjectRef
	// Part is what a lease holds of the host of Rewrite or Record.
	Part Part
	// Record is the host whose DNS records are to say what they should.
	Record string
	// Reshare is a Service that is to ask with SharingKey.
	Reshare    *ObjectRef
	SharingKey string
	// Pool is the address for which the pool is to be made.
	Pool netip.Addr
	// Clear is a route in whose status stale reports stand.
	Clear *ObjectRef
	// Migrate is an object whose managed fields are of a version that is gone.
	Migrate *ObjectRef
}

// ObjectRef names an object as it was read.
type ObjectRef struct {
	Kind, Namespace, Name string
	UID, ResourceVersion  string
}

// OwnObject is an object of a lease as the search for problems needs it.
type OwnObject struct {
	ObjectRef
	// Lease is the lease that the labels name; HasLease is false where they name none.
	Lease    lease.ID
	HasLease bool
	Since    time.Time
	// Definition is the hash of the definition it was rendered from; empty for an object that this
	// program did not write.
	Definition string
	// ForOperator is true for a ProviderHost whose route is left to Akash's hostname operator.
	ForOperator bool
	// Uses are the hosts or the addresses that it serves.
	Uses []Use
	// Port is the leased port that a Service or a ProviderLeasedIP stands for, SharingKey the IP
	// endpoint of the latter.
	Port       PortWant
	SharingKey string
	// Reports are what routers say of it in its status.
	Reports []Report
	// OldVersions is true when managed fields are of another API version than the object.
	OldVersions bool
}

func (o *OwnObject) of(g lease.Group) bool { return o.HasLease && o.Lease.Group() == g }

// String is kind namespace/name.
func (o ObjectRef) String() string { return o.Kind + " " + o.Namespace + "/" + o.Name }

// ProblemFacts are what problems are computed from.
type ProblemFacts struct {
	*Circumstances
	Contents   Contents
	Objects    []OwnObject
	Records    []OwnRecord
	Namespaces map[string]bool
	// CrashedAfter is how long a claim with a run's mark may stand still.
	CrashedAfter time.Duration
}
