package workload

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

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
	case s.scheduler == nil || s.scheduler.GPU == nil:
		s.problems.Add(s.At, "service %q needs %d GPUs, but no cards are assigned to its resource unit %d: "+
			"reserve them, or pass --scheduler-params FILE", s.Name, s.Resources.GPU.Units, s.Resources.ID)
		return ""
	}
	switch v := s.scheduler.GPU.Vendor; v {
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
