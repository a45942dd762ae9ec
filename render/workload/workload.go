// Package workload renders what a lease runs: the objects that Akash's provider makes of a lease (provider:
// cluster/kube/builder), one file for each kind. It is pure, as render is.
package workload

import (
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Options say what the definition and the configuration do not.
type Options struct {
	// Scheduler is what a reservation chose, by the id of the resource unit. Where it has nothing for a unit, what
	// the definition was read with counts.
	Scheduler map[uint32]*lease.SchedulerParams
	// Secrets is true where the passwords of registries are rendered: in Secrets, and in the Manifest.
	Secrets bool
	// Unique leaves out ports and variables of a container that are repeated. Akash's provider repeats them, and
	// an API server takes that, but not by server-side apply.
	Unique bool
	// Unmarked leaves the hash of the definition to the Manifest alone. An object that a change of the definition does not
	// touch is then the same as before; a Deployment's generation changes with its annotations.
	Unmarked bool
}

// Rendered are the objects of a lease, and the Secrets that are not among them.
type Rendered struct {
	Objects []render.Object
	Left    []LeftSecret
}

// LeftSecret is a Secret that is not rendered: Options do not ask for secrets, or the definition has no password.
type LeftSecret struct {
	Name       string
	NoPassword bool
	// At is where the credentials are.
	At lease.Place
}

// Lease renders what a lease runs, in the order in which Akash's provider writes it: the namespace, the Manifest,
// the network policies; then for each service, in the order of their names, its account and rights, its Secret, its
// Deployment or StatefulSet, its Services. The objects share their labels and are not to be changed. The error is
// of type lease.Problems. A definition that was read without workloads has no objects.
func Lease(def *lease.Definition, cfg *config.ProviderConfig, opt Options) (Rendered, error) {
	if def.Workloads == nil {
		return Rendered{}, nil
	}
	b := &builder{def: def, cfg: cfg, opt: opt, ns: def.Lease.Namespace()}
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

// builder is what all objects of a lease have in common, and what is made so far.
type builder struct {
	Rendered
	def      *lease.Definition
	cfg      *config.ProviderConfig
	opt      Options
	ns       string
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
	// scheduler is what a reservation chose; nil where it chose nothing.
	scheduler *lease.SchedulerParams
}

func (b *builder) service(w *lease.Workload) *service {
	return &service{Workload: w, builder: b, ports: b.def.Ports(w.Name), scheduler: b.scheduled(w)}
}

// scheduled is what a reservation chose for the service.
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

// reads is true for a service that may read of its namespace.
func (s *service) reads() bool {
	return s.Params != nil && s.Params.Permissions != nil && len(s.Params.Permissions.Read) > 0
}

// annotations are those of every object but the namespace and the Manifest. They are on no pod: another definition rolls
// no pod that it does not change.
func (b *builder) annotations() map[string]string {
	if b.opt.Unmarked {
		return nil
	}
	return b.marks()
}

// marks say by what definition an object was made.
func (b *builder) marks() map[string]string {
	if b.def.Hash == "" {
		return nil
	}
	return map[string]string{lease.AnnotationDefinition: b.def.Hash}
}

// baseLabels are on every object. The label with the Manifest's resource version is not among them: Akash's provider
// puts it on pods too, so that any change of the Manifest restarts all pods of the lease.
func (b *builder) baseLabels() map[string]string {
	return map[string]string{lease.LabelManaged: "true", lease.LabelNamespace: b.ns}
}

// leaseLabels add the five labels by which Akash's provider finds a lease.
func (b *builder) leaseLabels(labels map[string]string) map[string]string {
	maps.Copy(labels, b.def.Lease.Labels())
	return labels
}

// labels are those of the service's objects, and what selects its pods.
func (s *service) labels() map[string]string {
	labels := s.baseLabels()
	labels[lease.LabelService] = s.Name
	return labels
}
