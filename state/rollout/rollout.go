package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// State is how far a lease or one of its services is. The words are those of the deployments that Akash's provider
// manages (provider: cluster/manager.go, dsDeployPending to dsDeployComplete); error is what its monitor counts until
// it closes a lease (cluster/monitor.go).
type State string

// The states.
const (
	// Pending is what is recorded, and of which nothing runs yet.
	Pending State = "pending"
	// Active is what is being deployed, changed or closed.
	Active State = "active"
	// Complete is what runs as it should: each service has as many available replicas as its Manifest asks for.
	Complete State = "complete"
	// Error is what does not run and will not without help, as far as its objects tell.
	Error State = "error"
)

// Rollout is how far a lease's workloads are. Its JSON form is a public format.
type Rollout struct {
	State State `json:"state"`
	// Reason says in words why the lease is not complete: that of its first service in the worst state.
	Reason string `json:"reason,omitempty"`
	// Ready of Total are the replicas of all services.
	Ready int64 `json:"ready"`
	Total int64 `json:"total"`
	// Services are in the order of their names.
	Services []Service `json:"services"`
}

// Service is how far one service is.
type Service struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Ready are its available replicas, Total those that it should have.
	Ready int32 `json:"ready"`
	Total int32 `json:"total"`
	// Reason says in words why the service is not complete.
	Reason string `json:"reason,omitempty"`
}

// Of is the rollout of a lease; false is for one that runs nothing and is to run nothing.
func (l *Lease) Of() (Rollout, bool) {
	names := l.names()
	if len(names) == 0 {
		return Rollout{}, false
	}
	r := Rollout{Services: make([]Service, 0, len(names))}
	for _, name := range names {
		s := l.service(name)
		r.Ready, r.Total = r.Ready+int64(s.Ready), r.Total+int64(s.Total)
		r.Services = append(r.Services, s)
	}
	r.State, r.Reason = l.together(r.Services)
	return r, true
}

// names are those of the services of the Manifest, or of those that run where there is no Manifest. What runs beside
// the Manifest is no service of the lease any more.
func (l *Lease) names() []string {
	if l.recorded {
		return slices.Sorted(maps.Keys(l.wanted))
	}
	return slices.Sorted(maps.Keys(l.workloads))
}

// together is the state of the lease.
func (l *Lease) together(services []Service) (State, string) {
	if l.closing {
		return Active, "closing: its namespace is being deleted"
	}
	first := func(state State) *Service {
		if i := slices.IndexFunc(services, func(s Service) bool { return s.State == state }); i >= 0 {
			return &services[i]
		}
		return nil
	}
	for _, state := range []State{Error, Active, Pending} {
		s := first(state)
		if s == nil {
			continue
		}
		reason := fmt.Sprintf("service %s: %s", s.Name, s.Reason)
		if more := slices.DeleteFunc(slices.Clone(services), func(s Service) bool { return s.State != state }); len(more) > 1 {
			reason += fmt.Sprintf(" (and %d more)", len(more)-1)
		}
		if state == Pending && slices.ContainsFunc(services, func(s Service) bool { return s.State != Pending }) {
			state = Active // a part of it runs
		}
		return state, reason
	}
	return Complete, ""
}

// service is how far one service is.
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

// judge is the state of a service with a workload, and why. Whether the workload is rolled out kstatus says; what keeps
// it, its pods and conditions.
func (l *Lease) judge(name string, w *workload, s Service) (State, string) {
	switch {
	case w.status == kstatus.TerminatingStatus:
		return Active, fmt.Sprintf("its %s is being deleted", w.kind)
	case w.status == kstatus.CurrentStatus && s.Ready >= s.Total:
		return Complete, ""
	case w.status == kstatus.CurrentStatus && w.replicas < s.Total:
		return Active, fmt.Sprintf("its %s has %d replicas, its Manifest %d", w.kind, w.replicas, s.Total)
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
