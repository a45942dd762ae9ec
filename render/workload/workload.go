// Package workload renders what a lease runs: the objects that Akash's provider creates for a lease (provider:
// cluster/kube/builder), with one file per kind. Like package render it is pure.
package workload

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
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

// namespace renders the lease's namespace (provider: cluster/kube/builder/namespace.go).
func (b *builder) namespace() render.Object {
	return render.Object{Kind: kinds.Namespace, Name: b.ns, Config: coreac.Namespace(b.ns).
		WithLabels(b.leaseLabels(b.baseLabels())).WithSpec(coreac.NamespaceSpec())}
}

// grants maps the words of params.permissions.read to rules.
var grants = map[string]func() []*rbacac.PolicyRuleApplyConfiguration{
	"logs": func() []*rbacac.PolicyRuleApplyConfiguration {
		return []*rbacac.PolicyRuleApplyConfiguration{
			rule("", "pods", "get", "list", "watch"),
			rule("", "pods/log", "get"),
			rule("apps", "deployments", "get", "list", "watch"),
		}
	},
	"events": func() []*rbacac.PolicyRuleApplyConfiguration {
		return []*rbacac.PolicyRuleApplyConfiguration{rule("", "events", "get", "list", "watch")}
	},
}

func rule(group, resource string, verbs ...string) *rbacac.PolicyRuleApplyConfiguration {
	return rbacac.PolicyRule().WithAPIGroups(group).WithResources(resource).WithVerbs(verbs...)
}

// role renders a Role with the permissions of the service, in their order. Repeated and unknown words grant nothing.
func (s *service) role() render.Object {
	role := rbacac.Role(s.Name, s.ns).WithLabels(s.leaseLabels(s.labels())).WithAnnotations(s.annotations())
	seen := map[string]bool{}
	for _, word := range s.Params.Permissions.Read {
		if grant := grants[word]; grant != nil && !seen[word] {
			seen[word] = true
			role.WithRules(grant()...)
		}
	}
	return render.Object{Kind: kinds.Role, Namespace: s.ns, Name: s.Name, Config: role}
}

// binding binds the service's ServiceAccount to its Role.
func (s *service) binding() render.Object {
	return render.Object{Kind: kinds.RoleBinding, Namespace: s.ns, Name: s.Name, Config: rbacac.RoleBinding(s.Name, s.ns).
		WithLabels(s.leaseLabels(s.labels())).WithAnnotations(s.annotations()).
		WithSubjects(rbacac.Subject().WithKind(kinds.ServiceAccount.Kind).WithName(s.Name).WithNamespace(s.ns)).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup(kinds.Role.Group).WithKind(kinds.Role.Kind).WithName(s.Name))}
}

// account renders the ServiceAccount of a service with permissions (provider: cluster/kube/builder/rbac.go).
func (s *service) account() render.Object {
	return render.Object{Kind: kinds.ServiceAccount, Namespace: s.ns, Name: s.Name, Config: coreac.ServiceAccount(s.Name, s.ns).
		WithLabels(s.leaseLabels(s.labels())).WithAnnotations(s.annotations())}
}

// registry is an entry of docker's configuration file.
type registry struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email,omitempty"`
	Auth     string `json:"auth"`
}

func (s *service) secretName() string { return workload.SecretPrefix + s.Name }

// secret renders the credentials of the service's registry (provider: cluster/kube/builder/service_credentials.go). It
// trims spaces around user, password and email, but not around the host.
func (s *service) secret() render.Object {
	k := s.Credentials
	r := registry{Username: strings.TrimSpace(k.Username), Password: strings.TrimSpace(k.Password),
		Email: strings.TrimSpace(k.Email)}
	r.Auth = base64.StdEncoding.EncodeToString([]byte(r.Username + ":" + r.Password))
	data, err := json.Marshal(map[string]map[string]registry{"auths": {k.Host: r}}) //nolint:gosec // it is what the Secret is for
	if err != nil {
		panic(err) // strings always marshal
	}
	name := s.secretName()
	return render.Object{Kind: kinds.Secret, Namespace: s.ns, Name: name, Config: coreac.Secret(name, s.ns).
		WithLabels(s.labels()).WithAnnotations(s.annotations()).
		WithType(corev1.SecretTypeDockerConfigJson).WithData(map[string][]byte{corev1.DockerConfigJsonKey: data})}
}

// services renders the Services of the service (provider: cluster/kube/builder/service.go): a ClusterIP for ports that
// its own lease and the routers reach, a NodePort for ports that are reached through the nodes.
func (s *service) services() []render.Object {
	var objects []render.Object
	onNode := func(e lease.Expose) bool { return e.Global && !e.IsIngress() }
	if ports := s.servicePorts(func(e lease.Expose) bool { return !onNode(e) }); len(ports) > 0 {
		objects = append(objects, s.kubeService(s.Name, corev1.ServiceTypeClusterIP, ports))
	}
	if ports := s.servicePorts(onNode); len(ports) > 0 {
		objects = append(objects, s.kubeService(s.Name+workload.NodePortSuffix, corev1.ServiceTypeNodePort, ports))
	}
	return objects
}

// servicePorts returns the external ports of the selected exposes; the first expose of a number and protocol is used. A
// port's name contains the index of its expose.
func (s *service) servicePorts(which func(lease.Expose) bool) []*coreac.ServicePortApplyConfiguration {
	type key struct {
		port     uint16
		protocol lease.Protocol
	}
	seen := map[key]bool{}
	var ports []*coreac.ServicePortApplyConfiguration
	for i, e := range s.ports {
		k := key{e.ExternalPort(), e.Protocol}
		if !which(e) || seen[k] {
			continue
		}
		seen[k] = true
		ports = append(ports, coreac.ServicePort().WithName(strconv.Itoa(i)+"-"+strconv.Itoa(int(k.port))).
			WithPort(int32(k.port)).WithTargetPort(intstr.FromInt32(int32(e.Port))).WithProtocol(corev1.Protocol(e.Protocol)))
	}
	return ports
}

func (s *service) kubeService(name string, kind corev1.ServiceType, ports []*coreac.ServicePortApplyConfiguration) render.Object {
	return render.Object{Kind: kinds.Service, Namespace: s.ns, Name: name, Config: coreac.Service(name, s.ns).
		WithLabels(s.labels()).WithAnnotations(s.annotations()).
		WithSpec(coreac.ServiceSpec().WithType(kind).WithSelector(s.labels()).WithPorts(ports...))}
}
