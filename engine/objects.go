package engine

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Objects are the objects of the cluster, as they were read at one moment, and what they mean for claims. Nobody changes
// them.
type Objects interface {
	// Closed reports whether an uninstall has closed the ledger.
	Closed() bool
	// Finding returns who has a part. claimed reports whether a claim with a name exists.
	Finding(j state.Judge, h state.Hold, p state.Part, c *state.Claim, claimed func(name string) bool) state.Finding
	// Below returns the uses of the hosts one label below a wildcard, by host.
	Below(wildcard string) map[string][]state.Use
	// Live returns the leases of a deployment group whose objects serve a claim.
	Live(c *state.Claim, g lease.Group) []lease.ID
	// Serves reports whether objects serve a claim for a deployment group.
	Serves(c *state.Claim, g lease.Group) bool
	// Unserved reports whether nothing serves a part that the deployment group of the lease holds, and no other lease of
	// that group has it.
	Unserved(id lease.ID, c *state.Claim, p state.Part) bool
	// Addresses indexes claims on addresses and the uses of addresses by Services.
	Addresses(claims []*state.Claim) *state.Addresses
	// Written returns the objects that this program wrote for a deployment group and that serve what is chosen, in the order
	// in which they are deleted.
	Written(g lease.Group, chosen Choice) []Object
	// StandsFor reports whether an object serves a part of a claim, or accompanies objects that do.
	StandsFor(o Object, c *state.Claim, p state.Part) bool
	// ServedBy returns the objects of a claim's owner that serve or declare a part of it beside those that this program wrote
	// for its holder. declared is true if Akash's provider declares the part.
	ServedBy(c *state.Claim, p state.Part) (by []Object, declared bool)
	// DeclaredIn returns what Akash's provider declares for the lease of a namespace.
	DeclaredIn(namespace string, g lease.Group) []Object
	// LiveOf returns the leases of a deployment group that have objects or a kept definition; d may be nil.
	LiveOf(g lease.Group, d *kept.Definition) []lease.ID
	// At returns an object, nil if there is none. Namespace reports whether a namespace exists, and is not being deleted.
	At(k Key) *unstructured.Unstructured
	Namespace(name string) (alive, exists bool)
	// Definition returns the definition that the ledger keeps for a deployment group; known is false if it was not read.
	Definition(g lease.Group) (d *kept.Definition, known bool)
	// Under returns the names of the claims on which the objects of a deployment group depend.
	Under(g lease.Group) []string
	// Unfit returns why what a lease wants cannot be: a kind that the cluster does not serve, or what Akash's operators would stop at.
	Unfit(def *lease.Definition, r state.Request, of []kinds.Kind) error
	// Theirs reports whether one of Akash's operators makes an object; live is what it has made, unlike says how that differs.
	Theirs(id lease.ID, def *lease.Definition, o render.Object) (theirs bool, live *unstructured.Unstructured, unlike string)
	// Hostnames and LeasesIPs report whether Akash's operators run. Moves reports whether one of them deletes a route itself when its
	// ProviderHost changes hands.
	Hostnames() bool
	LeasesIPs() bool
	Moves(o Object) bool
	// Pools returns the pools that addresses need, with their advertisements.
	Pools(addresses render.Addresses) ([]render.Object, error)
	// Kept returns a rendered object with the annotations that it keeps from the one that is there.
	Kept(o render.Object, live *unstructured.Unstructured, g lease.Group, manager string, now time.Time) render.Object
	// Grounds returns the parts of claims that an object serves; claims are those of its deployment group.
	Grounds(o Object, claims []*state.Claim) []Ground
	// Entitled reports whether the deployment group of an object holds what that serves. Lost returns the claims under it that the group
	// does not hold.
	Entitled(o Object, claim func(name string) *state.Claim, claims []*state.Claim) bool
	Lost(o Object, claim func(name string) *state.Claim, claims []*state.Claim) []string
	// Serving returns the objects that this program wrote and that serve a claim. Stray reports whether one of another deployment
	// serves what a group holds, and nothing that its own holds.
	Serving(name string) []Object
	Stray(o Object, g lease.Group, parts []state.Part, c *state.Claim, claim func(name string) *state.Claim) bool
	// Ours reports whether this program wrote an object, Tenant returns the lease of a namespace.
	Ours(live *unstructured.Unstructured) bool
	Tenant(namespace string) lease.ID
	// NamesAnother reports whether the ProviderLeasedIP that is there names another service than a rendered one. FormerServices returns
	// the Services that Akash's operator made for the same port otherwise.
	NamesAnother(g lease.Group, o render.Object) bool
	FormerServices(g lease.Group, o render.Object) []Object
	// Reports reports whether a controller reports on routes of a kind.
	Reports(kind kinds.Kind, gateway *unstructured.Unstructured) bool
	// RecordHolder returns the other deployment group that writes a host's records, RecordsOf the records of a host. ToReplace returns
	// those that have to be gone before others are written, and the names of those that are made again.
	RecordHolder(g lease.Group, c *state.Claim, host string) string
	RecordsOf(host string) []Object
	ToReplace(g lease.Group, host string, wanted []render.Object) (old []Replaced, again map[string]bool)
}

// Ground is a part of a claim that an object serves.
type Ground struct{ Name, Key string }
