// Package install installs and uninstalls what the ledger needs: resource definitions, namespaces, roles, the
// configuration and the guard.
package install

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
)

// managedBy is the label of the objects that install creates; resource definitions without it are Akash's own.
const (
	managedBy   = "app.kubernetes.io/managed-by"
	managedByUs = "kubectl-akash-net"
)

// plurals maps the kinds that install writes to their resources.
var plurals = map[string]string{
	"CustomResourceDefinition": "customresourcedefinitions",
	"Namespace":                "namespaces",
	"ClusterRole":              "clusterroles",
	"Role":                     "roles",
	"ConfigMap":                "configmaps",

	"ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}

// Installer installs and uninstalls what the ledger needs.
type Installer struct {
	Cluster *cluster.Cluster
	Config  *config.ProviderConfig
	// Version is the program's version, for the announcement of an uninstall.
	Version string
	// Workloads also installs the role for those who apply what leases run.
	Workloads bool
	// Report receives the events.
	Report func(report.Event)

	// nonce identifies this uninstall in its announcement and its mark on the ledger's namespace.
	nonce string
}

// Install installs Akash's resource definitions if they are missing, the namespaces, the roles, and a configuration if
// there is none. A document that is not empty replaces the configuration. If that would strand addresses in use, or
// leave too few for what orders have reserved, Install writes nothing and returns a StrandedError or an UnservedError.
func (i *Installer) Install(ctx context.Context, document string, guard Guard) error {
	objects, err := manifests.All(i.Config, document)
	if err != nil {
		return err
	}
	if i.Workloads {
		roles, err := manifests.Workloads()
		if err != nil {
			return err
		}
		objects = append(objects, roles...)
	}
	if guard != GuardNone {
		policies, err := manifests.Guard(i.Config, guard == GuardStrict)
		if err != nil {
			return err
		}
		objects = append(objects, policies...)
	}
	if document != "" {
		if err := i.checkAddresses(ctx); err != nil {
			return err
		}
	}
	if guard == GuardOn {
		if err := i.dropStrict(ctx); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if err := i.installObject(ctx, o, document); err != nil {
			return err
		}
	}
	if guard != GuardNone {
		return i.awaitGuard(ctx)
	}
	return nil
}

func (i *Installer) installObject(ctx context.Context, o *unstructured.Unstructured, document string) error {
	resource := resourceOf(o)
	client := i.Cluster.Dynamic.Resource(resource).Namespace(o.GetNamespace())
	live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return i.Cluster.Explain(err, "get", resource)
	}
	exists := err == nil
	if exists {
		if reason := leaveAlone(o, live, document); reason != "" {
			i.report(report.Left, o, reason)
			return nil
		}
	}
	now, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: lease.FieldManager})
	switch {
	case cluster.IsOwned(err):
		return &report.ConflictError{Object: o.GetKind() + "/" + o.GetName(), Managers: cluster.Owners(err), Err: err}
	case err != nil:
		return i.Cluster.Explain(err, "patch", resource)
	}
	action := report.Created
	if exists && now.GetResourceVersion() == live.GetResourceVersion() {
		action = report.Unchanged
	} else if exists {
		action = report.Configured
	}
	if i.isLedger(o) {
		opened, err := i.open(ctx)
		if err != nil {
			return err
		}
		if opened {
			action = report.Configured
		}
	}
	i.report(action, o, "")
	if o.GetKind() == "CustomResourceDefinition" && i.Cluster.Waits() {
		return i.awaitEstablished(ctx, resource, o.GetName())
	}
	return nil
}

// leaveAlone returns why an existing object must not be changed, or "".
func leaveAlone(o, live *unstructured.Unstructured, document string) string {
	switch {
	case o.GetKind() == "CustomResourceDefinition" && live.GetLabels()[managedBy] != managedByUs:
		return "it is there already, from Akash's provider"
	case o.GetKind() == "ConfigMap" && document == "":
		return "it is there already; install --config FILE replaces it"
	}
	return ""
}

// awaitEstablished waits until the API server serves a resource definition.
func (i *Installer) awaitEstablished(ctx context.Context, resource schema.GroupVersionResource, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := i.Cluster.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return &report.TimeoutError{After: time.Minute, Waiting: []string{"resource definition " + name + " to be served"}}
	}
	return err
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	return o.GroupVersionKind().GroupVersion().WithResource(plurals[o.GetKind()])
}

func (i *Installer) report(action report.Action, o *unstructured.Unstructured, message string) {
	i.Report(report.Event{
		Time: time.Now(), Action: action,
		Kind: strings.ToLower(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Message: message,
	})
}
