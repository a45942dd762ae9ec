package engine

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// stillServed looks, once a lease has taken what objects of it serve already, whether one of them is there: a release may have
// deleted them meanwhile. If none is, or another deployment of the owner was first, the lease keeps nothing.
func (v view) stillServed() Step {
	if len(v.want.Serves) == 0 {
		return Step{}
	}
	for _, h := range v.things {
		taken, took := v.f.taken[h.Name()]
		if !took {
			return v.giveBack(report.ErrChanged)
		}
		for _, o := range v.want.Serves {
			s := v.f.objects[o.uid()]
			if s.sent <= taken.Written {
				return do(Request{Verb: GetObject, Object: o, Why: "whether it still serves what was taken for it"})
			}
			if id, labelled := lease.IDFromLabels(s.object.Live.GetLabels()); s.there && !isDeleting(s.object.Live) && labelled && id.Group() == v.group {
				return Step{}
			}
		}
	}
	return v.giveBack(report.ErrChanged)
}
