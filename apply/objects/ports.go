package objects

import (
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Akash's IP operator identifies a leased port without its service. It never deletes the Service of a former service
// name, and does not take over a Service of the same name that it has created for another endpoint (provider:
// operator/ip). So to point a ProviderLeasedIP at another service, a run deletes it, waits until the operator's Service
// is gone, and creates it again.

// requestDeploy returns the object as DeployRequested does, where the hostname operator runs.
func (r *Objects) requestDeploy(o render.Object) render.Object {
	if !r.Snapshot.Operators.Hostname {
		return o
	}
	return observed.DeployRequested(o, r.Snapshot.Find(o), r.Manager(o), r.Cluster.Now())
}
