package documents

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/render/workload"
)

// withWorkloads puts what a lease runs before its routes, and notes the Secrets that are left out.
func (r *renderer) withWorkloads(routes []render.Object, def *lease.Definition) ([]render.Object, error) {
	if r.workloads == nil {
		return routes, nil
	}
	if r.ran++; r.ran > 1 && r.workloads.Scheduler != nil {
		r.problems.Add(def.At, "--scheduler-params is for one lease, and this is another")
		return nil, nil
	}
	rendered, err := workload.Lease(def, r.cfg, *r.workloads)
	for _, left := range rendered.Left {
		message := fmt.Sprintf("secret/%s of namespace %s is left out, and the password in its Manifest: --show-secrets prints them", left.Name, def.Lease.Namespace())
		if left.NoPassword {
			message = fmt.Sprintf("secret/%s of namespace %s is left out: the definition has no password for it", left.Name, def.Lease.Namespace())
		}
		r.left = append(r.left, lease.Problem{At: left.At, Message: message, Warning: true})
	}
	if err != nil {
		return nil, err
	}
	objects := append(rendered.Objects, routes...)
	return objects, render.CheckNames(objects, def.At)
}

// warnings are what a user should know of what was rendered for the lease.
func (r *renderer) warnings(def *lease.Definition) lease.Problems {
	left := r.left
	r.left = nil
	return append(render.Warnings(def, r.cfg), left...)
}
