package workload

import (
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// account renders the ServiceAccount of a service with permissions (provider: cluster/kube/builder/rbac.go).
func (s *service) account() render.Object {
	return render.Object{Kind: kinds.ServiceAccount, Namespace: s.ns, Name: s.Name, Config: corev1.ServiceAccount(s.Name, s.ns).
		WithLabels(s.leaseLabels(s.labels())).WithAnnotations(s.annotations())}
}
