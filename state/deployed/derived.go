package deployed

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// derived are the resources that controllers make of Deployments and StatefulSets, with the labels of their pods.
var derived = []string{"pods", "replicasets.apps", "controllerrevisions.apps", "persistentvolumeclaims"}

// Derived is true for what controllers have made of what a lease ran in the namespace: its pods, and the volumes that were
// claimed for them. Where the Deployment or the StatefulSet is gone nobody else needs them.
func Derived(resource schema.GroupResource, labels map[string]string, namespace string) bool {
	return slices.Contains(derived, resource.String()) && labels[lease.LabelManaged] == "true" && labels[lease.LabelNamespace] == namespace && labels[lease.LabelService] != ""
}
