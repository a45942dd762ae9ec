package state

import (
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

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
