package diagnose

import (
	"cmp"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

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

// hostVerdict returns whether the rows of a host are live, in a few words: what is worst, and where if there are several. It is "" where
// the claim says more than what serves it.
func hostVerdict(rows []view.HostRow) string {
	var all []verdict
	for _, r := range rows {
		v := verdict{at: r.Path, text: "Live"}
		if len(rows) > 1 && r.Path == "" {
			v.at = "/"
		}
		switch r.State {
		case view.StatePending:
			v.rank, v.text, v.why = 3, "Not routed", r.Message
		case view.StateReserved:
			v.rank, v.text, v.why = 3, "Not routed", "no route serves it"
		case view.StateTransferring:
			v.rank, v.text = 1, "Transferring"
		case view.StateActive:
			v.answers(r.Service, r.Endpoints, r.Silent())
		default:
			continue
		}
		all = append(all, v)
	}
	return worst(all)
}

// addressVerdict is hostVerdict of an address.
func addressVerdict(rows []view.IPRow) string {
	var all []verdict
	for _, r := range rows {
		v := verdict{at: portOf(r), text: "Live"}
		switch r.State {
		case view.StatePending:
			v.rank, v.text, v.why = 3, "Not granted", r.Message
		case view.StateReserved:
			v.rank, v.text, v.why = 3, "Not used", "no Service of its lease uses it"
		case view.StateTransferring:
			v.rank, v.text = 1, "Transferring"
		case view.StateActive:
			v.answers(r.Object, r.Endpoints, r.Silent())
		default:
			continue
		}
		all = append(all, v)
	}
	return worst(all)
}

// verdict says of a path or a port whether it is live, and if not why.
type verdict struct {
	at, text, why string
	rank          int
}

// answers sets the verdict on what is routed to a Service.
func (v *verdict) answers(service string, e *view.Endpoints, silent string) {
	switch {
	case silent != "":
		v.rank, v.text, v.why = 2, "Not answering", silent
	case e == nil && service != "":
		v.rank, v.text = 1, "Routed, and whether it answers is not known"
	}
}

// worst returns the first of the worst verdicts, and where it is if not all are the same.
func worst(all []verdict) string {
	if len(all) == 0 {
		return ""
	}
	v := slices.MaxFunc(all, func(a, b verdict) int { return cmp.Compare(a.rank, b.rank) })
	text := v.text
	if v.at != "" && v.rank > 0 && len(all) > 1 {
		text += " at " + v.at
	}
	if v.why != "" {
		text += ": " + v.why
	}
	return text
}

// ended ends a sentence, after which a verdict follows.
func ended(verdict string) string {
	if verdict == "" {
		return ""
	}
	return ". " + verdict
}
