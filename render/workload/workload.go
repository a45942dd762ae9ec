// Package workload renders what a lease runs: the objects that Akash's provider creates for a lease (provider:
// cluster/kube/builder), with one file per kind. Like package render it is pure.
package workload

import (
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Options are the inputs besides the definition and the configuration.
type Options struct {
	// Scheduler is the result of a reservation, by ID of the resource unit. A missing unit falls back to the scheduler
	// params of the definition.
	Scheduler map[uint32]*lease.SchedulerParams
	// Secrets renders the passwords of registries, in Secrets and in the Manifest.
	Secrets bool
	// Unique removes repeated ports and variables of a container. Akash's provider repeats them; an API server accepts
	// that, but not with server-side apply.
	Unique bool
	// Unmarked writes the definition's hash only to the Manifest. Objects that a change of the definition does not
	// affect then stay the same; otherwise the changed annotation would increase a Deployment's generation.
	Unmarked bool
}

// Rendered has the objects of a lease, and the Secrets that were not rendered.
type Rendered struct {
	Objects []render.Object
	Left    []LeftSecret
}

// LeftSecret is a Secret that was not rendered, because Options do not ask for secrets or the definition has no
// password.
type LeftSecret struct {
	Name       string
	NoPassword bool
	// At is the position of the credentials.
	At lease.Place
}

// Lease renders what a lease runs, in the order in which Akash's provider writes it: the namespace, the Manifest and
// the network policies, then for each service, sorted by name, its ServiceAccount and rights, its Secret, its
// Deployment or StatefulSet, and its Services. The objects share label maps and must not be changed. The error is of
// type lease.Problems. A definition without workloads has no objects.
func Lease(def *lease.Definition, cfg *config.ProviderConfig, opt Options) (Rendered, error) {
	if def.Workloads == nil {
		return Rendered{}, nil
	}
	b := &builder{def: def, cfg: cfg, opt: opt, ns: def.Lease.Namespace()}
	if def.Hash != "" {
		b.sum = lease.SumWhole(def)
	}
	b.add(b.namespace(), b.manifest())
	b.add(b.networkPolicies()...)
	for i := range def.Workloads.Services {
		s := b.service(&def.Workloads.Services[i])
		if s.reads() {
			b.add(s.account(), s.role(), s.binding())
		}
		b.addSecret(s)
		b.add(s.workload())
		b.add(s.services()...)
	}
	if b.problems.Failed() {
		return Rendered{}, b.problems.Errors().Sorted()
	}
	return b.Rendered, nil
}

// builder has what the objects of a lease share, and the objects so far.
type builder struct {
	Rendered
	def *lease.Definition
	cfg *config.ProviderConfig
	opt Options
	ns  string
	// sum identifies the whole definition; it is empty if that has no hash.
	sum      string
	problems lease.Problems
}

func (b *builder) add(objects ...render.Object) { b.Objects = append(b.Objects, objects...) }

func (b *builder) addSecret(s *service) {
	switch {
	case s.Credentials == nil:
	case !b.opt.Secrets || s.Credentials.Password == "":
		b.Left = append(b.Left, LeftSecret{Name: s.secretName(), NoPassword: s.Credentials.Password == "", At: s.Credentials.At})
	default:
		b.add(s.secret())
	}
}

// service is one service of the lease.
type service struct {
	*lease.Workload
	*builder
	ports []lease.Expose
	// scheduler is the result of a reservation, or nil.
	scheduler *lease.SchedulerParams
}

func (b *builder) service(w *lease.Workload) *service {
	return &service{Workload: w, builder: b, ports: b.def.Ports(w.Name), scheduler: b.scheduled(w)}
}

// scheduled returns the result of a reservation for the service.
func (b *builder) scheduled(w *lease.Workload) *lease.SchedulerParams {
	if params, known := b.opt.Scheduler[w.Resources.ID]; known {
		return params
	}
	return w.Scheduler
}

// mounts reports whether the service mounts the volume.
func (s *service) mounts(volume string) bool {
	return s.Params != nil && slices.ContainsFunc(s.Params.Storage, func(m lease.Mount) bool { return m.Volume == volume })
}

// reads reports whether the service may read objects of its namespace.
func (s *service) reads() bool {
	return s.Params != nil && s.Params.Permissions != nil && len(s.Params.Permissions.Read) > 0
}

// annotations returns the annotations of every object except the namespace and the Manifest. Pods have none, so a new
// definition restarts only the pods that it changes.
func (b *builder) annotations() map[string]string {
	if b.opt.Unmarked {
		return nil
	}
	return b.marks()
}

// marks returns the annotation with the hash of the whole definition.
func (b *builder) marks() map[string]string {
	if b.sum == "" {
		return nil
	}
	return map[string]string{lease.AnnotationDefinition: b.sum}
}

// baseLabels returns the labels of every object. They do not include the Manifest's resource version, which Akash's
// provider also adds to pods: there, any change of the Manifest restarts all pods of the lease.
func (b *builder) baseLabels() map[string]string {
	return map[string]string{lease.LabelManaged: "true", lease.LabelNamespace: b.ns}
}

// leaseLabels adds the five labels by which Akash's provider finds a lease.
func (b *builder) leaseLabels(labels map[string]string) map[string]string {
	maps.Copy(labels, b.def.Lease.Labels())
	return labels
}

// labels returns the labels of the service's objects, which also select its pods.
func (s *service) labels() map[string]string {
	labels := s.baseLabels()
	labels[lease.LabelService] = s.Name
	return labels
}
