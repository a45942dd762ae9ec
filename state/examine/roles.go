package examine

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// role is a role that install brings, with what it allows.
type role struct {
	name string
	// namespace is empty for a ClusterRole.
	namespace string
	rights    []Right
}

// bind returns the command that binds the role to the caller.
func (r role) bind() string {
	switch {
	case r.namespace != "":
		return fmt.Sprintf("kubectl -n %s create rolebinding NAME --role=%s --user=YOU", r.namespace, r.name)
	case inLeases[r.name]:
		return fmt.Sprintf("kubectl -n NAMESPACE create rolebinding NAME --clusterrole=%s --user=YOU", r.name)
	}
	return fmt.Sprintf("kubectl create clusterrolebinding NAME --clusterrole=%s --user=YOU", r.name)
}

const (
	operator  = "akash-net-operator"
	viewer    = "akash-net-viewer"
	sees      = "akash-net-sees-operators"
	workloads = "akash-net-workloads"
)

// inLeases are the ClusterRoles that are bound in the namespaces of leases, because in all namespaces they show too much.
var inLeases = map[string]bool{"akash-net-logs": true, workloads: true}

// purposes say which commands need the ClusterRoles beside those of operators and viewers (docs/roles.md).
var purposes = map[string]string{
	"akash-net-capacity": "state resources, fit of documents, reserve --order",
	"akash-net-grants":   "repair of GrantDiffers",
	"akash-net-logs":     "logs",
	"akash-net-status":   "status, events, state leases --workloads",
	workloads:            "apply --workloads",
}

// roles returns the roles that install brings.
func roles(cfg *config.ProviderConfig) ([]role, error) {
	objects, err := manifests.RBAC(cfg)
	if err != nil {
		return nil, err
	}
	running, err := manifests.Workloads()
	if err != nil {
		return nil, err
	}
	var out []role
	for _, o := range append(objects, running...) {
		r := role{name: o.GetName(), namespace: o.GetNamespace()}
		rules, _, err := unstructured.NestedSlice(o.Object, "rules")
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			r.rights = append(r.rights, rightsOf(&unstructured.Unstructured{Object: rule.(map[string]any)}, r.namespace)...)
		}
		out = append(out, r)
	}
	return out, nil
}

// rightsOf returns what a rule of a role allows.
func rightsOf(rule Object, namespace string) (rights []Right) {
	texts := func(key string) []string {
		list, _, _ := unstructured.NestedStringSlice(rule.Object, key)
		return list
	}
	objects := texts("resourceNames")
	if len(objects) == 0 {
		objects = []string{""}
	}
	for _, group := range texts("apiGroups") {
		for _, resource := range texts("resources") {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, name := range objects {
				for _, verb := range texts("verbs") {
					rights = append(rights, Right{verb, group, resource, sub, name, namespace})
				}
			}
		}
	}
	return rights
}

// installs returns the rights that install needs.
func installs(cfg *config.ProviderConfig) ([]Right, error) {
	objects, err := manifests.All(cfg, "")
	if err != nil {
		return nil, err
	}
	var rights []Right
	for _, o := range objects {
		if o.GetNamespace() == manifests.OperatorsNamespace && o.GetNamespace() != cfg.LedgerNamespace {
			continue // install leaves it where there is no such namespace
		}
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		for _, verb := range []string{"get", "create", "patch"} {
			if r := (Right{Verb: verb, Group: resource.Group, Resource: resource.Resource, Namespace: o.GetNamespace()}); !slices.Contains(rights, r) {
				rights = append(rights, r)
			}
		}
	}
	return rights, nil
}
