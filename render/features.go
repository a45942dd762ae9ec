package render

import (
	"github.com/akash-net/kubectl-akash-net/lease"
)

// given is an HTTP option that differs from Akash's default.
type given struct {
	name string
	at   lease.Place
}

// given lists the HTTP options of the definition by the names that they have there. The defaults
// are left to the router where a target has no field for them.
func (r route) given() []given {
	o, at := r.expose.HTTP, r.expose.HTTPAt
	if at == nil {
		at = &lease.HTTPPlaces{}
	}
	var all []given
	for _, option := range []struct {
		given
		set bool
	}{
		{given{"maxBodySize", at.MaxBodySize}, o.MaxBodySize != 0},
		{given{"readTimeout", at.ReadTimeout}, o.ReadTimeout != 0},
		{given{"sendTimeout", at.SendTimeout}, o.SendTimeout != 0},
		{given{"nextTries", at.NextTries}, o.NextTries != 0},
		{given{"nextTimeout", at.NextTimeout}, o.NextTimeout != 0},
		{given{"nextCases", at.NextCases}, len(o.NextCases) > 0},
	} {
		if option.set {
			all = append(all, option.given)
		}
	}
	return all
}

// refuseAnnotations refuses the settings of OpenShift's router on other targets.
func (l *leased) refuseAnnotations(r route) {
	for _, a := range r.routing.Annotations {
		l.refuse(r, a.At, "%s is a setting of OpenShift's router: only the target route has it", a.Key)
	}
}

// backendName is the name for which a backend's certificate is to be, where a CA of the lease
// verifies it: that of its Service, which the tenant's CA can sign whatever the hosts are.
func (l *leased) backendName(service string) string { return service + "." + l.namespace + ".svc" }
