package state

import (
	"net/netip"
	"slices"
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

// Mend is a way to repair a problem. Each way is a type of its own, with what its writes are pinned to.
type Mend interface {
	// WritesFor returns the deployment groups that the repair writes for, as far as it names them, and the objects that it
	// deletes or decides by: it also writes for the leases that own those.
	WritesFor() (groups []lease.Group, objects []ObjectRef)
}

// ofProblem is part of each repair that names no group but that of the problem's lease.
type ofProblem struct{}

// WritesFor implements Mend.
func (ofProblem) WritesFor() (groups []lease.Group, objects []ObjectRef) { return nil, nil }

// ClaimParts are parts that a deployment group holds of a claim, as they were read.
type ClaimParts struct {
	Claim *Claim
	Group lease.Group
	Keys  []string
}

// Has returns true for one of the parts.
func (c ClaimParts) Has(p Part) bool { return slices.Contains(c.Keys, p.Key) }

// ApplyDefinition applies the definition of a deployment group again.
type ApplyDefinition struct {
	Group lease.Group
	// Kept is true if the definition that the ledger keeps repairs the problem; else somebody has to give one.
	Kept bool
	// Reclaim takes back what kubectl users have changed of the group's objects. Prune also deletes what was applied for the group and is not in the definition.
	Reclaim, Prune bool
}

// WritesFor implements Mend.
func (m ApplyDefinition) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Group}, nil
}

// MoveRoutes migrates the routes of a deployment group to the configured kind.
type MoveRoutes struct {
	Group lease.Group
}

// WritesFor implements Mend.
func (m MoveRoutes) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Group}, nil
}

// ForgetDefinition deletes a kept definition, unless it has changed or the lease of Group holds something.
type ForgetDefinition struct {
	Definition ObjectRef
	Group      lease.Group
}

// WritesFor implements Mend.
func (m ForgetDefinition) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Group}, nil
}

// EndRun removes the mark of a crashed run from parts of a claim.
type EndRun struct {
	Parts ClaimParts
}

// WritesFor implements Mend.
func (m EndRun) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Parts.Group}, nil
}

// LeaveParts gives up parts of a claim, after it has deleted the objects that rest on them.
type LeaveParts struct {
	Parts  ClaimParts
	Delete []ObjectRef
	// Namespace is set if the parts are given up because this namespace of their lease is gone.
	Namespace string
}

// WritesFor implements Mend.
func (m LeaveParts) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Parts.Group}, m.Delete
}

// FollowMove hands parts of a claim to the lease to which Akash's provider has moved them. Declared are the provider's
// objects that say so, one for each part.
type FollowMove struct {
	Parts    ClaimParts
	Declared []ObjectRef
}

// WritesFor implements Mend.
func (m FollowMove) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return append(m.Parts.Claim.Writers(), m.Parts.Group), m.Declared
}

// DropAnnouncement ends a command that has crashed and left nothing else; Of are the deployment groups that it named.
type DropAnnouncement struct {
	Of []lease.Group
}

// WritesFor implements Mend.
func (m DropAnnouncement) WritesFor() (groups []lease.Group, objects []ObjectRef) { return m.Of, nil }

// OpenLedger opens the ledger that a crashed uninstall has closed; Nonce is that of the uninstall.
type OpenLedger struct {
	ofProblem
	Nonce string
}

// ReleaseClaim releases a claim for all who hold a part of it, with the objects that serve it.
type ReleaseClaim struct {
	Claim *Claim
}

// WritesFor implements Mend.
func (m ReleaseClaim) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return m.Claim.Writers(), nil
}

// DiscardClaim deletes an object of the ledger that cannot be read.
type DiscardClaim struct {
	ofProblem
	Claim *Claim
}

// DropFromLedger deletes an object of the ledger as it was read: the reservation of an order, or an announcement that cannot
// be read.
type DropFromLedger struct {
	ofProblem
	Object ObjectRef
}

// DeleteObjects deletes objects that this program wrote, in this order.
type DeleteObjects struct {
	Delete []ObjectRef
	// Unserved is true for one of Akash's objects that nothing serves.
	Unserved bool
	// Reserve are the parts that are only reserved once the objects are gone; without a claim there are none.
	Reserve ClaimParts
}

// WritesFor implements Mend.
func (m DeleteObjects) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Reserve.Group}, m.Delete
}

// RejectObjects deletes routes or Services, whoever wrote them, unless they have changed.
type RejectObjects struct {
	Reject []ObjectRef
	Group  lease.Group
	// Undeclared is the name of the ProviderHost, or for a Service of the ProviderLeasedIP, that declares what the objects
	// serve. It must not have changed; empty if nothing declares it.
	Undeclared string
	// Reserve are the parts that are only reserved once the objects are gone; without a claim there are none.
	Reserve ClaimParts
}

// WritesFor implements Mend.
func (m RejectObjects) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Group}, m.Reject
}

// TakeServed claims what a lease serves already; Serving are the objects that serve it.
type TakeServed struct {
	ofProblem
	Hold    Hold
	Serving []ObjectRef
}

// RewriteRoute points a route at the backend of its claim's part.
type RewriteRoute struct {
	ofProblem
	Route ObjectRef
	Part  Part
}

// WriteRecords writes the DNS records of a host anew; Part is what the lease holds of the host.
type WriteRecords struct {
	ofProblem
	Host string
	Part Part
}

// SetSharingKey makes a Service ask for its address with the sharing key of the claim.
type SetSharingKey struct {
	ofProblem
	Service    ObjectRef
	SharingKey string
}

// AskAddress makes a Service ask for an address, and drops its grant of another one.
type AskAddress struct {
	ofProblem
	Service ObjectRef
	Address netip.Addr
}

// DropGrant removes the granted addresses from the status of a Service, so that MetalLB grants anew.
type DropGrant struct {
	ofProblem
	Service ObjectRef
}

// MakePool makes the pool of an address: the configured one or, with Alone, one of this address only.
type MakePool struct {
	ofProblem
	Address netip.Addr
	Alone   bool
}

// NarrowPool takes addresses out of a pool of ours. Exclude also excludes them from ip.ranges; with Unused none of them may
// be in use.
type NarrowPool struct {
	ofProblem
	Pool            ObjectRef
	Ranges          []config.Range
	Exclude, Unused bool
}

// FreeAddresses gives up what is not live in an exhausted pool.
type FreeAddresses struct{ Leave []LeaveParts }

// WritesFor implements Mend.
func (m FreeAddresses) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	for _, leave := range m.Leave {
		groups, objects = append(groups, leave.Parts.Group), append(objects, leave.Delete...)
	}
	return groups, objects
}

// ClearReports removes the reports of routers that are gone from the status of a route.
type ClearReports struct {
	ofProblem
	Route ObjectRef
}

// RestoreMarks writes the labels and annotations again by which this program knows an object. Hash is that of its definition.
type RestoreMarks struct {
	Object ObjectRef
	Group  lease.Group
	Hash   string
}

// WritesFor implements Mend.
func (m RestoreMarks) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return []lease.Group{m.Group}, nil
}

// OwnParts makes the field managers of a claim's leases own their parts again.
type OwnParts struct {
	Claim *Claim
}

// WritesFor implements Mend.
func (m OwnParts) WritesFor() (groups []lease.Group, objects []ObjectRef) {
	return m.Claim.Writers(), nil
}

// DropManagedFields drops the managed fields of API versions that are gone. An object that loses this program's marks by it
// gets them again, with Hash as that of its definition.
type DropManagedFields struct {
	ofProblem
	Object ObjectRef
	Hash   string
}
