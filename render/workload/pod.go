package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
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
	if s.scheduler == nil || s.scheduler.GPU == nil {
		return nil
	}
	g := s.scheduler.GPU
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
