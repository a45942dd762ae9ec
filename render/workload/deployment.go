package workload

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/render"
)

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
