package workload

import (
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// namespace renders the lease's namespace (provider: cluster/kube/builder/namespace.go).
func (b *builder) namespace() render.Object {
	return render.Object{Kind: kinds.Namespace, Name: b.ns, Config: corev1.Namespace(b.ns).
		WithLabels(b.leaseLabels(b.baseLabels())).WithSpec(corev1.NamespaceSpec())}
}
