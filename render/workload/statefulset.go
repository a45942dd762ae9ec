package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render"
)

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
