package engine_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// A person is told of what had no answer once a reading shows that it was done: the claim is as it was to be, the object is gone, or another
// one, and the definition that was to be deleted is.
func TestShows(t *testing.T) {
	id := leaseOf("A/1")
	route := func(uid string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "uid": uid}}}
	}
	one, other := state.Part{Key: "one", Lease: id}, state.Part{Key: "other", Lease: id}
	claim := engine.Request{Verb: engine.Get, On: engine.OfClaim{Group: id.Group(), Parts: []state.Part{one}}}
	object := engine.Request{Verb: engine.GetObject, On: engine.OfObject{Object: observed.Object{Kind: kinds.Ingress, Live: route("u")}}}
	deleted := engine.Request{Verb: engine.GetDefinition, On: engine.OfDefinition{Group: id.Group(), Definition: &kept.Definition{}}}
	read := engine.Request{Verb: engine.GetDefinition, On: engine.OfDefinition{Group: id.Group()}}
	put := engine.Request{Verb: engine.Put, On: engine.OfClaim{Group: id.Group()}}
	for name, c := range map[string]struct {
		r     engine.Request
		a     engine.Answer
		shows bool
	}{
		"the claim is gone":             {claim, engine.Answer{}, true},
		"it has what it was to have":    {claim, engine.Answer{Claim: &state.Claim{Parts: []state.Part{one}}}, true},
		"it has more":                   {claim, engine.Answer{Claim: &state.Claim{Parts: []state.Part{one, other}}}, false},
		"the object is gone":            {object, engine.Answer{}, true},
		"it is another one":             {object, engine.Answer{Live: route("v")}, true},
		"it is there":                   {object, engine.Answer{Live: route("u")}, false},
		"the definition is deleted":     {deleted, engine.Answer{}, true},
		"it is still kept":              {deleted, engine.Answer{Definition: &kept.Definition{}}, false},
		"nobody has deleted one":        {read, engine.Answer{}, false},
		"a write has an answer":         {put, engine.Answer{}, true},
		"a write is refused":            {put, engine.Answer{Err: errors.New("no")}, false},
		"a reading of a claim has none": {claim, engine.Answer{Err: errors.New("no")}, false},
	} {
		if got := c.r.Shows(c.a); got != c.shows {
			t.Errorf("%s: got %t, want %t", name, got, c.shows)
		}
	}
}
