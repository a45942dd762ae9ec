package engine

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// facts are what was seen of the work on one lease.
type facts struct {
	// mark is what the entries have that it writes.
	mark  string
	taken map[string]Taken
	// picks are the addresses that the lease is to take, passed those that turned out not to be for it.
	picks  map[slot]netip.Addr
	passed map[netip.Addr]bool
	// unpooled are the addresses whose pools were removed.
	unpooled map[netip.Addr]bool
	// left is when enough addresses were seen to be left for the orders that have reserved some.
	left Stamp
	// failed is the error of a request that ends the work on the lease. refused are those of writes without which it goes
	// on, by claim: notes, and what was to be given back.
	failed  error
	refused map[string]error
	// objects are those that were read again or deleted since everything was read.
	objects map[types.UID]seenObject
	// done says what the lease has done with objects, made are those that it has created, as the answer shows them; wrote is when it
	// has last written one. unclear are those whose apply had no answer.
	done    map[Key]done
	made    map[Key]*unstructured.Unstructured
	wrote   Stamp
	unclear map[Key]Desired
	// fits are the objects that were found to be as wanted, due those that are not, allowed those whose dry run was not refused.
	fits, due, allowed map[Key]fit
	// refusals are the answers that refuse an object, checked are those whose dry run was not refused, as they were sent, unheard how many
	// dry runs had no answer.
	refusals map[Key]refusal
	checked  map[Key]map[string]any
	unheard  map[Key]int
	// ways are the old routes that were deleted for new ones, by these. stays are those whose successors were not in time, served
	// the successors that were seen to serve. told names what a person was told once.
	ways   map[Key]Object
	stays  map[Key]stay
	served map[Key]bool
	told   map[string]bool
	// began is when the lease has begun to wait for what it has written, by the steady clock: all waits share its wait time.
	began time.Time
	// targets are where its hosts are reached, running is what it runs; reserved is true once its order's reservation is its own,
	// disowned once Akash's provider manages nothing of that any more.
	targets            seenTargets
	running            seenRunning
	reserved, disowned bool
	// touched are objects of others that were written again as they are.
	touched map[types.UID]bool
	// wanted is what was rendered for the input wantedOf.
	wanted   *wanted
	wantedOf string
	// kept is the definition that the ledger keeps for the deployment group, runs what that runs, each with when it was read.
	kept seenDefinition
	runs seenRuns
	// announced is what was seen of the announcements of other commands for the deployment group.
	announced seenAnnouncements
	// unreserved are the leases whose reservations were given up.
	unreserved map[lease.ID]bool
	// yields is true if the lease waits for no other lease any more, because these wait for it.
	yields bool
	// outcome is how the work on the lease has ended, nil before; ended is when that was.
	outcome *Outcome
	ended   Stamp
}

// seenTargets is where hosts are reached, as it was read.
type seenTargets struct {
	published render.Published
	sent      Stamp
}

// slot is a family of an IP endpoint for which a lease needs an address.
type slot struct {
	Endpoint string
	Family   config.Family
}
