// Package objects writes the objects of a lease, as far as its claims entitle it to them, and deletes those that it no longer
// defines; a claim is given up when nothing rests on it any more.
package objects

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/routes"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Objects is what the work on one lease writes for what it has claimed, and what it deletes.
type Objects struct {
	*claims.Claims
	// Kinds are those of the objects that are written, or that somebody else is to write.
	Kinds []kinds.Kind
	Pools *pools.Pools
	// Operated is what Akash's operators do, definition what the ledger keeps, successors the routes that replace others.
	Operated       *operators.Operated
	KeptDefinition *claims.KeptDefinition
	Successors     *routes.Successors
	// Running is asked about objects of what the lease runs; nil where nothing of that is written.
	Running runningObjects
	// inPlace is true once the lease's namespace is there.
	inPlace bool
	// Closed is true when nothing is left to undo.
	Closed bool
	// followed is true once the run has removed what other deployments served of its things. Routeless are
	// parts, by the name of their claim, of which a transfer knows no route: there the former holder's stay.
	followed  bool
	Routeless map[string][]string
	// again are the objects of a lease that comes after others, as they were read then.
	again map[string]*unstructured.Unstructured
	// grants are the addresses that MetalLB chose, in pool mode.
	grants   []string
	granting sync.Mutex
	// yielding is held while a route goes for a new one.
	yielding sync.Mutex
	// keptFor are objects of the lease that stay because they serve for another.
	keptFor map[types.UID]bool
	// kept are the things that the run was to give up and that Akash's provider declares.
	KeptThings []report.KeptThing
}

// New begins the work on the objects of one lease; def is nil where nothing is rendered.
func New(c *command.Command, def *lease.Definition, req state.Request) *Objects {
	held := claims.New(c, def, req)
	r := &Objects{
		Claims: held, keptFor: map[types.UID]bool{},
		Operated: &operators.Operated{Claims: held}, KeptDefinition: &claims.KeptDefinition{Claims: held}, Successors: &routes.Successors{Claims: held},
	}
	r.By = r
	return r
}

// runningObjects knows the objects of what a lease runs: they are read and written by rules of their own.
type runningObjects interface {
	// Has is true for an object of what the lease runs.
	Has(o render.Object) bool
	// Find is such an object as it was read, nil for nothing.
	Find(o render.Object) *unstructured.Unstructured
	// Refused deals with a conflict on such an object.
	Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error)
	// IsMine is true for an object that the run has made and that the lease's manager still has.
	IsMine(now *unstructured.Unstructured) bool
}
