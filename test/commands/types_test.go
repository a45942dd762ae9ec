package commands

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

type (
	contextT  = context.Context
	metaEntry = metav1.ManagedFieldsEntry
)

var (
	listAll         = metav1.ListOptions{}
	claimsOfVolumes = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	secrets         = kinds.Secret.Resource()
)

func plural(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: plural}
}
