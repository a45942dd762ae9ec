package engine

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// over returns what a wanted object is applied over: the one that was seen, after the lease has taken over the fields of those who have
// delivered it for the lease.
func (v view) over(d Desired, o render.Object, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil || isDeleting(live) || !v.isOwn(d, live) {
		return live
	}
	takes := plan.Takes{ByHand: v.t.Settings.Reclaims, Delivered: v.want.Adopt}
	return plan.TakeOver(live, render.Rendered(o).Object, d.Manager, takes)
}

// isOwn reports whether a live object names the lease's deployment group, or is among what the lease runs.
func (v view) isOwn(d Desired, live *unstructured.Unstructured) bool {
	if v.runs(d.Object) {
		return deployed.StandingOf(live, v.group, v.id.Namespace()) != deployed.Foreign
	}
	id, labelled := lease.IDFromLabels(live.GetLabels())
	return labelled && id.Group() == v.group
}

// applies returns the request that applies an object over the one that was seen, or does so as a dry run.
func (v view) applies(verb Verb, d Desired, o render.Object, live *unstructured.Unstructured, why string) Request {
	r := Request{Verb: verb, Apply: o, Manager: d.Manager, Over: live, Why: why}
	if over := v.over(d, o, live); over != live {
		r.Taken = over
	}
	return r
}

// over returns what the request applies to, with the managed fields that it has then.
func (r Request) over() *unstructured.Unstructured {
	if r.Taken != nil {
		return r.Taken
	}
	return r.Over
}

// tookBack says which values of kubectl users an apply takes back without force, because it becomes their manager.
func (v view) tookBack(r Request) string {
	if r.Taken == nil || !v.t.Settings.Reclaims {
		return ""
	}
	want := render.Rendered(r.Apply).Object
	still := plan.Fields(r.Taken, want, r.Manager)
	var taken []string
	for _, f := range plan.Fields(r.Over, want, r.Manager) {
		same := func(now plan.Field) bool { return now.Conflict && slices.Equal(now.Path, f.Path) }
		if f.Conflict && !slices.ContainsFunc(still, same) {
			taken = append(taken, report.Taken(f))
		}
	}
	if len(taken) == 0 {
		return ""
	}
	return "taken back: " + strings.Join(taken, "; ")
}

// keptByOthers returns the error of an apply after which others keep fields that the lease does not want any more. A plan shows them.
func (v view) keptByOthers(d Desired, r Request) error {
	over := r.over()
	if over == nil || isDeleting(over) || v.t.Settings.Plans {
		return nil
	}
	c := plan.Change{Fields: slices.DeleteFunc(plan.Fields(over, render.Rendered(r.Apply).Object, d.Manager), func(f plan.Field) bool { return f.After != nil || !f.Conflict })}
	managers := c.Others()
	if len(managers) == 0 {
		return nil
	}
	return &report.ConflictError{Object: d.Object.String(), Managers: managers, Differs: true, Fields: c.Fields, ByHand: v.byHand(d, over, managers)}
}
