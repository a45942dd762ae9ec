package diagnose

import "github.com/akash-net/kubectl-akash-net/state/view"

// addEndpoints adds whether something answers at the port of a Service, and where to look if not.
func (x *Explanation) addEndpoints(e *view.Endpoints, namespace, service string, port uint16) {
	full := namespace + "/" + service
	if why := e.Silent(full, port); why != "" {
		x.fact("Not answering: %s.", why)
	}
	switch {
	case e == nil:
		x.fact("Whether Service %s answers is not known: its endpoints are outside the cluster, or you may not list EndpointSlices.", full)
	case e.Missing == view.MissingService:
		x.fact("The provider makes the Service when it deploys the lease.")
		x.next("kubectl -n %s get services,pods", namespace)
	case e.Missing == view.MissingPort:
		x.next("kubectl -n %s describe service %s", namespace, service)
	case e.Ready == 0:
		x.next("kubectl -n %s get pods", namespace)
	default:
		x.fact("Service %s has %d of %d endpoints ready.", full, e.Ready, e.Total)
	}
}
