package workload

import (
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render"
)

// The labels with which Akash's inventory operator describes a node.
const (
	labelGPU     = "akash.network/capabilities.gpu.vendor."
	labelStorage = "akash.network/capabilities.storage.class."
)

// template returns the service's pod template (provider: cluster/kube/builder/workload.go).
func (s *service) template() *coreac.PodTemplateSpecApplyConfiguration {
	spec := coreac.PodSpec().
		WithSecurityContext(coreac.PodSecurityContext().WithRunAsNonRoot(false)).
		WithAutomountServiceAccountToken(s.reads()).
		WithAffinity(coreac.Affinity().WithNodeAffinity(coreac.NodeAffinity().
			WithRequiredDuringSchedulingIgnoredDuringExecution(coreac.NodeSelector().WithNodeSelectorTerms(s.nodeTerm())))).
		WithContainers(s.container()).
		WithVolumes(s.volumes()...)
	if s.reads() {
		spec.WithServiceAccountName(s.Name)
	}
	if class := s.runtimeClass(); class != "" {
		spec.WithRuntimeClassName(class)
	}
	switch {
	case s.Credentials != nil:
		spec.WithImagePullSecrets(coreac.LocalObjectReference().WithName(s.secretName()))
	case s.cfg.Workloads.ImagePullSecret != "":
		spec.WithImagePullSecrets(coreac.LocalObjectReference().WithName(s.cfg.Workloads.ImagePullSecret))
	}
	return coreac.PodTemplateSpec().WithLabels(s.labels()).WithSpec(spec)
}

// runtimeClass returns the runtime class that the reservation has chosen. "none" means none.
func (s *service) runtimeClass() string {
	if s.scheduler == nil || s.scheduler.RuntimeClass == "none" {
		return ""
	}
	class := s.scheduler.RuntimeClass
	if class != "" && len(validation.IsDNS1123Subdomain(class)) > 0 {
		s.problems.Add(s.At, "service %q: %q is not the name of a runtime class", s.Name, class)
	}
	return class
}

// nodeTerm returns the requirements for a node: the GPU model, and the class of each persistent volume in the order of
// the volumes.
func (s *service) nodeTerm() *coreac.NodeSelectorTermApplyConfiguration {
	term := coreac.NodeSelectorTerm().WithMatchExpressions(coreac.NodeSelectorRequirement().
		WithKey("akash.network").WithOperator(corev1.NodeSelectorOpIn).WithValues("true"))
	for _, label := range s.gpuLabels() {
		term.WithMatchExpressions(hasLabel(label))
	}
	for _, v := range s.Resources.Volumes {
		if v.Persistent() {
			term.WithMatchExpressions(hasLabel(labelStorage + v.Class()))
		}
	}
	return term
}

// hasLabel requires a label with a value above 0.
func hasLabel(label string) *coreac.NodeSelectorRequirementApplyConfiguration {
	return coreac.NodeSelectorRequirement().WithKey(label).WithOperator(corev1.NodeSelectorOpGt).WithValues("0")
}

// gpuLabels returns the labels of nodes with the GPU that was chosen. If the reservation names the GPU's memory and
// interface, the node must have them too. Each has a label of its own, because a label has room for only one of them.
func (s *service) gpuLabels() []string {
	g := s.scheduler.GPU()
	if g == nil {
		return nil
	}
	model := labelGPU + g.Vendor + ".model." + g.Model
	labels := []string{model}
	if g.MemorySize != "" {
		labels = append(labels, model+".ram."+g.MemorySize)
	}
	if g.Interface != "" {
		labels = append(labels, model+".interface."+g.Interface)
	}
	for _, label := range labels {
		if problems := validation.IsQualifiedName(label); len(problems) > 0 {
			s.problems.Add(s.At, "service %q: no node can have the label %q of the card that was chosen: %s", s.Name, label, problems[0])
		}
	}
	return labels
}

// volumeName returns the name of a volume in the pod.
func (s *service) volumeName(volume string) string { return s.Name + "-" + volume }

// volumes returns the volumes without a claim: those in memory, and those on the node's disk that are mounted. Akash's
// provider omits the latter, so that the API server rejects the mount.
func (s *service) volumes() []*coreac.VolumeApplyConfiguration {
	var volumes []*coreac.VolumeApplyConfiguration
	for _, v := range s.Resources.Volumes {
		empty := coreac.EmptyDirVolumeSource().WithSizeLimit(bytes(v.Size))
		switch {
		case v.InMemory():
			empty.WithMedium(corev1.StorageMediumMemory)
		case v.Ephemeral() && s.mounts(v.Name):
		default:
			continue
		}
		volumes = append(volumes, coreac.Volume().WithName(s.volumeName(v.Name)).WithEmptyDir(empty))
	}
	return volumes
}

// container returns the pod's only container.
func (s *service) container() *coreac.ContainerApplyConfiguration {
	c := coreac.Container().WithName(s.Name).WithImage(s.Image).WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand(s.Command...).WithArgs(s.Args...).
		WithEnv(s.env()...).
		WithPorts(s.containerPorts()...).
		WithResources(s.resourceRequirements()).
		WithSecurityContext(coreac.SecurityContext().WithRunAsNonRoot(false).WithPrivileged(false).WithAllowPrivilegeEscalation(false))
	if s.Params == nil {
		return c
	}
	for _, m := range s.Params.Storage {
		mount := coreac.VolumeMount().WithName(s.volumeName(m.Volume)).WithMountPath(m.Path)
		if m.ReadOnly {
			mount.WithReadOnly(true)
		}
		c.WithVolumeMounts(mount)
	}
	return c
}

// containerPorts returns one port per expose, in their order. Container ports are informational.
func (s *service) containerPorts() []*coreac.ContainerPortApplyConfiguration {
	var ports []*coreac.ContainerPortApplyConfiguration
	seen := map[uint16]bool{}
	for _, e := range s.ports {
		if s.opt.Unique && seen[e.Port] {
			continue
		}
		seen[e.Port] = true
		ports = append(ports, coreac.ContainerPort().WithContainerPort(int32(e.Port)))
	}
	return ports
}

type variable struct{ name, value string }

// env returns the definition's variables in their order, then Akash's variables that the definition does not set. If a
// variable is set more than once, the last value is effective.
func (s *service) env() []*coreac.EnvVarApplyConfiguration {
	var all []variable
	for _, entry := range s.Env {
		name, value, _ := strings.Cut(entry, "=")
		all = append(all, variable{name, value})
	}
	id := s.def.Lease
	for _, v := range []variable{
		{"AKASH_GROUP_SEQUENCE", strconv.FormatUint(uint64(id.GSeq), 10)},
		{"AKASH_DEPLOYMENT_SEQUENCE", strconv.FormatUint(id.DSeq, 10)},
		{"AKASH_ORDER_SEQUENCE", strconv.FormatUint(uint64(id.OSeq), 10)},
		{"AKASH_OWNER", id.Owner},
		{"AKASH_PROVIDER", id.Provider},
		{"AKASH_CLUSTER_PUBLIC_HOSTNAME", s.cfg.Workloads.PublicHostname},
	} {
		if !slices.ContainsFunc(all, func(o variable) bool { return o.name == v.name }) {
			all = append(all, v)
		}
	}
	var out []*coreac.EnvVarApplyConfiguration
	for i, v := range all {
		if s.opt.Unique && slices.ContainsFunc(all[i+1:], func(o variable) bool { return o.name == v.name }) {
			continue
		}
		variable := coreac.EnvVar().WithName(v.name)
		if v.value != "" {
			variable.WithValue(v.value)
		}
		out = append(out, variable)
	}
	return out
}

// resourceRequirements returns the container's limits, and its requests, which are lower if the provider overcommits.
// As in Akash, volumes in memory count only in the limit. All volumes on the node's disk are added up, where Akash's
// provider uses only the last one.
func (s *service) resourceRequirements() *coreac.ResourceRequirementsApplyConfiguration {
	r, level := s.Resources, s.cfg.CommitLevels
	memory := r.Memory
	var disk, asked uint64
	for _, v := range r.Volumes {
		switch {
		case v.InMemory():
			memory += v.Size
		case v.Ephemeral():
			disk += v.Size
			asked += resources.Commit(level.Storage, v.Size)
		}
	}
	limits := corev1.ResourceList{corev1.ResourceCPU: milli(r.CPU), corev1.ResourceMemory: bytes(memory)}
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    milli(resources.Commit(level.CPU, r.CPU)),
		corev1.ResourceMemory: bytes(resources.Commit(level.Memory, r.Memory)),
	}
	if disk > 0 {
		limits[corev1.ResourceEphemeralStorage] = bytes(disk)
		requests[corev1.ResourceEphemeralStorage] = bytes(asked)
	}
	if name := s.gpuResource(); name != "" {
		limits[name] = bytes(r.GPU.Units)
		requests[name] = bytes(resources.Commit(level.GPU, r.GPU.Units))
	}
	return coreac.ResourceRequirements().WithLimits(limits).WithRequests(requests)
}

// gpuResource returns the extended resource of the GPUs that were chosen; "" for a service without GPUs.
func (s *service) gpuResource() corev1.ResourceName {
	switch {
	case s.Resources.GPU.Units == 0:
		return ""
	case s.scheduler.GPU() == nil:
		s.problems.Add(s.At, "service %q needs %d GPUs, but no cards are assigned to its resource unit %d: "+
			"reserve them, or pass --scheduler-params FILE", s.Name, s.Resources.GPU.Units, s.Resources.ID)
		return ""
	}
	switch v := s.scheduler.GPU().Vendor; v {
	case resources.VendorNVIDIA, resources.VendorAMD:
		return corev1.ResourceName(v + ".com/gpu")
	default:
		s.problems.Add(s.At, "service %q: there are no GPUs of the vendor %q that was chosen; nvidia and amd are known", s.Name, v)
		return ""
	}
}

func milli(n uint64) resource.Quantity {
	return *resource.NewMilliQuantity(int64(n), resource.DecimalSI)
}

func bytes(n uint64) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// workload returns the StatefulSet of a service with a persistent volume, or else its Deployment.
func (s *service) workload() render.Object {
	if slices.ContainsFunc(s.Resources.Volumes, resources.Volume.Persistent) {
		return s.statefulSet()
	}
	return s.deployment()
}

// deployment replaces pods one by one, each after its predecessor is gone, so that it never uses more than the lease
// reserves (provider: cluster/kube/builder/deployment.go).
func (s *service) deployment() render.Object {
	return render.Object{Kind: kinds.Deployment, Namespace: s.ns, Name: s.Name, Config: appsac.Deployment(s.Name, s.ns).
		WithLabels(s.labels()).WithAnnotations(s.annotations()).
		WithSpec(appsac.DeploymentSpec().
			WithSelector(metaac.LabelSelector().WithMatchLabels(s.labels())).
			WithReplicas(int32(s.Count)).
			WithRevisionHistoryLimit(10).
			WithStrategy(appsac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsac.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromInt32(0)).WithMaxUnavailable(intstr.FromInt32(1)))).
			WithTemplate(s.template()))}
}

// statefulSet renders a service with persistent volumes (provider: cluster/kube/builder/statefulset.go). It refers to
// no governing Service.
func (s *service) statefulSet() render.Object {
	spec := appsac.StatefulSetSpec().
		WithSelector(metaac.LabelSelector().WithMatchLabels(s.labels())).
		WithReplicas(int32(s.Count)).
		WithRevisionHistoryLimit(1).
		WithServiceName("").
		WithUpdateStrategy(appsac.StatefulSetUpdateStrategy().WithType(appsv1.RollingUpdateStatefulSetStrategyType).
			WithRollingUpdate(appsac.RollingUpdateStatefulSetStrategy().WithPartition(0).WithMaxUnavailable(intstr.FromInt32(1)))).
		WithTemplate(s.template())
	for _, v := range s.Resources.Volumes {
		if v.Persistent() {
			spec.WithVolumeClaimTemplates(s.claimTemplate(v))
		}
	}
	return render.Object{Kind: kinds.StatefulSet, Namespace: s.ns, Name: s.Name, Config: appsac.StatefulSet(s.Name, s.ns).
		WithLabels(s.labels()).WithAnnotations(s.annotations()).WithSpec(spec)}
}

// claimTemplate requests the full size, because persistent storage is not overcommitted. A claim without a class gets
// the cluster's default class.
func (s *service) claimTemplate(v resources.Volume) *coreac.PersistentVolumeClaimApplyConfiguration {
	spec := coreac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithVolumeMode(corev1.PersistentVolumeFilesystem).
		WithResources(coreac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: bytes(v.Size)}))
	if class := v.Class(); class != resources.ClassDefault {
		spec.WithStorageClassName(class)
	}
	return &coreac.PersistentVolumeClaimApplyConfiguration{
		ObjectMetaApplyConfiguration: metaac.ObjectMeta().WithName(s.volumeName(v.Name)), Spec: spec,
	}
}
