package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// State is the rollout state of a lease or a service. The values are those of deployments in Akash's provider
// (provider: cluster/manager.go, dsDeployPending to dsDeployComplete). Error is what its monitor counts before it
// closes a lease (cluster/monitor.go).
type State string

// The states.
const (
	// Pending is recorded in the Manifest, and nothing runs yet.
	Pending State = "pending"
	// Active is being deployed, changed or closed.
	Active State = "active"
	// Complete means that each service has as many available replicas as its Manifest asks for.
	Complete State = "complete"
	// Error does not run and, according to its objects, will not run without help.
	Error State = "error"
)

// Rollout is the rollout state of a lease's workloads. Its JSON form is a public format.
type Rollout struct {
	State State `json:"state"`
	// Reason says why the lease is not complete. It is the reason of the first service in the worst state.
	Reason string `json:"reason,omitempty"`
	// Ready and Total are the sums over all services.
	Ready int64 `json:"ready"`
	Total int64 `json:"total"`
	// Services are sorted by name.
	Services []Service `json:"services"`
}

// Service is the rollout state of one service.
type Service struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Ready counts the available replicas, Total the wanted ones.
	Ready int32 `json:"ready"`
	Total int32 `json:"total"`
	// Reason says why the service is not complete.
	Reason string `json:"reason,omitempty"`
}

// Of returns the rollout of the lease. ok is false if it runs nothing and should run nothing.
func (l *Lease) Of() (r Rollout, ok bool) {
	names := l.names()
	if len(names) == 0 {
		return Rollout{}, false
	}
	r = Rollout{Services: make([]Service, 0, len(names))}
	for _, name := range names {
		s := l.service(name)
		r.Ready, r.Total = r.Ready+int64(s.Ready), r.Total+int64(s.Total)
		r.Services = append(r.Services, s)
	}
	r.State, r.Reason = l.combine(r.Services)
	return r, true
}

// names returns the services of the Manifest, or the running ones if there is no Manifest. A workload that the Manifest
// does not name is no longer a service of the lease.
func (l *Lease) names() []string {
	if l.recorded {
		return slices.Sorted(maps.Keys(l.wanted))
	}
	return slices.Sorted(maps.Keys(l.workloads))
}

// combine returns the state of the lease and its reason.
func (l *Lease) combine(services []Service) (State, string) {
	if l.closing {
		return Active, "closing: its namespace is being deleted"
	}
	for _, state := range []State{Error, Active, Pending} {
		matching := slices.DeleteFunc(slices.Clone(services), func(s Service) bool { return s.State != state })
		if len(matching) == 0 {
			continue
		}
		reason := fmt.Sprintf("service %s: %s", matching[0].Name, matching[0].Reason)
		if len(matching) > 1 {
			reason += fmt.Sprintf(" (and %d more)", len(matching)-1)
		}
		if state == Pending && len(matching) < len(services) {
			state = Active // some services run
		}
		return state, reason
	}
	return Complete, ""
}

// service returns the rollout state of one service.
func (l *Lease) service(name string) Service {
	s := Service{Name: name, Total: max(l.wanted[name], 0)}
	w := l.workloads[name]
	if w == nil {
		s.State, s.Reason = Pending, fmt.Sprintf("0 of %d ready: it has no Deployment and no StatefulSet yet", s.Total)
		return s
	}
	s.Total = max(s.Total, w.replicas)
	s.Ready = min(max(w.available, 0), s.Total) // more are available while it is scaled down
	var why string
	s.State, why = l.judge(name, w, s)
	if s.State != Complete {
		s.Reason = fmt.Sprintf("%d of %d ready: %s", s.Ready, s.Total, why)
	}
	return s
}

// judge returns the state of a service with a workload, and the reason. kstatus decides whether the workload is rolled
// out; its pods and conditions give the reason.
func (l *Lease) judge(name string, w *workload, s Service) (State, string) {
	switch {
	case w.status == kstatus.TerminatingStatus:
		return Active, fmt.Sprintf("its %s is being deleted", w.kind)
	case w.status == kstatus.CurrentStatus && s.Ready >= s.Total:
		return Complete, ""
	case w.status == kstatus.CurrentStatus && w.replicas < s.Total:
		return Active, fmt.Sprintf("its %s has %s, its Manifest %d", w.kind, lease.Count(int(w.replicas), "replica"), s.Total)
	}
	found := l.troubles(name, w)
	if len(found) > 0 && found[0].failed {
		return Error, found[0].text
	}
	switch {
	case w.failure != "":
		return Error, "no pod can be made: " + w.failure
	case w.status == kstatus.FailedStatus:
		why := []string{w.message}
		if len(found) > 0 {
			why = append(why, found[0].text)
		}
		return Error, strings.Join(why, "; ")
	case len(found) > 0:
		return Active, found[0].text
	case w.status == kstatus.CurrentStatus:
		return Active, "its pods are not available yet"
	}
	return Active, w.message
}
