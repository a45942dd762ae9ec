package engine

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
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

// applies returns what applies an object over the one that was seen.
func (v view) applies(d Desired, o render.Object, live *unstructured.Unstructured) OfRendered {
	on := OfRendered{Apply: o, Manager: d.Manager, Over: live}
	if over := v.over(d, o, live); over != live {
		on.Taken = over
	}
	return on
}

// changeOver returns what an apply changes, over the object that was seen.
func (v view) changeOver(d Desired, on OfRendered) *plan.Change {
	return v.change(func() plan.Change {
		over := on.over()
		if isDeleting(over) { // a dry run takes it for gone
			over = nil
		}
		c := plan.Write(d.Object.Kind.Singular, render.Rendered(on.Apply).Object, over, d.Manager)
		c.ByHand = over != nil && v.byHand(d, over, c.Others())
		return c
	})
}

// over returns what it applies to, with the managed fields that this has then.
func (on OfRendered) over() *unstructured.Unstructured {
	if on.Taken != nil {
		return on.Taken
	}
	return on.Over
}

// tookBack says which values of kubectl users an apply takes back without force, because it becomes their manager.
func (v view) tookBack(on OfRendered) string {
	if on.Taken == nil || !v.t.Settings.Reclaims {
		return ""
	}
	want := render.Rendered(on.Apply).Object
	still := plan.Fields(on.Taken, want, on.Manager)
	var taken []string
	for _, f := range plan.Fields(on.Over, want, on.Manager) {
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
func (v view) keptByOthers(d Desired, on OfRendered) error {
	over := on.over()
	if over == nil || isDeleting(over) || v.t.Settings.Plans {
		return nil
	}
	c := plan.Change{Fields: slices.DeleteFunc(plan.Fields(over, render.Rendered(on.Apply).Object, d.Manager), func(f plan.Field) bool { return f.After != nil || !f.Conflict })}
	managers := c.Others()
	if len(managers) == 0 {
		return nil
	}
	return &report.ConflictError{Object: d.Object.String(), Managers: managers, Differs: true, Fields: c.Fields, ByHand: v.byHand(d, over, managers)}
}
