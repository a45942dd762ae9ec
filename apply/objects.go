package apply

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objects is what the work on one lease writes for what it has claimed, and what it deletes.
type objects struct {
	*claims
	// kinds are those of the objects that are written, or that somebody else is to write.
	kinds []kinds.Kind
	pools *pools
	// operated is what Akash's operators do, definition what the ledger keeps, successors the routes that replace others.
	operated   *operated
	definition *keptDefinition
	successors *successors
	// running is asked about objects of what the lease runs; nil where nothing of that is written.
	running runningObjects
	// inPlace is true once the lease's namespace is there.
	inPlace bool
	// closed is true when nothing is left to undo.
	closed bool
	// followed is true once the run has removed what other deployments served of its things. Routeless are
	// parts, by the name of their claim, of which a transfer knows no route: there the former holder's stay.
	followed  bool
	routeless map[string][]string
	// grants are the addresses that MetalLB chose, in pool mode.
	grants []string
	// kept are the things that the run was to give up and that Akash's provider declares.
	kept []KeptThing
}

func newObjects(c *Command, def *lease.Definition, req state.Request) *objects {
	held := newClaims(c, def, req)
	r := &objects{claims: held, operated: &operated{claims: held}, definition: &keptDefinition{claims: held}, successors: &successors{claims: held}}
	r.by = r
	return r
}

// runningObjects knows the objects of what a lease runs: they are read and written by rules of their own.
type runningObjects interface {
	// has is true for an object of what the lease runs.
	has(o render.Object) bool
	// find is such an object as it was read, nil for nothing.
	find(o render.Object) *unstructured.Unstructured
	// refused deals with a conflict on such an object.
	refused(ctx context.Context, o render.Object, err error) (taken bool, _ error)
	// isMine is true for an object that the run has made and that the lease's manager still has.
	isMine(now *unstructured.Unstructured) bool
}
